// SPDX-License-Identifier: ISC
/*
 * node/link.h - the bytes of a connection between two nodes: in and out of a transport, with a
 * limit on how long nothing comes or goes.
 */
#ifndef NODE_LINK_H
#define NODE_LINK_H

#include "base/buffer.h"
#include "base/timestamp.h"
#include "directory/wire/transport.h"
#include "os/loop.h"

struct node_link;

/* A node that says nothing for so long, or does not read, is gone; one with nothing to say pings
 * after NODE_LINK_PING_US. */
#define NODE_LINK_SILENCE_US (60 * SECOND_US)
#define NODE_LINK_PING_US    (20 * SECOND_US)

enum { NODE_LINK_OUT_MAX = 1 << 20 }; /* bytes to be sent above which no more should be added */

struct node_link_handler {
	/* False: the protocol has ended: what is to be sent is sent, as far as it can be at once,
	 * and LOST follows. */
	bool (*read)(void *context, struct str bytes);
	/* There is room for more to be sent. */
	void (*has_room)(void *context);
	/* The connection is over: the handler frees the link. REASON is for people. */
	void (*lost)(void *context, const char *reason);
	/* Nothing was said for NODE_LINK_PING_US; may be NULL. */
	void (*silent)(void *context);
};

/* Owns TRANSPORT; OUT is the engine's, and borrowed. Nothing is called from here. */
struct node_link *node_link_new(struct os_loop *loop, const struct directory_transport *transport,
				struct buffer *out, const struct node_link_handler *handler,
				void *context);
/* Something was added to OUT: it is sent at the end of this turn. */
void node_link_send(struct node_link *link);
/* The protocol has ended: what is to be sent is sent, as far as it can be at once, and at the end
 * of this turn LOST is called. */
void node_link_end(struct node_link *link);
/* While paused nothing is read, and silence does not count. */
void node_link_pause(struct node_link *link, bool is_paused);
/* NULL is allowed. */
void node_link_free(struct node_link *link);

#endif
