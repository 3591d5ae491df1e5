// SPDX-License-Identifier: ISC
/* handover - hands mail over to other nodes. */
#include "directory/client/nodes.h"
#include "log/event.h"
#include "node/send/send.h"
#include "node/stream.h"
#include "program/kind/peer_network.h"
#include "supervisor/child/child.h"
#include <stdio.h>
#include <string.h>

enum { CONCURRENCY = 4096 };

/* How often it is looked whether all jobs have ended, when the process is to stop. */
static const int64_t STOP_CHECK_US = SECOND_US / 50;

struct handover {
	struct child *child;
	struct peer_network *network;
	struct directory_nodes *nodes;
	struct node_sender *sender;
	struct deliver_helper *helper;
	struct os_timer *stop_check;
};

static struct handover handover; /* open() is called before there is a state */

static const char *authority_of_receivers(const struct config *config)
{
	return config->node.authority;
}

static const struct config_endpoint *no_listens(const struct config *config, size_t *count_out)
{
	(void)config;
	*count_out = 0;
	return NULL;
}

static bool does_handover_dial(const struct config *config)
{
	(void)config;
	return true;
}

static void complain_about_receivers(const char *operation, const char *reason)
{
	log_event(EVENT_NODE_ERROR, log_string(operation, operation), log_string(reason, reason));
}

static const struct peer_network_kind network_kind = {
	.socket = "node",
	.certificate = CONFIG_NODE_CERTIFICATE,
	.protocol = NODE_TLS_PROTOCOL,
	.authority = authority_of_receivers,
	.listens = no_listens,
	.dials = does_handover_dial,
	.complain = complain_about_receivers,
};

static int open_handover(struct child *child)
{
	handover.child = child;
	return handover.network == NULL ? peer_network_open(child, &network_kind, &handover.network)
					: 0;
}

static void on_nodes_changed(void *context)
{
	(void)context;
	node_sender_nodes_changed(handover.sender);
}

static const struct directory_nodes_handler nodes_handler = {on_nodes_changed};

/* An order to hurry may come in the turn of the loop in which it has ended. */
static void end_handover(void)
{
	if (handover.helper == NULL)
		return;
	node_sender_free(handover.sender); /* it has jobs of the helper's */
	deliver_helper_free(handover.helper);
	handover.helper = NULL;
	peer_network_free(handover.network);
	directory_nodes_free(handover.nodes);
	os_timer_free(handover.stop_check);
	os_loop_stop(handover.child->loop);
}

static void end_without_jobs(void *context)
{
	(void)context;
	if (deliver_helper_job_count(handover.helper) > 0)
		os_timer_start(handover.stop_check, STOP_CHECK_US);
	else
		end_handover();
}

static int start_handover(struct child *child)
{
	struct node_sender_parts parts = {.config = child->config};
	char server[128];
	char path[108];

	peer_network_dial(handover.network);
	child_path(child, "directory", path);
	snprintf(server, sizeof server, "unix:%s", path);
	handover.nodes = directory_nodes_new(child->loop, server, &nodes_handler, NULL);
	parts.nodes = handover.nodes;
	parts.dialer = peer_network_dialer(handover.network);
	handover.sender = node_sender_new(child->loop, &parts);
	handover.stop_check = os_timer_new(child->loop, end_without_jobs, NULL);
	child_path(child, "send", path);
	handover.helper = deliver_helper_new(
		child->loop,
		&(struct deliver_helper_call){path, child_token(child, "handover"), "handover",
					      CONCURRENCY},
		&node_sender_handler, handover.sender);
	node_sender_use_helper(handover.sender, handover.helper);
	child_ready(child);
	return 0;
}

static void reload_handover(struct child *child, const struct config *old)
{
	peer_network_configure(handover.network);
	node_sender_configure(handover.sender, child->config);
	if (strcmp(config_node_name(child->config), config_node_name(old)) != 0 ||
	    strcmp(child->config->dns_server, old->dns_server) != 0)
		child_renew(child);
}

static void stop_handover(struct child *child)
{
	(void)child;
	deliver_helper_retire(handover.helper);
	end_without_jobs(NULL);
}

static size_t pending_jobs_of_handover(const struct child *child)
{
	(void)child;
	return deliver_helper_job_count(handover.helper);
}

static void hurry_handover(struct child *child)
{
	(void)child;
	end_handover();
}

int main(int argc, char **argv)
{
	static const struct child_program program = {
		.name = "handover",
		.open = open_handover,
		.start = start_handover,
		.reload = reload_handover,
		.stop = stop_handover,
		.pending = pending_jobs_of_handover,
		.hurry = hurry_handover,
	};

	return child_main(argc, argv, &program);
}
