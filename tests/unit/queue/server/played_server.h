// SPDX-License-Identifier: ISC
/*
 * tests/unit/queue/server/played_server.h - a server of the queue's process, and in the place of
 * all that it calls (--wrap: played_server_wraps in meson.build) what the test says: each call is a
 * line, each line of the log as well.
 */
#ifndef TESTS_UNIT_PLAYED_SERVER_H
#define TESTS_UNIT_PLAYED_SERVER_H

#include "queue/internal.h"
#include "queue/server/internal.h"

struct played_server {
	struct queue_server server;
	struct server_client manager, other;
	/* what the calls return */
	int64_t now_us;
	size_t backlog;  /* of the manager's connection */
	int room, bytes; /* while there are spares; without them: */
	int room_without, bytes_without;
	int removal; /* of names */
	int look, is_committing, sample;
	uint64_t refused; /* a number */
	uint64_t moved, settled;
	uint64_t awaited, durable;
	uint64_t retired, released; /* files */
	bool has_file;              /* that a removal brings into quarantine */
	size_t held;
	bool is_settled, must_prove, is_blind, is_busy, has_no_spares;
	enum queue_sync sync;
};

extern struct played_server played;

/* A server without clients, on a disk that is fine. */
void played_begin(void);
void played_end(void);
/* MANAGER is connected, and the manager. */
void played_manage(void);
/* The lines since the last call. */
void played_expect(const char *lines);

#endif
