// SPDX-License-Identifier: ISC
/*
 * command/queue/restored.h - the word for each message of a queue that was restored from a
 * backup: who got it since then gets it again.
 */
#ifndef COMMAND_QUEUE_RESTORED_H
#define COMMAND_QUEUE_RESTORED_H

#include "queue/store.h"

struct queue_restored {
	struct queue_store *store;
	bool is_to_hold; /* each, until an operator releases it */
	uint64_t count;  /* of the messages so far */
};

/* The message NUMBER, which was OLD: logs message_restored, and holds it. 0 or -errno. */
MUST_CHECK int queue_restored_keep(struct queue_restored *restored, uint64_t old, uint64_t number);

#endif
