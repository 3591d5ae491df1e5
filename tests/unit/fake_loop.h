/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/fake_loop.h - watches, timers, a clock and connections of our own in the place of
 * os/loop.h, os/clock.h and a part of os/socket/socket.h, for models that play thousands of
 * sessions a second. Nothing happens but what a model chooses next; a connection's buffers are as
 * small as it likes; time passes only when a timer is played.
 */
#ifndef TESTS_UNIT_FAKE_LOOP_H
#define TESTS_UNIT_FAKE_LOOP_H

#include "os/loop.h"
#include <stddef.h>
#include <stdint.h>

/* A new world: no connection is left from the one before. */
void fake_begin(uint64_t seed);
/* RUN with each seed from 1 to COUNT, or with SEED=... of the environment alone; and, for cmocka, a
 * teardown that tells which one failed. */
void fake_seeds(uint64_t count, void (*run)(uint64_t seed));
int fake_tell_seed(void **state);
/* From 0 to below BOUND. */
uint32_t fake_random(uint32_t bound);

/* A connection whose directions hold so many bytes: our end's descriptor. */
int fake_connect(size_t room_to_us, size_t room_to_peer);

/* The peer's end: how many bytes were taken. */
size_t fake_peer_write(int socket, const char *data, size_t length);
size_t fake_peer_read(int socket, char *data, size_t size);
/* How much the peer might write, or read, now. */
size_t fake_peer_room(int socket);
size_t fake_peer_unread(int socket);
void fake_peer_shut(int socket);  /* no more from it */
void fake_peer_close(int socket); /* nor does it read */
/* Our end was closed. */
bool fake_is_closed(int socket);
/* By os_socket_close_politely(). */
bool fake_is_polite(int socket);

/* Whether the descriptor's watch would be called now, and its call. */
bool fake_watch_is_ready(int socket);
void fake_play_watch(int socket);
unsigned fake_watched(int socket);
/* Calls the watch of a file (no connection of ours) for which it waits no more: whether there was
 * one. */
bool fake_play_file(void);
/* How many timers run; the next one is played, and time passes. */
unsigned fake_timers(void);
void fake_play_timer(void);
/* Time passes: so long, and the timers that are due are played; or meanwhile, and none is. */
void fake_advance(int64_t us);
void fake_pass(int64_t us);
/* The wall clock is set, forward or back. */
void fake_set_wall(int64_t by_us);

#endif
