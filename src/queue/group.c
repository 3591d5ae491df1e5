// SPDX-License-Identifier: ISC
#include "queue/group.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/worker.h"
#include <stdlib.h>

struct items {
	void **items;
	size_t count;
	size_t capacity;
};

struct queue_group {
	struct os_loop *loop;
	const struct queue_group_handler *handler;
	void *context;
	struct items gathering;
	struct items working; /* the worker's while is_working */
	bool is_working;
	int64_t began_us;  /* when the current work began; monotonic */
	int64_t worked_us; /* in all, without the current work */
	struct os_task start_task;
	struct os_wakeup *wakeup;
	struct os_worker *worker;
};

static void work_on_queue_group(void *context)
{
	struct queue_group *group = context;

	group->handler->work(group->context, group->working.items, group->working.count);
}

static void start_queue_group(void *context)
{
	struct queue_group *group = context;
	struct items empty = group->working;

	if (group->is_working || group->gathering.count == 0)
		return;
	group->working = group->gathering;
	group->gathering = empty;
	group->gathering.count = 0;
	group->is_working = true;
	group->began_us = os_clock_monotonic_us();
	os_worker_start(group->worker);
}

static void on_queue_group_done(void *context)
{
	struct queue_group *group = context;

	if (!group->is_working)
		return;
	group->is_working = false;
	group->worked_us += os_clock_monotonic_us() - group->began_us;
	os_loop_defer(group->loop, &group->start_task);
	/* the last call: DONE may free the group */
	group->handler->done(group->context, group->working.items, group->working.count);
}

struct queue_group *queue_group_new(struct os_loop *loop, const struct queue_group_handler *handler,
				    void *context)
{
	struct queue_group *group = memory_alloc_zero(1, sizeof *group);
	int error;

	group->loop = loop;
	group->handler = handler;
	group->context = context;
	group->start_task = (struct os_task){.call = start_queue_group, .context = group};
	group->wakeup = os_wakeup_new(loop, on_queue_group_done, group);
	error = os_worker_new(work_on_queue_group, group, group->wakeup, &group->worker);
	if (error < 0)
		cannot_begin("no thread for the disk", error);
	return group;
}

void queue_group_free(struct queue_group *group)
{
	if (group == NULL)
		return;
	os_worker_free(group->worker);
	os_task_cancel(group->loop, &group->start_task);
	os_wakeup_free(group->wakeup);
	free(group->gathering.items);
	free(group->working.items);
	free(group);
}

void queue_group_add(struct queue_group *group, void *item)
{
	struct items *gathering = &group->gathering;

	gathering->items = memory_grow(gathering->items, gathering->count, &gathering->capacity,
				       sizeof *gathering->items);
	gathering->items[gathering->count++] = item;
	os_loop_defer(group->loop, &group->start_task);
}

bool queue_group_is_idle(const struct queue_group *group)
{
	return !group->is_working && group->gathering.count == 0;
}

int64_t queue_group_worked_us(const struct queue_group *group)
{
	return group->worked_us;
}
