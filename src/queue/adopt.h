// SPDX-License-Identifier: ISC
/*
 * queue/adopt.h - another queue directory's messages become this queue's: what to
 * do with the disk of a node that is dead.
 *
 * Each message is copied as a new one at the stage at which it came in, with the
 * recipients that are not done: where these had been mapped already, with what
 * they were mapped to. Its birth stays. Successes that are still to be reported are
 * reported by a message of its own, since nobody delivers to them again; a delay that was
 * reported is not reported again: its recipient does not ask for that any more. All is
 * durable here before the message is removed there. So nothing is lost whenever this is
 * interrupted and run again; a message, or a report, may come twice when the removal there
 * was not durable by then.
 */
#ifndef QUEUE_ADOPT_H
#define QUEUE_ADOPT_H

#include "queue/message.h"

struct queue_adopt {
	/* A message that was held there is to be held here, before it is queued. */
	int (*hold)(void *context, struct mail_id id);
	/* What is to be told of successes in CONTROL, which nobody was told of there: 1, then
	 * *ENVELOPE_OUT (freed by the caller) is the report's, but for its number and size, and
	 * CONTENT is appended its text; 0: nothing is; or -errno. DATA: the descriptor of the
	 * message's data. */
	int (*report)(void *context, const struct queue_control *control, int data,
		      struct mail_envelope **envelope_out, struct buffer *content);
	/* A message is durable here and removed there. HERE: of the report, where only that is
	 * left of it. */
	void (*adopted)(void *context, struct mail_id there, struct mail_id here);
	/* PATH stays there, because of WHY. */
	void (*left)(void *context, const char *path, const char *why);
	void *context;
};

/* The caller holds both locks of THERE; HERE may be in use. The first error that is
 * not one message's own: -ENOSPC, -EIO ... */
MUST_CHECK int queue_adopt(struct queue_store *there, struct queue_intake *here,
			   const struct queue_adopt *options);

#endif
