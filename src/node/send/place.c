// SPDX-License-Identifier: ISC
/* A job is given to a node, or waits for one. */
#include "node/send/internal.h"
#include <string.h>
#include <utlist.h>

void node_defer_job(struct deliver_helper_job *job, const char *status, const char *text,
		    const char *trigger)
{
	struct mail_verdict verdict;

	mail_verdict_set(&verdict, status, "%s", text);
	deliver_helper_report_rest(job, &verdict, trigger);
	deliver_helper_finish(job);
}

bool node_report_what_is_there(struct node_sender *sender, struct deliver_helper_job *job)
{
	const struct node_peer *peer;
	const struct node_sent *sent;
	size_t left = job->recipient_count;

	DL_FOREACH2 (sender->peers, peer, next)
		DL_FOREACH2 (peer->sent, sent, next) {
			struct mail_verdict verdict;

			if (sent->state != NODE_PACKAGE_THERE ||
			    sent->id.number != job->id.number ||
			    sent->id.born_us != job->id.born_us)
				continue;
			mail_verdict_set(&verdict, "2.0.0", "node %s has it", peer->name);
			for (size_t i = 0; i < job->recipient_count; i++) {
				if (job->recipients[i].is_reported ||
				    !node_numbers_have(&sent->numbers, job->recipients[i].number))
					continue;
				deliver_helper_report(job, i, &verdict, NULL);
				left--;
			}
		}
	return left == 0;
}

void node_sender_place(struct node_sender *sender, struct deliver_helper_job *job)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct buffer trigger CLEANUP(buffer_clear) = {0};
	struct node_peer *peer;
	struct node_sent *sent;

	if (sender->is_draining) {
		deliver_helper_finish(job);
		return;
	}
	if (job->context != NULL && node_report_what_is_there(sender, job)) {
		deliver_helper_finish(job); /* meanwhile one has said that it has it */
		return;
	}
	peer = node_choose(sender, job, &reason);
	if (peer == NULL && job->context != NULL) { /* they can be reached */
		const struct node_refusals *refusals = job->context;

		deliver_helper_report_rest(job, &refusals->last, NULL);
		deliver_helper_finish(job);
		return;
	}
	if (peer == NULL) {
		buffer_append_byte(&reason, '\0');
		buffer_append_format(&trigger, "nodes." STR_FORMAT, STR_ARGUMENTS(job->group));
		buffer_append_byte(&trigger, '\0');
		node_defer_job(job, "4.4.1", buffer_data(&reason), buffer_data(&trigger));
		return;
	}
	sent = node_sent_new(peer, job->package.data, node_numbers_of_job(job));
	if (strchr(sent->name, '.') == NULL) /* the whole message */
		node_numbers_clear(&sent->numbers);
	sent->job = job;
	sent->size = job->content.size + job->text.length;
	sent->state = NODE_PACKAGE_QUEUED;
	peer->outstanding += sent->size;
	node_peer_send(peer);
}
