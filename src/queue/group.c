// SPDX-License-Identifier: ISC
#include "queue/group.h"
#include "base/panic.h"
#include "os/clock.h"
#include <pthread.h>
#include <signal.h>
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
	struct items working; /* the thread's while is_working */
	bool is_working;
	int64_t began_us;  /* the work; monotonic */
	int64_t worked_us; /* in all, but for what is being done */
	struct os_task start_task;
	struct os_wakeup *wakeup;
	pthread_t thread;
	pthread_mutex_t mutex; /* guards has_work, is_ending */
	pthread_cond_t changed;
	bool has_work;
	bool is_ending;
};

static void *thread_main(void *argument)
{
	struct queue_group *group = argument;

	for (;;) {
		pthread_mutex_lock(&group->mutex);
		while (!group->has_work && !group->is_ending)
			pthread_cond_wait(&group->changed, &group->mutex);
		group->has_work = false;
		if (group->is_ending) {
			pthread_mutex_unlock(&group->mutex);
			return NULL;
		}
		pthread_mutex_unlock(&group->mutex);
		group->handler->work(group->context, group->working.items, group->working.count);
		os_wakeup_send(group->wakeup);
	}
}

static void start(void *context)
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
	pthread_mutex_lock(&group->mutex);
	group->has_work = true;
	pthread_cond_signal(&group->changed);
	pthread_mutex_unlock(&group->mutex);
}

static void on_done(void *context)
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
	sigset_t all;
	sigset_t before;
	int error;

	group->loop = loop;
	group->handler = handler;
	group->context = context;
	group->start_task = (struct os_task){.call = start, .context = group};
	group->wakeup = os_wakeup_new(loop, on_done, group);
	pthread_mutex_init(&group->mutex, NULL);
	pthread_cond_init(&group->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&group->thread, NULL, thread_main, group);
	if (error != 0)
		cannot_begin("no thread for the disk", -error);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return group;
}

void queue_group_free(struct queue_group *group)
{
	if (group == NULL)
		return;
	pthread_mutex_lock(&group->mutex);
	group->is_ending = true;
	pthread_cond_signal(&group->changed);
	pthread_mutex_unlock(&group->mutex);
	pthread_join(group->thread, NULL);
	pthread_cond_destroy(&group->changed);
	pthread_mutex_destroy(&group->mutex);
	os_task_cancel(group->loop, &group->start_task);
	os_wakeup_free(group->wakeup);
	free(group->gathering.items);
	free(group->working.items);
	free(group);
}

void queue_group_add(struct queue_group *group, void *item)
{
	struct items *gathering = &group->gathering;

	if (gathering->count == gathering->capacity) {
		gathering->capacity = gathering->capacity > 0 ? gathering->capacity * 2 : 64;
		gathering->items = memory_resize(gathering->items,
						 gathering->capacity * sizeof(*gathering->items));
	}
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
