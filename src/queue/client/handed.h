// SPDX-License-Identifier: ISC
/*
 * queue/client/handed.h - what "noded" asks of "queue": packages that another node hands over, and
 * the names by which "queue" remembers them until that node has none of them any more.
 *
 * A connection between two nodes is greeted first. Whatever then comes over an older connection of
 * that node is refused, however late its bytes are read: "queue" compares the serials itself. The
 * packets, with their errors, are in queue/client/protocol.h.
 */
#ifndef QUEUE_CLIENT_HANDED_H
#define QUEUE_CLIENT_HANDED_H

#include "queue/client/client.h"

/* Of a connection that a node has opened, compared as a triple; none of them is 0. */
struct queue_handed_serial {
	uint64_t epoch;      /* rises when the node's disk is adopted */
	uint64_t run;        /* rises at each start of the process that hands over */
	uint64_t connection; /* of that process */
};

struct queue_handed_handler {
	/* A package of NODE is here, and not settled. NUMBERS: of its deliveries, "3-5,9"; empty:
	 * it is a whole message. For each, before GREETED. */
	void (*kept)(void *context, struct str node, const struct queue_handed_serial *serial,
		     struct str name, struct str numbers);
	/* The end of queue_client_greet(). ERROR 0: packages that were not KEPT are not here;
	 * -ESTALE: SERIAL is not above HIGHEST; another -errno: nothing is known. */
	void (*greeted)(void *context, struct str node, const struct queue_handed_serial *serial,
			int error, const struct queue_handed_serial *highest);
	/* The connection to "queue" was lost: every node's connection must be greeted anew.
	 * Messages that were being committed have failed before. */
	void (*lost)(void *context);
};

/* HANDLER and TOKEN, which is presented to "queue" (ipc/token.h), are borrowed. Before the first call
 * below. */
void queue_client_use_nodes(struct queue_client *client, struct str token,
			    const struct queue_handed_handler *handler, void *context);
/* False, here and below: there is no connection to "queue". */
MUST_CHECK bool queue_client_greet(struct queue_client *client, struct str node,
				   const struct queue_handed_serial *serial);
/* NODE has removed the package NAME durably. */
MUST_CHECK bool queue_client_settle(struct queue_client *client, struct str node,
				    const struct queue_handed_serial *serial, struct str name);
/* The same, and another node has it, too. */
MUST_CHECK bool queue_client_drop(struct queue_client *client, struct str node,
				  const struct queue_handed_serial *serial, struct str name);

/* As queue_client_commit(), with TEXT as it was handed over but for the message's number in its id
 * record: the envelope, then perhaps map and mapped records; no checksums. DONE is called with 0;
 * -EEXIST: it is here already; -ENOSPC, -EDQUOT, -E2BIG, -EBADMSG, -EMFILE: it is not here. After
 * any other error nothing is known before the next greeting. */
void queue_client_commit_handed(struct queue_client_message *message, struct str node,
				const struct queue_handed_serial *serial, struct str text,
				struct str data);

#endif
