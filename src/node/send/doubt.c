// SPDX-License-Identifier: ISC
/* What another node may have, since the connection was lost before it answered. */
#include "log/event.h"
#include "node/send/internal.h"
#include "os/clock.h"
#include <stdio.h>
#include <utlist.h>

/* It has nothing, and after a restart need not be asked. */
static void forget_idle_peer(struct node_peer *peer)
{
	if (peer->sent != NULL || !node_peer_is_ready(peer) || peer->is_recording ||
	    !(peer->is_recorded || peer->is_named))
		return;
	peer->is_recorded = false;
	node_sender_record_peer(peer->sender, peer->name, false);
}

void node_peer_count_doubts(void *context)
{
	struct node_peer *peer = context;
	int64_t now_us = os_clock_monotonic_us();
	int64_t doubt_us = peer->sender->parts.config->node.doubt_us;
	bool has_doubts = false;
	bool has_lost = false;
	char trigger[MAIL_NODE_MAX + 8];
	struct node_sent *sent;

	snprintf(trigger, sizeof trigger, "node.%s", peer->name);
	DL_FOREACH2 (peer->sent, sent, next) {
		if (sent->state != NODE_PACKAGE_DOUBT)
			continue;
		if (now_us - sent->since_us >= doubt_us) {
			sent->state = NODE_PACKAGE_LOST;
			sent->was_lost = has_lost = true;
			log_event(EVENT_NODE_DOUBT, log_string(node, peer->name),
				  log_number(seconds, doubt_us / SECOND_US), log_id(sent->id),
				  log_string(package, sent->name));
			node_sent_defer(sent, "4.4.2", "it may have it, and is away", NULL);
			continue;
		}
		if (now_us - sent->since_us >= NODE_DOUBT_GRACE_US)
			node_sent_defer(sent, "4.4.2", "it may have it, and is asked", trigger);
		has_doubts = true;
	}
	if (peer->must_answer && now_us - peer->asked_us >= doubt_us) {
		peer->must_answer = false;
		has_lost = true;
		log_event(EVENT_NODE_DOUBT, log_string(node, peer->name),
			  log_number(seconds, doubt_us / SECOND_US));
		node_sender_say_asked(peer->sender, peer->name);
	}
	if (has_lost)
		node_sender_release(peer->sender, "node.", peer->name);
	if (has_doubts || peer->must_answer)
		os_timer_start(peer->doubt_timer, SECOND_US);
	else
		forget_idle_peer(peer);
}

void node_peer_doubt(struct node_peer *peer)
{
	struct node_sent *sent;
	struct node_sent *next;

	peer->sending = NULL;
	DL_FOREACH_SAFE2 (peer->sent, sent, next, next) {
		struct deliver_helper_job *job = sent->job;

		if (sent->state == NODE_PACKAGE_SENT) {
			peer->in_flight--;
			peer->outstanding -= sent->size;
			sent->state = NODE_PACKAGE_DOUBT;
			sent->since_us = os_clock_monotonic_us();
		} else if (sent->state == NODE_PACKAGE_QUEUED) {
			node_sent_free(sent);
			node_sender_place(peer->sender, job);
		}
	}
	if (peer->sent != NULL || peer->must_answer)
		os_timer_start(peer->doubt_timer, SECOND_US);
}

void node_peer_end_doubts(struct node_peer *peer)
{
	struct node_sent *sent;
	struct node_sent *next;

	DL_FOREACH_SAFE2 (peer->sent, sent, next, next) {
		struct deliver_helper_job *job = sent->job;

		if (sent->is_kept) {
			sent->is_kept = false;
			if (sent->state == NODE_PACKAGE_SETTLED)
				continue;
			sent->state = NODE_PACKAGE_THERE;
			node_sent_take(sent);
			node_sender_say_kept(peer->sender, sent);
			continue;
		}
		if (sent->state == NODE_PACKAGE_QUEUED)
			continue;
		node_sent_free(sent);
		if (job != NULL)
			node_sender_place(peer->sender, job);
	}
}
