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

/* Who is heard; connections of others are closed. */
struct queue_server_peers {
	uid_t manager;                   /* adds bounces, too */
	uid_t intake;                    /* only adds messages */
	uid_t list;                      /* the same */
	const struct ipc_tokens *tokens; /* that of "send", as it is now; borrowed */
};

/* LISTENING: a SOCK_SEQPACKET socket that others connect to. RESERVE: bytes that
 * must be free for data files to be handed out. STORE and INTAKE are borrowed. */
struct queue_server *queue_server_new(struct os_loop *loop, struct queue_store *store,
				      struct queue_intake *intake, int listening, uint64_t reserve,
				      const struct queue_server_peers *peers);
void queue_server_set_reserve(struct queue_server *server, uint64_t reserve);
/* Takes nothing new; calls DONE when all groups are at rest. */
void queue_server_stop(struct queue_server *server, void (*done)(void *context), void *context);
/* Only when at rest. */
void queue_server_free(struct queue_server *server);

#endif
