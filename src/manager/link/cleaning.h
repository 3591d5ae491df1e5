// SPDX-License-Identifier: ISC
/*
 * manager/link/cleaning.h - what a crash has left in the queue is removed beside all else, in
 * slices, when all mail was found: until then, and until its end, nothing of it does any harm
 * (queue/cleaner.h).
 */
#ifndef MANAGER_LINK_CLEANING_H
#define MANAGER_LINK_CLEANING_H

#include "manager/wait/wake.h"
#include "queue/store.h"

struct cleaning;

struct cleaning_handler {
	/* Whether the message is awake. */
	bool (*is_awake)(void *context, uint64_t number);
	/* The data of a message that ended before we began are to be removed. */
	void (*remove_data)(void *context, uint64_t number);
	/* It is over. IS_SURE: no name is left whose message is gone. */
	void (*done)(void *context, bool is_sure);
};

/* Begins. SERVICES are copied; who sleeps and turns out to be gone is removed from SLEEPERS. */
struct cleaning *cleaning_new(struct os_loop *loop, struct queue_store *store,
			      struct sleepers *sleepers, struct wake *wake,
			      const char *const *services, size_t service_count,
			      const struct cleaning_handler *handler, void *context);
/* Also in its middle; NULL is allowed. */
void cleaning_free(struct cleaning *cleaning);
/* Tells the log of what was removed. */
void cleaning_log(void *context, const char *path);

#endif
