// SPDX-License-Identifier: ISC
/*
 * queue/trigger.h - the trigger directory: an event that messages wait for is a file, trigger/NAME,
 * which says since when and why. (Source: the distributed design.)
 *
 * The files are hints: a lost one costs attempts, a stale one delays them. So they are not made
 * durable, except the text of a hold that ends: a power failure that took it and left the name
 * would make the hold one without an end.
 */
#ifndef QUEUE_TRIGGER_H
#define QUEUE_TRIGGER_H

#include "queue/control/trigger_name.h"
#include "queue/store.h"

/* Makes the file; no error if it exists. -EINVAL for a bad name. */
MUST_CHECK int queue_trigger_set(struct queue_store *store, struct str name, int64_t now_us,
				 struct str reason);
/* The same for a hold that ends when the trigger UNTIL does. */
MUST_CHECK int queue_trigger_set_until(struct queue_store *store, struct str name, int64_t now_us,
				       struct str reason, struct str until);
/* Whether its file exists: 1, 0 or -errno. */
MUST_CHECK int queue_trigger_is_set(struct queue_store *store, struct str name);
/* Appends the UNTIL of queue_trigger_set_until(), if there is one. -ENOENT, -EIO. */
MUST_CHECK int queue_trigger_read_until(struct queue_store *store, struct str name,
					struct buffer *until);
/* Appends why it was set, for people. -ENOENT, -EIO. */
MUST_CHECK int queue_trigger_read_reason(struct queue_store *store, struct str name,
					 struct buffer *reason);
/* Removes the file; no error when it is gone. */
MUST_CHECK int queue_trigger_release(struct queue_store *store, struct str name);
/* Calls EACH with every name; stops when it returns something else than 0. */
MUST_CHECK int queue_trigger_each(struct queue_store *store,
				  int (*each)(void *context, struct str name), void *context);

#endif
