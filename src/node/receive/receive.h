// SPDX-License-Identifier: ISC
/*
 * node/receive/receive.h - takes packages from other nodes, and queues them (the process "noded").
 *
 * Another node is one that has a record in the directory's table "node" by a name in its
 * certificate. What it hands over is taken if it is for a stage or a service that the configuration
 * gives to a group of nodes which this node is in, and a message of this configuration could be so.
 */
#ifndef NODE_RECEIVE_RECEIVE_H
#define NODE_RECEIVE_RECEIVE_H

#include "config/config.h"
#include "deliver/helper.h"
#include "directory/client/nodes.h"
#include "directory/wire/transport_acceptor.h"
#include "os/loop.h"
#include "queue/client/client.h"

struct node_receiver;

/* What it works with; all borrowed. */
struct node_receiver_parts {
	struct queue_client *queue;
	struct str token; /* of this process, for QUEUE (ipc/token.h) */
	const struct directory_nodes *nodes;
	const struct config *config;
};

struct node_receiver *node_receiver_new(struct os_loop *loop,
					const struct node_receiver_parts *parts);
/* Its connection to "send", for NODE_RECEIVER_HANDLER, which is borrowed: other nodes may ask for
 * the status of this one. */
void node_receiver_use_helper(struct node_receiver *receiver, struct deliver_helper *helper);
/* For what is handed over from now on. */
void node_receiver_configure(struct node_receiver *receiver, const struct config *config);
/* The table of nodes has changed: connections of those that are not in it any more end. */
void node_receiver_nodes_changed(struct node_receiver *receiver);
/* Takes nothing new; DONE is called once nothing is being committed. */
void node_receiver_stop(struct node_receiver *receiver, void (*done)(void *context), void *context);
void node_receiver_free(struct node_receiver *receiver);

/* For the connection to "send"; its context is the receiver. */
extern const struct deliver_helper_handler node_receiver_handler;
/* For the acceptor of connections; its context is the receiver. */
extern const struct transport_acceptor_handler node_receiver_acceptor;

#endif
