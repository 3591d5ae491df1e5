// SPDX-License-Identifier: ISC
/*
 * queue/group.h - a thread that carries out one group of work at a time, while the loop's thread
 * collects the next group.
 */
#ifndef QUEUE_GROUP_H
#define QUEUE_GROUP_H

#include "os/loop.h"
#include <stddef.h>

struct queue_group;

/* WORK runs in the thread, with COUNT items; then DONE runs in the loop's thread
 * with the same items. Implemented by manager/link/recorder.c and queue/server/commit.c. */
struct queue_group_handler {
	void (*work)(void *context, void **items, size_t count);
	void (*done)(void *context, void **items, size_t count);
};

struct queue_group *queue_group_new(struct os_loop *loop, const struct queue_group_handler *handler,
				    void *context);
/* Only while idle. */
void queue_group_free(struct queue_group *group);

/* Adds ITEM to the group being collected, which starts at the end of this turn of the loop, or
 * when the group before it is done. */
void queue_group_add(struct queue_group *group, void *item);
bool queue_group_is_idle(const struct queue_group *group);
/* The total time it has been working, in microseconds. */
int64_t queue_group_worked_us(const struct queue_group *group);

#endif
