// SPDX-License-Identifier: ISC
/*
 * queue/trigger.h - the trigger directory: an event that is waited for is a file,
 * trigger/NAME, which says since when and why. (Source: the distributed design.)
 *
 * The files are hints: a lost one costs attempts, a left one delays them. So
 * they are not made durable.
 */
#ifndef QUEUE_TRIGGER_H
#define QUEUE_TRIGGER_H

#include "queue/store.h"

enum { QUEUE_TRIGGER_MAX = 200 }; /* bytes of a name */

/* 1 to QUEUE_TRIGGER_MAX lower-case letters, digits and "-_.:[]", not in front '.'. */
bool queue_trigger_name_is_valid(struct str name);

/* What a trigger is for, which its name says. */
enum queue_trigger_kind {
	QUEUE_TRIGGER_OTHER,     /* operators and other programs release it */
	QUEUE_TRIGGER_HOST,      /* host.NAME: until that host answers */
	QUEUE_TRIGGER_SERVICE,   /* service.NAME, service.NAME.SERVER: until that answers */
	QUEUE_TRIGGER_HOLD,      /* hold.ID: an operator holds this message */
	QUEUE_TRIGGER_PIPE,      /* pipe.SERVICE.NAME: a program of ours has named it */
	QUEUE_TRIGGER_DIRECTORY, /* directory: until it answers */
};

enum queue_trigger_kind queue_trigger_kind(struct str name);
/* Whether the mail system makes triggers of such names by itself: all kinds but OTHER. Nobody may
 * let a message wait for one of them. */
bool queue_trigger_name_is_ours(struct str name);

/* Makes the file; no error when it is there. -EINVAL for a bad name. */
MUST_CHECK int queue_trigger_set(struct queue_store *store, struct str name, int64_t now_us,
				 struct str reason);
/* The same of a hold that ends when the trigger UNTIL does. */
MUST_CHECK int queue_trigger_set_until(struct queue_store *store, struct str name, int64_t now_us,
				       struct str reason, struct str until);
/* Whether its file is there. */
bool queue_trigger_is_set(struct queue_store *store, struct str name);
/* Appends what queue_trigger_set_until() was given, or nothing. -ENOENT, -EIO. */
MUST_CHECK int queue_trigger_read_until(struct queue_store *store, struct str name,
					struct buffer *until);
/* Removes the file; no error when it is gone. */
MUST_CHECK int queue_trigger_release(struct queue_store *store, struct str name);
/* Calls EACH with every name; stops when it returns something else than 0. */
MUST_CHECK int queue_trigger_each(struct queue_store *store,
				  int (*each)(void *context, struct str name), void *context);

#endif
