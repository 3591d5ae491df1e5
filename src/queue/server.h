// SPDX-License-Identifier: ISC
/*
 * queue/server.h - the process "queue": hands out data files, gathers what is
 * ready into groups and commits them in a thread of its own, tells the manager
 * what is queued, removes what the manager is done with, cleans.
 *
 * While one group is at the disk the next one gathers: no timer, and no added
 * latency for a lone message.
 */
#ifndef QUEUE_SERVER_H
#define QUEUE_SERVER_H

#include "ipc/token.h"
#include "os/loop.h"
#include "queue/message.h"

struct queue_server;

/*
 * Who is heard, and how much of what; connections of others are closed. A connection has what a
 * process needs, which uses one, and a user what so many processes of his need. (The kernel knows
 * the user of who asked for a connection, not the process: os/connector.h.) A user who plays
 * several parts has the bounds of all. What passes a bound is refused: a connection is closed, an
 * OPEN answered -EMFILE, a message with too many recipients -E2BIG.
 */
struct queue_server_part {
	uid_t user;
	uint32_t processes; /* of that user */
	uint32_t open;      /* messages that a connection has begun, or that are on their way to the
			     * disk for it */
	uint32_t recipients; /* of a message */
};

struct queue_server_peers {
	struct queue_server_part manager; /* adds bounces, too */
	struct queue_server_part intake;  /* only adds messages */
	struct queue_server_part list;    /* the same */
	uint32_t open;                    /* messages of all */
	const struct ipc_tokens *tokens;  /* that of "send", as it is now; borrowed */
};

/* LISTENING: a SOCK_SEQPACKET socket that others connect to. RESERVE: bytes that
 * must be free for data files to be handed out. STORE and INTAKE are borrowed. */
struct queue_server *queue_server_new(struct os_loop *loop, struct queue_store *store,
				      struct queue_intake *intake, int listening, uint64_t reserve,
				      const struct queue_server_peers *peers);
/* The same for what a new configuration changes. No bound of PEERS becomes smaller by that: who
 * has begun a message may finish it. */
void queue_server_configure(struct queue_server *server, uint64_t reserve,
			    const struct queue_server_peers *peers);
/* Takes nothing new; calls DONE when all groups are at rest. */
void queue_server_stop(struct queue_server *server, void (*done)(void *context), void *context);
/* Only when at rest. */
void queue_server_free(struct queue_server *server);

#endif
