// SPDX-License-Identifier: ISC
/*
 * manager/link/cleaning.h - runs the queue's cleaner (queue/cleaner.h) in slices, at the same time
 * as everything else, once all mail was found. Until it has finished, what a crash left is
 * harmless.
 */
#ifndef MANAGER_LINK_CLEANING_H
#define MANAGER_LINK_CLEANING_H

#include "manager/wait/wake.h"
#include "queue/store.h"

struct cleaning;
struct queue_cleaner_finding;

/* Implemented by manager/hear/waiting.c. */
struct cleaning_handler {
	/* Whether the message is awake. */
	bool (*is_awake)(void *context, uint64_t number);
	/* Asks to remove the data of a message that ended before this process began. */
	void (*remove_data)(void *context, uint64_t number);
	/* NUMBER is a message at S5 again, and is not known yet. */
	void (*found)(void *context, uint64_t number);
	/* The message that the trigger NAME holds is gone. 0 or -errno. */
	int (*end_hold)(void *context, struct str name);
	/* It has finished. IS_SURE: no names of ended messages are left. */
	void (*done)(void *context, bool is_sure);
};

/* Begins. SERVICES are copied; messages that turn out to be gone are removed from SLEEPERS. */
struct cleaning *cleaning_new(struct os_loop *loop, struct queue_store *store,
			      struct sleepers *sleepers, struct wake *wake,
			      const char *const *services, size_t service_count,
			      const struct cleaning_handler *handler, void *context);
/* Also before it has finished; NULL is allowed. */
void cleaning_free(struct cleaning *cleaning);
/* Logs that PATH was removed. */
void cleaning_log(void *context, const char *path);
/* Logs what was found: an event for each recipient who may not have the message. */
void cleaning_log_finding(const struct queue_cleaner_finding *finding);

#endif
