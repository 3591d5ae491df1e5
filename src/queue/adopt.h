// SPDX-License-Identifier: ISC
/*
 * queue/adopt.h - moves the messages of another queue directory into this queue: for the disk of a
 * node that is dead.
 *
 * Each message is copied as a new one at the stage at which it came in, with the recipients that
 * are not done; if these were mapped already, it gets the addresses they were mapped to. Its birth
 * is kept. Successes still to be reported are reported at once by a separate message, because
 * nobody will deliver to those recipients again. A delay that was already reported is not reported
 * again: the copied recipient no longer asks for it. An event (queue/trigger.h) that it waits for
 * there is waited for here. The copy is durable here before the message is
 * removed there, so nothing is lost if this is interrupted and run again. A message or a report may
 * be sent twice if the removal there was not yet durable.
 */
#ifndef QUEUE_ADOPT_H
#define QUEUE_ADOPT_H

#include "queue/message.h"

struct queue_adopt {
	/* Sets the trigger NAME, because it is set there and a message waits for it. 0 or -errno.
	 * Called before that message is queued here. */
	int (*wait)(void *context, struct str name);
	/* Holds the message ID, because it was held there; UNTIL another trigger ends that, if not
	 * empty. 0 or -errno. Called before it is queued here. */
	int (*hold)(void *context, struct mail_id id, struct str until);
	/* Which report of successes CONTROL's message still owes. 1: *ENVELOPE_OUT (freed by the
	 * caller) is the report's envelope, without number and size, and its text is appended to
	 * CONTENT; 0: none; or -errno. DATA: a descriptor of the message's data. */
	int (*report)(void *context, const struct queue_control *control, int data,
		      struct mail_envelope **envelope_out, struct buffer *content);
	/* A message is durable here and removed there. HERE: the report's id if only a report
	 * was left. */
	void (*adopted)(void *context, struct mail_id there, struct mail_id here);
	/* PATH was left in place because of WHY. */
	void (*left)(void *context, const char *path, const char *why);
	void *context;
};

/* The caller holds both locks of THERE; HERE may be in use. Returns the first error that does
 * not concern a single message: -ENOSPC, -EIO ... */
MUST_CHECK int queue_adopt(struct queue_store *there, struct queue_intake *here,
			   const struct queue_adopt *options);

#endif
