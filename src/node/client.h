// SPDX-License-Identifier: ISC
/*
 * node/client.h - one connection of a node that hands packages over: the engine, without I/O.
 *
 *   state      event            action              new state
 *   BEGUN      hello            says hello          GREETED
 *   GREETED    kept             tells what          GREETED
 *              ready            tells               READY
 *              old              tells why           ENDED
 *   READY      took, later      tells               READY
 *              status, if asked tells               READY
 *   any        bye              tells why           ENDED
 *              anything else    says bye            ENDED
 */
#ifndef NODE_CLIENT_H
#define NODE_CLIENT_H

#include "node/stream.h"
#include "queue/client/handed.h"

/* Texts are valid during the call; they come from another machine. */
struct node_client_handler {
	/* PACKAGE is there, and not settled: deliveries with NUMBERS, "3-5,9"; empty: all. */
	void (*kept)(void *context, struct str package, struct str numbers);
	/* What was not KEPT is not there: packages may be taken. */
	void (*ready)(void *context);
	/* The receiver answers for PACKAGE. */
	void (*took)(void *context, struct str package);
	/* It is not there, for the reason TEXT. */
	void (*later)(void *context, struct str package, struct str status, struct str text);
	/* The answer to node_client_ask_status(): at most NODE_STATUS_MAX bytes. */
	void (*status)(void *context, struct str text);
};

enum node_client_state {
	NODE_CLIENT_BEGUN,
	NODE_CLIENT_GREETED,
	NODE_CLIENT_READY,
	NODE_CLIENT_ENDED,
};

struct node_client {
	const struct node_client_handler *handler;
	void *context;
	const char *name; /* of this node */
	const char *peer; /* of the other one, which must say that it is */
	struct queue_handed_serial serial;
	enum node_client_state state;
	bool answers_status; /* the receiver has said so */
	bool is_asked;       /* for its status, and has not answered */
	struct node_stream stream;
	struct buffer out;    /* to be sent */
	struct buffer reason; /* ENDED: why, for people; with a NUL */
};

/* NAME and PEER are borrowed. */
void node_client_begin(struct node_client *client, const struct node_client_handler *handler,
		       void *context, const char *name, const char *peer,
		       const struct queue_handed_serial *serial);
void node_client_clear(struct node_client *client);
/* BYTES have come. False: it has ENDED. */
bool node_client_read(struct node_client *client, struct str bytes);

/* READY: appends to out the beginning of a package with SIZE bytes of data, which the caller
 * appends then, and node_client_end_take() after them. */
void node_client_begin_take(struct node_client *client, const char *package, struct str text,
			    uint64_t size);
void node_client_end_take(struct node_client *client);
/* GREETED or READY: this node has none of PACKAGE any more. IS_TWICE: another node has it, too. */
void node_client_settle(struct node_client *client, const char *package, bool is_twice);
/* READY, not inside of a package, of one that ANSWERS_STATUS and is not ASKED: asks for its status,
 * or, if it is not empty, what it knows of the message with the id MESSAGE. */
void node_client_ask_status(struct node_client *client, struct str message);
/* Not ENDED. */
void node_client_ping(struct node_client *client);

#endif
