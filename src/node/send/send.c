// SPDX-License-Identifier: ISC
#include "node/send/send.h"
#include "base/panic.h"
#include "ipc/pack.h"
#include "node/send/internal.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

/* --- jobs --- */

/* A node that may have some of JOB; NULL: none. */
static const struct node_peer *find_doubt(const struct node_sender *sender,
					  const struct deliver_helper_job *job)
{
	const struct node_peer *peer;
	const struct node_sent *sent;

	DL_FOREACH2 (sender->peers, peer, next) {
		if (peer->must_answer)
			return peer;
		DL_FOREACH2 (peer->sent, sent, next)
			if (sent->state == NODE_PACKAGE_DOUBT &&
			    sent->id.number == job->id.number &&
			    sent->id.born_us == job->id.born_us)
				return peer;
	}
	return NULL;
}

static void take_package_job(void *context, struct deliver_helper_job *job)
{
	struct node_sender *sender = context;
	struct buffer trigger CLEANUP(buffer_clear) = {0};
	const struct node_peer *doubt;

	job->package = str_from(arena_copy(job->arena, job->package));
	if (!job->is_new && node_report_what_is_there(sender, job)) {
		deliver_helper_finish(job);
		return;
	}
	doubt = job->is_new ? NULL : find_doubt(sender, job);
	if (doubt == NULL) {
		node_sender_place(sender, job);
		return;
	}
	buffer_append_format(&trigger, "node.%s", doubt->name);
	buffer_append_byte(&trigger, '\0');
	node_defer_job(job, "4.4.2", "the node may have it, and is asked", buffer_data(&trigger));
}

/* What was not begun ends without a report; for what was, the answer is awaited. */
static void drain_package_jobs(void *context)
{
	struct node_sender *sender = context;
	struct node_peer *peer;
	struct node_sent *sent;
	struct node_sent *next;

	sender->is_draining = true;
	DL_FOREACH2 (sender->peers, peer, next)
		DL_FOREACH_SAFE2 (peer->sent, sent, next, next) {
			struct deliver_helper_job *job = sent->job;

			if (job == NULL || sent->state == NODE_PACKAGE_SENT)
				continue;
			sent->job = NULL;
			if (sent->state == NODE_PACKAGE_QUEUED)
				node_sent_free(sent);
			deliver_helper_finish(job);
		}
}

static void forget_peers(struct node_sender *sender)
{
	node_question_free(sender->question);
	sender->question = NULL;
	while (sender->peers != NULL)
		node_peer_free(sender->peers);
}

/* "send" has no jobs here any more, and asks every node when it is back. */
static void give_up_package_jobs(void *context)
{
	forget_peers(context);
}

/* --- what "send" says --- */

static bool hear_run(struct node_sender *sender, struct unpack body)
{
	forget_peers(sender);
	sender->is_draining = false;
	sender->epoch = unpack_u64(&body);
	sender->run = unpack_u64(&body);
	sender->connections = 0;
	while (body.rest.length > 0 && !body.failed) {
		struct str node = unpack_str(&body);
		struct node_peer *peer;

		if (!mail_node_is_valid(node))
			return false;
		peer = node_peer_get(sender, node);
		peer->is_recorded = true;
		peer->must_answer = true;
		peer->asked_us = os_clock_monotonic_us();
	}
	if (body.failed)
		return false;
	node_sender_nodes_changed(sender);
	return true;
}

static bool hear_peered(struct node_sender *sender, struct unpack body)
{
	struct str node = unpack_str(&body);
	bool is_wanted = unpack_u32(&body) != 0;
	int error = -(int)unpack_u32(&body);
	struct node_peer *peer = node_peer_find(sender, node);

	if (!unpack_is_whole(&body))
		return false;
	if (peer != NULL && is_wanted)
		node_peer_recorded(peer, error);
	else if (peer != NULL)
		node_peer_forgotten(peer, error);
	return true;
}

static bool hear_settled_deliveries(struct node_sender *sender, struct unpack body)
{
	uint32_t numbers[1000];

	while (body.rest.length > 0 && !body.failed) {
		struct node_peer *peer;
		struct mail_id id;
		uint32_t count;

		id.number = unpack_u64(&body);
		id.born_us = (int64_t)unpack_u64(&body);
		count = unpack_u32(&body);
		if (body.failed || count > COUNT_OF(numbers))
			return false;
		for (uint32_t i = 0; i < count; i++)
			numbers[i] = unpack_u32(&body);
		DL_FOREACH2 (sender->peers, peer, next)
			node_peer_settle(peer, id, numbers, count);
	}
	return !body.failed;
}

static bool hear_send(void *context, enum ipc_job type, struct str body)
{
	const struct unpack unpack = {body, false};

	if (type == IPC_JOB_RUN)
		return hear_run(context, unpack);
	if (type == IPC_JOB_ASK_NODES)
		return node_question_hear(context, body);
	if (type == IPC_JOB_STATUS_IS)
		return node_question_hear_own(context, body);
	return type == IPC_JOB_PEERED ? hear_peered(context, unpack)
				      : hear_settled_deliveries(context, unpack);
}

const struct deliver_helper_handler node_sender_handler = {
	.job = take_package_job,
	.drain = drain_package_jobs,
	.lost = give_up_package_jobs,
	.heard = hear_send,
};

/* --- its life --- */

struct node_sender *node_sender_new(struct os_loop *loop, const struct node_sender_parts *parts)
{
	struct node_sender *sender = memory_alloc_zero(1, sizeof *sender);

	sender->loop = loop;
	sender->parts = *parts;
	return sender;
}

void node_sender_use_helper(struct node_sender *sender, struct deliver_helper *helper)
{
	sender->helper = helper;
}

void node_sender_configure(struct node_sender *sender, const struct config *config)
{
	sender->parts.config = config;
	node_sender_nodes_changed(sender);
}

/* Whether some mail of this node is for NODE. */
static bool is_node_needed(const struct node_sender *sender, const struct directory_node *node)
{
	const struct config *config = sender->parts.config;

	if (strcmp(node->name, config_node_name(config)) == 0 || node->state == DIRECTORY_NODE_AWAY)
		return false;
	for (size_t i = 0; i < config->transport_count; i++) {
		const char *group = config_transport_nodes(config, config->transports[i].name);

		if (*group != '\0' && directory_node_is_in(node, str_from(group)))
			return true;
	}
	return false;
}

void node_sender_nodes_changed(struct node_sender *sender)
{
	const struct directory_nodes *nodes = sender->parts.nodes;
	struct node_peer *peer;

	if (sender->run == 0)
		return;
	node_sender_say_groups(sender);
	DL_FOREACH2 (sender->peers, peer, next)
		peer->is_needed = false;
	for (size_t i = 0; i < directory_nodes_count(nodes); i++) {
		const struct directory_node *node = directory_nodes_at(nodes, i);

		if (is_node_needed(sender, node)) {
			peer = node_peer_get(sender, str_from(node->name));
			peer->is_needed = true;
			node_peer_connect(peer);
		}
	}
	DL_FOREACH2 (sender->peers, peer, next) {
		const struct directory_node *node =
			directory_nodes_find(nodes, str_from(peer->name));

		node_peer_connect(peer); /* also one that is only asked what it has */
		for (size_t i = 0; node != NULL && node->state == DIRECTORY_NODE_ACTIVE &&
				   node_peer_is_ready(peer) && i < node->group_count;
		     i++)
			node_sender_release(sender, "nodes.", node->groups[i]);
	}
}

void node_sender_free(struct node_sender *sender)
{
	if (sender == NULL)
		return;
	forget_peers(sender);
	free(sender);
}
