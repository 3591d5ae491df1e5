// SPDX-License-Identifier: ISC
/*
 * queue/group.h - threads that carry out a group of work each, while the loop's
 * thread gathers the next.
 */
#ifndef QUEUE_GROUP_H
#define QUEUE_GROUP_H

#include "os/loop.h"
#include <stddef.h>

struct queue_group;

/* WORK runs in a thread, with COUNT items; then DONE runs in the loop's thread
 * with the same items. */
struct queue_group_handler {
	void (*work)(void *context, void **items, size_t count);
	void (*done)(void *context, void **items, size_t count);
};

enum { QUEUE_GROUP_THREADS_MAX = 4 };

/* THREADS groups may be at work at the same time. */
struct queue_group *queue_group_new(struct os_loop *loop, const struct queue_group_handler *handler,
				    size_t threads, void *context);
/* Only when idle. */
void queue_group_free(struct queue_group *group);

/* Adds ITEM to the group that gathers. It goes to work at the end of this turn of
 * the loop if nothing is at work; while something is, as soon as a thread is free
 * and as many have gathered as one of the groups at work has: so groups do not
 * become smaller than the load makes them. */
void queue_group_add(struct queue_group *group, void *item);
bool queue_group_is_idle(const struct queue_group *group);

#endif
