// SPDX-License-Identifier: ISC
/* noded - takes mail that other nodes hand over, and queues it. */
#include "base/panic.h"
#include "directory/client/nodes.h"
#include "log/event.h"
#include "node/receive/receive.h"
#include "node/stream.h"
#include "program/kind/peer_network.h"
#include "queue/client/client.h"
#include "supervisor/child/child.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STOCK = 16 };

struct noded {
	struct child *child;
	struct peer_network *network;
	struct queue_client *queue;
	char token[IPC_TOKEN_SIZE];
	struct directory_nodes *nodes;
	struct node_receiver *receiver;
	struct deliver_helper *helper; /* to "send" */
	bool has_queue;                /* there was a connection to "queue" */
	bool is_stopping;
};

static struct noded noded; /* open() is called before there is a state */

static const char *authority_of_senders(const struct config *config)
{
	return config->node.authority;
}

static const struct config_endpoint *listens_of_node(const struct config *config, size_t *count_out)
{
	*count_out = config->node.listen_count;
	return config->node.listens;
}

static bool does_noded_dial(const struct config *config)
{
	(void)config;
	return false;
}

static void complain_about_senders(const char *operation, const char *reason)
{
	log_event(EVENT_NODE_ERROR, log_string(operation, operation), log_string(reason, reason));
}

static const struct peer_network_kind network_kind = {
	.socket = "node",
	.certificate = CONFIG_NODE_CERTIFICATE,
	.protocol = NODE_TLS_PROTOCOL,
	.authority = authority_of_senders,
	.listens = listens_of_node,
	.dials = does_noded_dial,
	.handler = &node_receiver_acceptor,
	.complain = complain_about_senders,
};

/* Whether SOCKET is still one of the configuration. */
static bool is_node_socket_wanted(const void *context, const struct child_socket *socket)
{
	const struct config *config = context;
	char wanted[192];

	for (size_t i = 0; i < config->node.listen_count; i++) {
		snprintf(wanted, sizeof wanted, "node %s", config->node.listens[i].text);
		if (strcmp(socket->name, wanted) == 0)
			return true;
	}
	return strncmp(socket->name, "node ", strlen("node ")) != 0;
}

static int open_noded(struct child *child)
{
	noded.child = child;
	return noded.network == NULL ? peer_network_open(child, &network_kind, &noded.network) : 0;
}

/* Other nodes wait until it is known who they are, and what they hand over can be queued. */
static void listen_when_able(void)
{
	if (noded.has_queue && !noded.is_stopping && directory_nodes_is_known(noded.nodes))
		peer_network_listen(noded.network, noded.receiver);
}

static void on_senders_changed(void *context)
{
	(void)context;
	node_receiver_nodes_changed(noded.receiver);
	listen_when_able();
}

static const struct directory_nodes_handler nodes_handler = {on_senders_changed};

static void on_queue_reached(void *context)
{
	(void)context;
	noded.has_queue = true;
	listen_when_able();
}

static int start_noded(struct child *child)
{
	struct node_receiver_parts parts = {.config = child->config};
	struct str token = child_token(child, "noded");
	char server[128] = "unix:";
	char path[108];

	child_path(child, "queue", path);
	noded.queue = queue_client_new(child->loop, path, STOCK);
	queue_client_set_reserve(noded.queue, child->config->queue_reserve);
	child_path(child, "directory", path);
	snprintf(server, sizeof server, "unix:%s", path);
	noded.nodes = directory_nodes_new(child->loop, server, &nodes_handler, NULL);
	memcpy(noded.token, token.data, token.length);
	parts.token = str_from(noded.token);
	parts.queue = noded.queue;
	parts.nodes = noded.nodes;
	noded.receiver = node_receiver_new(child->loop, &parts);
	child_path(child, "send", path);
	noded.helper =
		deliver_helper_new(child->loop,
				   &(struct deliver_helper_call){path, child_token(child, "noded"),
								 IPC_JOB_STATUS_SERVICE, 0},
				   &node_receiver_handler, noded.receiver);
	node_receiver_use_helper(noded.receiver, noded.helper);
	queue_client_when_connected(noded.queue, on_queue_reached, NULL);
	child_close_sockets(child, is_node_socket_wanted, child->config);
	child_ready(child);
	return 0;
}

static void reload_noded(struct child *child, const struct config *old)
{
	queue_client_set_reserve(noded.queue, child->config->queue_reserve);
	node_receiver_configure(noded.receiver, child->config);
	peer_network_configure(noded.network);
	child_close_sockets(child, is_node_socket_wanted, child->config);
	if (strcmp(config_node_name(child->config), config_node_name(old)) != 0)
		child_renew(child);
}

static void end_noded(void *context)
{
	struct child *child = context;

	deliver_helper_free(noded.helper);
	node_receiver_free(noded.receiver);
	peer_network_free(noded.network);
	directory_nodes_free(noded.nodes);
	queue_client_free(noded.queue);
	os_loop_stop(child->loop);
}

static void stop_noded(struct child *child)
{
	noded.is_stopping = true;
	peer_network_stop(noded.network);
	node_receiver_stop(noded.receiver, end_noded, child);
}

int main(int argc, char **argv)
{
	static const struct child_program program = {
		.name = "noded",
		.open = open_noded,
		.start = start_noded,
		.reload = reload_noded,
		.stop = stop_noded,
	};

	return child_main(argc, argv, &program);
}
