// SPDX-License-Identifier: ISC
/*
 * queue/cleaner.h - what "send" removes after a crash, a little at a time, while mail is
 * served: names that a power failure brought back after their message had ended, or that
 * it cut off on its way to S5.
 *
 * Nobody waits for it, because whatever it has not come to yet is harmless:
 *
 * - a new file does not get a number that any such name has, until
 *   queue_intake_trust_names() (has_stale_names() in message.c);
 * - a message that is found at S4 is rid of what is left of an earlier way to S5 as soon as
 *   it is found: queue_update_settle(). So when it is delivered at once, and its file used
 *   again, no second name leads there;
 * - one that is found at S5 and has no data has ended: queue_update_load() does not know
 *   it.
 *
 * The names of a directory are compared with those of its likes, which needs no look at any
 * file: a million messages are 3 million names. Only what does not match is looked at,
 * again and one by one, and removed when nobody works on the message. That is decided
 * and done in one step; so there is nothing for the caller to see to but that whoever may
 * change names of a message is known to is_busy() from before the first change until
 * after the last.
 */
#ifndef QUEUE_CLEANER_H
#define QUEUE_CLEANER_H

#include "queue/store.h"

struct queue_cleaner;

struct queue_cleaner_handler {
	/* Whether somebody works on the message NUMBER: its names are left alone. */
	bool (*is_busy)(void *context, uint64_t number);
	/* NUMBER is no message any more, whatever is remembered of it. May be NULL. */
	void (*forget)(void *context, uint64_t number);
	/* To have "queue" remove the data of NUMBER, whose message has ended. */
	int (*remove_data)(void *context, uint64_t number);
	/* Was removed. May be NULL. */
	void (*removed)(void *context, const char *path);
};

/* SERVICES, all that the queue knows, and HANDLER are borrowed. */
struct queue_cleaner *queue_cleaner_new(struct queue_store *store, const char *const *services,
					size_t service_count,
					const struct queue_cleaner_handler *handler, void *context);
void queue_cleaner_free(struct queue_cleaner *cleaner);

/* Some names, a fraction of a millisecond where nothing is removed: 1; 0: there are no more.
 * -errno: something was left out; the next step goes on. */
MUST_CHECK int queue_cleaner_step(struct queue_cleaner *cleaner);
/* Whether nothing was left out. At the end: all names are right. */
bool queue_cleaner_is_sure(const struct queue_cleaner *cleaner);

#endif
