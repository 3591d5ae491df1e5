// SPDX-License-Identifier: ISC
#include "queue/group.h"
#include "base/panic.h"
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

struct items {
	void **items;
	size_t count;
	size_t capacity;
};

struct worker {
	struct queue_group *group;
	pthread_t thread;
	pthread_cond_t changed;
	struct items items; /* the thread's while it has work */
	bool is_busy;       /* the loop's thread: given work whose end is not seen yet */
	bool has_work;      /* under the mutex: the thread has not done it yet */
};

struct queue_group {
	struct os_loop *loop;
	const struct queue_group_handler *handler;
	void *context;
	struct items gathering;
	struct os_task start_task;
	struct os_wakeup *wakeup;
	struct worker workers[QUEUE_GROUP_THREADS_MAX];
	size_t worker_count;
	pthread_mutex_t mutex;
	bool is_ending; /* under the mutex */
};

static void *thread_main(void *argument)
{
	struct worker *worker = argument;
	struct queue_group *group = worker->group;

	pthread_mutex_lock(&group->mutex);
	for (;;) {
		while (!worker->has_work && !group->is_ending)
			pthread_cond_wait(&worker->changed, &group->mutex);
		if (!worker->has_work)
			break;
		pthread_mutex_unlock(&group->mutex);
		group->handler->work(group->context, worker->items.items, worker->items.count);
		pthread_mutex_lock(&group->mutex);
		worker->has_work = false;
		os_wakeup_send(group->wakeup);
	}
	pthread_mutex_unlock(&group->mutex);
	return NULL;
}

/* The worker that the gathered items go to now; NULL: none yet. */
static struct worker *choose_worker(struct queue_group *group)
{
	struct worker *idle = NULL;
	bool is_enough = true;

	for (size_t i = 0; i < group->worker_count; i++) {
		struct worker *worker = &group->workers[i];

		if (!worker->is_busy)
			idle = worker;
		else if (worker->items.count > group->gathering.count)
			is_enough = false;
	}
	return is_enough ? idle : NULL;
}

static void start(void *context)
{
	struct queue_group *group = context;
	struct worker *worker = group->gathering.count > 0 ? choose_worker(group) : NULL;
	struct items empty;

	if (worker == NULL)
		return;
	empty = worker->items;
	worker->items = group->gathering;
	group->gathering = empty;
	group->gathering.count = 0;
	worker->is_busy = true;
	pthread_mutex_lock(&group->mutex);
	worker->has_work = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&group->mutex);
}

static bool is_finished(struct queue_group *group, const struct worker *worker)
{
	bool has_work;

	if (!worker->is_busy)
		return false;
	pthread_mutex_lock(&group->mutex);
	has_work = worker->has_work;
	pthread_mutex_unlock(&group->mutex);
	return !has_work;
}

/* One at a time: DONE may free the group, if nothing else is at work. */
static void on_done(void *context)
{
	struct queue_group *group = context;

	for (size_t i = 0; i < group->worker_count; i++) {
		struct worker *worker = &group->workers[i];
		bool is_last;

		if (!is_finished(group, worker))
			continue;
		worker->is_busy = false;
		os_loop_defer(group->loop, &group->start_task);
		is_last = queue_group_is_idle(group);
		group->handler->done(group->context, worker->items.items, worker->items.count);
		if (is_last)
			return;
	}
}

static void start_threads(struct queue_group *group)
{
	sigset_t all;
	sigset_t before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (size_t i = 0; i < group->worker_count; i++) {
		struct worker *worker = &group->workers[i];

		worker->group = group;
		pthread_cond_init(&worker->changed, NULL);
		if (pthread_create(&worker->thread, NULL, thread_main, worker) != 0)
			panic("a thread cannot be started");
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

struct queue_group *queue_group_new(struct os_loop *loop, const struct queue_group_handler *handler,
				    size_t threads, void *context)
{
	struct queue_group *group = memory_alloc_zero(1, sizeof *group);

	group->loop = loop;
	group->handler = handler;
	group->context = context;
	group->worker_count = threads < QUEUE_GROUP_THREADS_MAX ? threads : QUEUE_GROUP_THREADS_MAX;
	group->start_task = (struct os_task){.call = start, .context = group};
	group->wakeup = os_wakeup_new(loop, on_done, group);
	pthread_mutex_init(&group->mutex, NULL);
	start_threads(group);
	return group;
}

void queue_group_free(struct queue_group *group)
{
	if (group == NULL)
		return;
	pthread_mutex_lock(&group->mutex);
	group->is_ending = true;
	for (size_t i = 0; i < group->worker_count; i++)
		pthread_cond_signal(&group->workers[i].changed);
	pthread_mutex_unlock(&group->mutex);
	for (size_t i = 0; i < group->worker_count; i++) {
		pthread_join(group->workers[i].thread, NULL);
		pthread_cond_destroy(&group->workers[i].changed);
		free(group->workers[i].items.items);
	}
	pthread_mutex_destroy(&group->mutex);
	os_task_cancel(group->loop, &group->start_task);
	os_wakeup_free(group->wakeup);
	free(group->gathering.items);
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
	for (size_t i = 0; i < group->worker_count; i++)
		if (group->workers[i].is_busy)
			return false;
	return group->gathering.count == 0;
}
