// SPDX-License-Identifier: ISC
/*
 * queue/adopt.h - another queue directory's messages become this queue's: what to
 * do with the disk of a node that is dead.
 *
 * Each message is copied as a new one at the stage at which it came in, with the
 * recipients that are not done: where these had been mapped already, with what
 * they were mapped to. Its birth stays. It is durable here before it is removed
 * there. So nothing is lost whenever this is interrupted and run again; a
 * message may come twice whose removal there was not durable by then.
 */
#ifndef QUEUE_ADOPT_H
#define QUEUE_ADOPT_H

#include "queue/message.h"

struct queue_adopt {
	/* A message that was held there is to be held here, before it is queued. */
	int (*hold)(void *context, struct mail_id id);
	/* A message is durable here and removed there. */
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
