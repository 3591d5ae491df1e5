// SPDX-License-Identifier: ISC
/*
 * node/send/send.h - hands packages over to other nodes (the process "handover").
 *
 * A job goes to a node of its group: of two that are connected, active, not in doubt for its
 * message, and chosen at random, to the one with fewer bytes outstanding by its weight. It is done
 * when that node answers for it. If the connection is lost before that, the node may have it: it is
 * asked when it can be reached again, and only after setting doubt another one gets the package.
 */
#ifndef NODE_SEND_SEND_H
#define NODE_SEND_SEND_H

#include "config/config.h"
#include "deliver/helper.h"
#include "directory/client/nodes.h"
#include "directory/wire/transport.h"
#include "os/loop.h"

struct node_sender;

/* What it works with; all borrowed. */
struct node_sender_parts {
	const struct directory_nodes *nodes;
	const struct directory_dialer *dialer;
	const struct config *config;
};

struct node_sender *node_sender_new(struct os_loop *loop, const struct node_sender_parts *parts);
/* Before the first job: its connection to "send", which is borrowed. */
void node_sender_use_helper(struct node_sender *sender, struct deliver_helper *helper);
void node_sender_configure(struct node_sender *sender, const struct config *config);
/* The table of nodes has changed. */
void node_sender_nodes_changed(struct node_sender *sender);
/* Only when it has no jobs. */
void node_sender_free(struct node_sender *sender);

/* For struct deliver_helper_handler; the context is the sender. */
extern const struct deliver_helper_handler node_sender_handler;

#endif
