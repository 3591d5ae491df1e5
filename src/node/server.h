// SPDX-License-Identifier: ISC
/*
 * node/server.h - one connection of a node that takes packages: the engine, without I/O.
 *
 *   state      event            action                    new state
 *   BEGUN      hello            asks who has it           GREETING
 *   GREETING   (the answer)     says kept, ready          READY
 *                               or says old, or bye       ENDED
 *   READY      take, data       tells                     READY
 *              settled, drop    tells                     READY
 *              status           tells; one at a time      READY
 *   any        ping             answers                   -
 *              bye              -                         ENDED
 *              anything else    says bye                  ENDED
 */
#ifndef NODE_SERVER_H
#define NODE_SERVER_H

#include "node/stream.h"
#include "queue/client/handed.h"

struct node_server_handler {
	/* The other node begins; answered by node_server_kept(), then node_server_ready() or
	 * node_server_old(), now or later. */
	void (*hello)(void *context, const struct queue_handed_serial *serial);
	/* A package begins. False, here and below: the connection ends, because of
	 * node_server_end(). */
	bool (*take)(void *context, struct str package, struct str text, uint64_t size);
	bool (*data)(void *context, struct str part);
	/* All of its data have come; answered by node_server_took() or node_server_later(). */
	bool (*end)(void *context);
	void (*settled)(void *context, struct str package, bool is_twice);
	/* The other node wants to know the status of this one, or what it knows of the message with the
	 * id MESSAGE, if that is not empty; answered by node_server_status(), now or later. */
	void (*status)(void *context, struct str message);
};

enum node_server_state {
	NODE_SERVER_BEGUN,
	NODE_SERVER_GREETING,
	NODE_SERVER_READY,
	NODE_SERVER_ENDED,
};

struct node_server {
	const struct node_server_handler *handler;
	void *context;
	const char *peer; /* the name in its certificate, which it must say */
	enum node_server_state state;
	size_t in_flight; /* packages that have begun and are not answered */
	bool is_asked;    /* for the status, which is not answered */
	char package[64]; /* that is coming; "": none */
	struct node_stream stream;
	struct buffer out;    /* to be sent */
	struct buffer reason; /* ENDED: why, for people; with a NUL */
};

/* NAME: this node's. PEER is borrowed. */
void node_server_begin(struct node_server *server, const struct node_server_handler *handler,
		       void *context, const char *name, const char *peer);
void node_server_clear(struct node_server *server);
/* BYTES have come. False: it has ENDED. */
bool node_server_read(struct node_server *server, struct str bytes);

/* GREETING: PACKAGE is here and not settled. NUMBERS: as in queue/client/handed.h. */
void node_server_kept(struct node_server *server, struct str package, struct str numbers);
void node_server_ready(struct node_server *server);
void node_server_old(struct node_server *server, const struct queue_handed_serial *highest);
/* READY: the answer for a package. */
void node_server_took(struct node_server *server, const char *package);
void node_server_later(struct node_server *server, const char *package, const char *status,
		       const char *text);
/* READY and IS_ASKED: the answer, an object of JSON of at most NODE_STATUS_MAX bytes. */
void node_server_status(struct node_server *server, struct str text);
/* Ends, and tells the other node why. */
void node_server_end(struct node_server *server, const char *reason);

#endif
