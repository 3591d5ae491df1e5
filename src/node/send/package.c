// SPDX-License-Identifier: ISC
/* What a node has of a message, or may have. */
#include "base/panic.h"
#include "node/send/internal.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

struct node_sent *node_sent_new(struct node_peer *peer, const char *name,
				struct node_numbers numbers)
{
	struct node_sent *sent = memory_alloc_zero(1, sizeof *sent);
	struct mail_package package = {0};

	(void)mail_package_parse(str_from(name), &package);
	sent->peer = peer;
	sent->id = package.id;
	sent->numbers = numbers;
	memcpy(sent->name, name, strlen(name) + 1);
	DL_APPEND2(peer->sent, sent, previous, next);
	return sent;
}

struct node_sent *node_sent_find(const struct node_peer *peer, struct str name)
{
	struct node_sent *sent;

	DL_FOREACH2 (peer->sent, sent, next)
		if (str_equal(name, str_from(sent->name)))
			return sent;
	return NULL;
}

/* While its answer is awaited the timer runs. */
void node_peer_expect_nothing(struct node_peer *peer)
{
	if (peer->sent == NULL && !peer->must_answer && (peer->is_recorded || peer->is_named))
		os_timer_start(peer->doubt_timer, NODE_IDLE_US);
}

void node_sent_free(struct node_sent *sent)
{
	struct node_peer *peer = sent->peer;

	if (peer->sending == sent)
		peer->sending = NULL;
	if (sent->state == NODE_PACKAGE_SENT)
		peer->in_flight--;
	if (sent->state == NODE_PACKAGE_SENT || sent->state == NODE_PACKAGE_QUEUED)
		peer->outstanding -= sent->size;
	DL_DELETE2(peer->sent, sent, previous, next);
	node_peer_expect_nothing(peer);
	node_numbers_clear(&sent->numbers);
	free(sent);
}

void node_sent_take(struct node_sent *sent)
{
	struct deliver_helper_job *job = sent->job;
	struct mail_verdict verdict;

	sent->job = NULL;
	if (job == NULL)
		return;
	mail_verdict_set(&verdict, "2.0.0", "node %s has it", sent->peer->name);
	deliver_helper_report_rest(job, &verdict, NULL);
	deliver_helper_finish(job);
}

void node_sent_defer(struct node_sent *sent, const char *status, const char *text,
		     const char *trigger)
{
	struct deliver_helper_job *job = sent->job;
	struct mail_verdict verdict;

	sent->job = NULL;
	if (job == NULL)
		return;
	mail_verdict_set(&verdict, status, "node %s: %s", sent->peer->name, text);
	deliver_helper_report_rest(job, &verdict, trigger);
	deliver_helper_finish(job);
}
