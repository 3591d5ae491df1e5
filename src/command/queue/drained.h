// SPDX-License-Identifier: ISC
/*
 * command/queue/drained.h - waits until nothing is left in the queue of this machine, for commands
 * that have begun to empty it.
 */
#ifndef COMMAND_QUEUE_DRAINED_H
#define COMMAND_QUEUE_DRAINED_H

#include "base/buffer.h"
#include "config/config.h"
#include "queue/listing/listing.h"

struct queue_draining {
	const struct config *config;
	struct queue_store *store;
	int64_t timeout_us;
	int64_t quiet_us; /* for so long nothing must have come any more */
	bool is_silent;   /* says nothing of its progress */
};

/* Says on standard error how much is left when that has changed, now and then. Returns when nothing
 * is left, after the timeout, when no node runs there any more, or with -errno: what is left then
 * cannot be counted. *LEFT_OUT: the last count. */
MUST_CHECK int queue_wait_drained(const struct queue_draining *draining,
				  struct listing_left *left_out);
/* Whether a node runs with CONFIG. */
bool queue_is_served(const struct config *config);
bool queue_is_drained(const struct listing_left *left);
/* "2 messages and 1 package of other nodes are left" */
void queue_append_left(struct buffer *out, const struct listing_left *left);
/* An object of JSON, and a newline. */
void queue_append_left_json(struct buffer *out, const struct listing_left *left);

#endif
