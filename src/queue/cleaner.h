// SPDX-License-Identifier: ISC
/*
 * queue/cleaner.h - removes what a crash left, a little at a time, while "send" serves mail: names
 * that a power failure brought back after their message had ended, and names of messages that were
 * interrupted on their way to S5. Last it ends the holds of messages that are gone
 * (trigger/hold.ID).
 *
 * Nothing waits for the cleaner, because a name that it has not reached yet is harmless:
 *
 * - a new file does not get a number that such a name has, until queue_intake_trust_names()
 *   (has_stale_names() in message.c);
 * - when a message is found at S4, queue_update_settle() removes what an earlier, interrupted
 *   step to S5 left. So even if the message is delivered at once and its file reused, no second
 *   name leads to that file;
 * - a message that is found at S5 without data has ended: queue_update_load() returns -ENOENT.
 *
 * The names in one directory are compared with those in the corresponding directories, without
 * looking at any file: a million messages are 3 million names. Only numbers that do not match are
 * examined again, one by one, and their names are removed unless somebody is working on the
 * message. Check and removal are one step. The caller has only one duty: is_busy() must return true
 * for a message from before its names first change until after the last change.
 */
#ifndef QUEUE_CLEANER_H
#define QUEUE_CLEANER_H

#include "queue/store.h"

struct queue_cleaner;

struct queue_cleaner_handler {
	/* Whether somebody is working on the message NUMBER: its names are left alone. */
	bool (*is_busy)(void *context, uint64_t number);
	/* NUMBER is no longer a message: forget what is known of it. May be NULL. */
	void (*forget)(void *context, uint64_t number);
	/* Asks "queue" to remove the data of NUMBER, whose message has ended. */
	int (*remove_data)(void *context, uint64_t number);
	/* PATH was removed. May be NULL. */
	void (*removed)(void *context, const char *path);
	/* The message that the trigger NAME, hold.ID, holds is gone. 0 or -errno. NULL: holds are
	 * left alone. */
	int (*end_hold)(void *context, struct str name);
};

/* SERVICES is the list of all services that the queue knows. SERVICES and HANDLER are borrowed. */
struct queue_cleaner *queue_cleaner_new(struct queue_store *store, const char *const *services,
					size_t service_count,
					const struct queue_cleaner_handler *handler, void *context);
void queue_cleaner_free(struct queue_cleaner *cleaner);

/* Handles some names; takes a fraction of a millisecond if nothing has to be removed. 1: there
 * are more; 0: finished; -errno: something was skipped, and the next step continues. */
MUST_CHECK int queue_cleaner_step(struct queue_cleaner *cleaner);
/* Whether nothing was skipped. After the last step: all names are right. */
bool queue_cleaner_is_sure(const struct queue_cleaner *cleaner);

#endif
