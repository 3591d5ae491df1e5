// SPDX-License-Identifier: ISC
/*
 * queue/trigger.h - the trigger directory: an event that messages wait for is a file, trigger/NAME,
 * which says since when and why. (Source: the distributed design.)
 *
 * The files are hints: a lost one costs attempts, a stale one delays them. So they are not made
 * durable.
 */
#ifndef QUEUE_TRIGGER_H
#define QUEUE_TRIGGER_H

#include "queue/store.h"

enum { QUEUE_TRIGGER_MAX = 200 }; /* bytes of a name */

/* 1 to QUEUE_TRIGGER_MAX lower-case letters, digits and "-_.:[]"; not beginning with '.'. */
bool queue_trigger_name_is_valid(struct str name);

/* What a trigger is for, by its name. */
enum queue_trigger_kind {
	QUEUE_TRIGGER_OTHER,     /* operators and other programs release it */
	QUEUE_TRIGGER_HOST,      /* host.NAME: until that host answers */
	QUEUE_TRIGGER_SERVICE,   /* service.NAME, service.NAME.SERVER: until it answers */
	QUEUE_TRIGGER_HOLD,      /* hold.ID: an operator holds this message */
	QUEUE_TRIGGER_PIPE,      /* pipe.SERVICE.NAME: named by a local program */
	QUEUE_TRIGGER_DIRECTORY, /* directory: until it answers */
	QUEUE_TRIGGER_CLASS,     /* class.MASK: until that class of hosts has a place */
};

enum queue_trigger_kind queue_trigger_kind(struct str name);
/* Whether names of this kind are made by the mail system itself: all kinds but OTHER. A user may
 * not make a message wait for one of them. */
bool queue_trigger_name_is_ours(struct str name);

/* Makes the file; no error if it exists. -EINVAL for a bad name. */
MUST_CHECK int queue_trigger_set(struct queue_store *store, struct str name, int64_t now_us,
				 struct str reason);
/* The same for a hold that ends when the trigger UNTIL does. */
MUST_CHECK int queue_trigger_set_until(struct queue_store *store, struct str name, int64_t now_us,
				       struct str reason, struct str until);
/* Whether its file exists. */
bool queue_trigger_is_set(struct queue_store *store, struct str name);
/* Appends the UNTIL of queue_trigger_set_until(), if there is one. -ENOENT, -EIO. */
MUST_CHECK int queue_trigger_read_until(struct queue_store *store, struct str name,
					struct buffer *until);
/* Removes the file; no error when it is gone. */
MUST_CHECK int queue_trigger_release(struct queue_store *store, struct str name);
/* Calls EACH with every name; stops when it returns something else than 0. */
MUST_CHECK int queue_trigger_each(struct queue_store *store,
				  int (*each)(void *context, struct str name), void *context);

#endif
