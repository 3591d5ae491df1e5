// SPDX-License-Identifier: ISC
#include "os/worker.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "os/clock.h"
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

struct os_worker {
	void (*work)(void *context);
	void *context;
	struct os_wakeup *wakeup;
	pthread_t thread;
	pthread_mutex_t mutex; /* for the members below */
	pthread_cond_t changed;
	bool is_busy;
	bool is_ending;
	bool must_lower; /* and has not begun to */
	enum os_worker_priority priority;
};

/* For this thread alone (on Linux). Without it the work is done all the same. */
static void lower_priority(enum os_worker_priority priority)
{
	static const struct sched_param none;
	int result = -1;

	if (priority == OS_WORKER_IDLE)
		result = sched_setscheduler(0, SCHED_IDLE, &none);
	if (result < 0)
		result =
			setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + OS_WORKER_NICE);
	(void)result;
}

/* Without the mutex: nobody else changes it while it is busy. */
static void work_once(struct os_worker *worker)
{
	if (worker->must_lower)
		lower_priority(worker->priority);
	worker->must_lower = false;
	worker->work(worker->context);
}

static void *worker_thread_main(void *argument)
{
	struct os_worker *worker = argument;

	pthread_mutex_lock(&worker->mutex);
	for (;;) {
		while (!worker->is_busy && !worker->is_ending)
			pthread_cond_wait(&worker->changed, &worker->mutex);
		if (!worker->is_busy)
			break;
		pthread_mutex_unlock(&worker->mutex);
		work_once(worker);
		pthread_mutex_lock(&worker->mutex);
		worker->is_busy = false;
		pthread_cond_signal(&worker->changed); /* to who is in os_worker_wait() */
		pthread_mutex_unlock(&worker->mutex);
		if (worker->wakeup != NULL)
			os_wakeup_send(worker->wakeup); /* which looks whether it is busy */
		pthread_mutex_lock(&worker->mutex);
	}
	pthread_mutex_unlock(&worker->mutex);
	return NULL;
}

static int start_thread(struct os_worker *worker)
{
	sigset_t all;
	sigset_t before;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&worker->thread, NULL, worker_thread_main, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

static void destroy_worker(struct os_worker *worker)
{
	pthread_cond_destroy(&worker->changed);
	pthread_mutex_destroy(&worker->mutex);
	free(worker);
}

int os_worker_new(void (*work)(void *context), void *context, struct os_wakeup *wakeup,
		  struct os_worker **worker_out)
{
	struct os_worker *worker = memory_alloc_zero(1, sizeof *worker);
	int error;

	worker->work = work;
	worker->context = context;
	worker->wakeup = wakeup;
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_cond_init(&worker->changed, NULL);
	error = start_thread(worker);
	if (error == 0)
		*worker_out = worker;
	else
		destroy_worker(worker);
	return error;
}

void os_worker_lower(struct os_worker *worker, enum os_worker_priority priority)
{
	worker->priority = priority;
	worker->must_lower = true;
}

void os_worker_start(struct os_worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	worker->is_busy = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
}

bool os_worker_is_busy(struct os_worker *worker)
{
	bool is_busy;

	pthread_mutex_lock(&worker->mutex);
	is_busy = worker->is_busy;
	pthread_mutex_unlock(&worker->mutex);
	return is_busy;
}

bool os_worker_wait(struct os_worker *worker, int64_t timeout_us)
{
	int64_t end_us = os_clock_monotonic_us() + timeout_us;
	struct timespec end = {end_us / SECOND_US, end_us % SECOND_US * 1000};
	int error = 0;
	bool is_done;

	pthread_mutex_lock(&worker->mutex);
	while (worker->is_busy && error == 0)
		error = pthread_cond_clockwait(&worker->changed, &worker->mutex, CLOCK_MONOTONIC,
					       &end);
	is_done = !worker->is_busy;
	pthread_mutex_unlock(&worker->mutex);
	return is_done;
}

void os_worker_free(struct os_worker *worker)
{
	if (worker == NULL)
		return;
	pthread_mutex_lock(&worker->mutex);
	worker->is_ending = true;
	pthread_cond_signal(&worker->changed);
	pthread_mutex_unlock(&worker->mutex);
	pthread_join(worker->thread, NULL);
	destroy_worker(worker);
}
