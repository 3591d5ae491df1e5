// SPDX-License-Identifier: ISC
/* Which node gets a job. */
#include "node/send/internal.h"
#include "os/random.h"
#include <stdio.h>
#include <string.h>
#include <utlist.h>

enum { CANDIDATES = 2 };

/* Whether PEER may have something of JOB's message: it would get it twice. */
static bool may_have_some(const struct node_peer *peer, const struct deliver_helper_job *job)
{
	const struct node_sent *sent;

	DL_FOREACH2 (peer->sent, sent, next)
		if (sent->state == NODE_PACKAGE_DOUBT && sent->id.number == job->id.number &&
		    sent->id.born_us == job->id.born_us)
			return true;
	return false;
}

static bool has_refused(const struct deliver_helper_job *job, const char *node)
{
	const struct node_refusals *refusals = job->context;

	if (refusals == NULL)
		return false;
	for (size_t i = 0; i < refusals->count; i++)
		if (strcmp(refusals->nodes[i], node) == 0)
			return true;
	return refusals->count == NODE_REFUSALS_MAX;
}

void node_refuse(struct deliver_helper_job *job, const char *node, const struct mail_verdict *why)
{
	struct node_refusals *refusals = job->context;

	if (refusals == NULL)
		refusals = job->context = arena_alloc(job->arena, sizeof *refusals);
	if (refusals->count < NODE_REFUSALS_MAX)
		snprintf(refusals->nodes[refusals->count++], sizeof refusals->nodes[0], "%s", node);
	refusals->last = *why;
}

/* Why NODE cannot get JOB now; NULL: it can. */
static const char *obstacle_to(const struct node_sender *sender, const struct directory_node *node,
			       const struct deliver_helper_job *job, struct node_peer **peer_out)
{
	struct node_peer *peer = node_peer_find(sender, str_from(node->name));

	*peer_out = peer;
	if (node->state == DIRECTORY_NODE_DRAINING)
		return "it is draining";
	if (node->state != DIRECTORY_NODE_ACTIVE)
		return "it is away";
	if (peer == NULL || !node_peer_is_ready(peer))
		return peer != NULL && peer->trouble.length > 0 ? buffer_data(&peer->trouble)
								: "it is not connected yet";
	if (has_refused(job, node->name))
		return "it has refused it";
	return may_have_some(peer, job) ? "it may have it" : NULL;
}

static bool is_less_busy(const struct node_sender *sender, const struct node_peer *a,
			 const struct node_peer *b)
{
	const struct directory_node *left =
		directory_nodes_find(sender->parts.nodes, str_from(a->name));
	const struct directory_node *right =
		directory_nodes_find(sender->parts.nodes, str_from(b->name));

	return a->outstanding * right->weight < b->outstanding * left->weight;
}

/* Takes PEER, the COUNT-th that can get the job, for one of two, each with the same chance. */
static void draw_candidate(struct node_peer *candidates[CANDIDATES], size_t count,
			   struct node_peer *peer)
{
	uint64_t place = count < CANDIDATES ? count : os_random_below(count + 1);

	if (place < CANDIDATES)
		candidates[place] = peer;
}

/* The second may be NULL. Of two that are as busy each is as likely. */
static struct node_peer *better_candidate(const struct node_sender *sender,
					  struct node_peer *const candidates[CANDIDATES])
{
	if (candidates[1] == NULL || is_less_busy(sender, candidates[0], candidates[1]))
		return candidates[0];
	if (is_less_busy(sender, candidates[1], candidates[0]))
		return candidates[1];
	return candidates[os_random_below(CANDIDATES)];
}

struct node_peer *node_choose(struct node_sender *sender, const struct deliver_helper_job *job,
			      struct buffer *reason)
{
	struct node_peer *candidates[CANDIDATES] = {NULL, NULL};
	const struct directory_nodes *nodes = sender->parts.nodes;
	size_t found = 0;
	size_t in_group = 0;

	for (size_t i = 0; i < directory_nodes_count(nodes); i++) {
		const struct directory_node *node = directory_nodes_at(nodes, i);
		struct node_peer *peer;
		const char *obstacle;

		if (!directory_node_is_in(node, job->group) ||
		    strcmp(node->name, config_node_name(sender->parts.config)) == 0)
			continue;
		in_group++;
		obstacle = obstacle_to(sender, node, job, &peer);
		if (obstacle == NULL)
			draw_candidate(candidates, found++, peer);
		else
			buffer_append_format(reason, "%s%s: %s", reason->length > 0 ? "; " : "",
					     node->name, obstacle);
	}
	if (found > 0) {
		buffer_reset(reason);
		return better_candidate(sender, candidates);
	}
	if (in_group == 0)
		buffer_append_string(reason, directory_nodes_is_known(nodes)
						     ? "no node is in this group"
						     : "the table of nodes is not known yet");
	return NULL;
}
