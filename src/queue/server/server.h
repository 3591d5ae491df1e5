// SPDX-License-Identifier: ISC
/*
 * queue/server/server.h - the process "queue": hands out data files, collects messages that are
 * ready into groups and commits them in a thread of its own, reports to the manager what is queued,
 * removes what the manager is done with, and cleans.
 *
 * While one group is being written the next one is collected: there is no timer, and no added
 * latency for a single message.
 */
#ifndef QUEUE_SERVER_SERVER_H
#define QUEUE_SERVER_SERVER_H

#include "ipc/token.h"
#include "os/loop.h"
#include "queue/message.h"

struct queue_server;

/*
 * Who may connect, and the limits of each; connections of others are closed. A connection may have
 * what one process needs, and a user what all his processes together need. (The kernel tells us the
 * user of the process that requested a connection, not the process: os/socket/connector.h.) A user
 * who has several roles gets the limits of all. What exceeds a limit is refused: a connection is
 * closed, an OPEN is answered with -EMFILE, a message with too many recipients with -E2BIG.
 */
struct queue_server_part {
	uid_t user;
	uint32_t processes;  /* run by that user */
	uint32_t open;       /* messages that a connection has begun, or whose commit for it is in
			      * progress */
	uint32_t recipients; /* of a message */
};

/* Of each message that a user of the machine adds. */
struct queue_server_users {
	uint32_t recipients;
	uint64_t size; /* bytes, without the trace header */
};

struct queue_server_peers {
	struct queue_server_part manager;  /* also adds bounces */
	struct queue_server_part intake;   /* only adds messages */
	struct queue_server_part packages; /* likewise: "qmtpd" */
	struct queue_server_part list;     /* likewise */
	struct queue_server_part reports;  /* likewise: "policy" */
	struct queue_server_part nodes;    /* adds what other nodes hand over: "noded" */
	struct queue_server_users users;
	uint32_t open;                   /* messages of all */
	const struct ipc_tokens *tokens; /* the current ones of "send" and "noded"; borrowed */
};

/* LISTENING: a SOCK_SEQPACKET socket that clients connect to. RESERVE: bytes that
 * new mail leaves free (setting queue_reserve): data files are handed out for it while a message of
 * the largest size (PEERS.users.size) fits besides, and it is committed while it fits itself. STORE
 * and INTAKE are borrowed. */
struct queue_server *queue_server_new(struct os_loop *loop, struct queue_store *store,
				      struct queue_intake *intake, int listening, uint64_t reserve,
				      const struct queue_server_peers *peers);
/* Also serves the users of this machine who may connect to LISTENING, a socket of the same kind.
 * They may add messages of stage submit, of which each says who has connected
 * (queue/client/submit.h), and nothing else: a request for anything else ends the connection.
 * Limited are the connections and messages of each user, and of all of them together to a part of
 * OPEN. */
void queue_server_serve_users(struct queue_server *server, int listening);
/* Applies a new configuration. No limit in PEERS becomes smaller by that: a client that has
 * begun a message may finish it. */
void queue_server_configure(struct queue_server *server, uint64_t reserve,
			    const struct queue_server_peers *peers);
/* Accepts nothing new; calls DONE when no group is in progress. */
void queue_server_stop(struct queue_server *server, void (*done)(void *context), void *context);
/* Only after it has stopped. */
void queue_server_free(struct queue_server *server);

#endif
