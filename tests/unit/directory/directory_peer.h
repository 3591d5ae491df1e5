// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/directory_peer.h - the other side of a connection of the directory, word by
 * word. Frames are written as their words with "|" between them.
 */
#ifndef TESTS_UNIT_DIRECTORY_PEER_H
#define TESTS_UNIT_DIRECTORY_PEER_H

#include "base/buffer.h"
#include "os/loop.h"

struct directory_peer;

/* Around SOCKET, which it owns. LOOP is that of what is tested, and turned while something is
 * waited for. */
struct directory_peer *directory_peer_new(struct os_loop *loop, int socket);
void directory_peer_say(struct directory_peer *peer, const char *frame);
void directory_peer_send(struct directory_peer *peer, struct str bytes);
/* The next frame, valid until the next call; "closed" when the connection has ended, "nothing"
 * when none comes within five seconds. */
const char *directory_peer_hear(struct directory_peer *peer);
/* "nothing" at once when all there is to do is done. */
const char *directory_peer_hear_now(struct directory_peer *peer);
/* Whether it reads: not, and what is sent to it waits. */
void directory_peer_read(struct directory_peer *peer, bool reads);
void directory_peer_free(struct directory_peer *peer);

/* Turns LOOP for so long. */
void directory_peer_turn(struct os_loop *loop, int64_t time_us);

#endif
