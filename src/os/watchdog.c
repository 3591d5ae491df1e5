// SPDX-License-Identifier: ISC
#include "os/watchdog.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct os_watchdog {
	int64_t limit_us;
	void (*expired)(void *context);
	void *context;
	pthread_t thread;
	pthread_mutex_t mutex; /* for the members below */
	pthread_cond_t changed;
	bool is_busy;
	bool is_resting; /* the thread, until something begins */
	bool has_begun;  /* something, since the thread looked last */
	bool is_ending;
	int64_t begun_us; /* by the clock of the processor time */
	int64_t more_us;  /* than the limit, for this thing */
};

static int64_t clock_us(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return now.tv_sec * SECOND_US + now.tv_nsec / 1000;
}

/* Processor time does not pass faster than real time while one thread works. */
static void wait_for_watchdog_limit(struct os_watchdog *watchdog, int64_t left_us)
{
	int64_t until_us = clock_us(CLOCK_MONOTONIC) + left_us;
	struct timespec until = {until_us / SECOND_US, until_us % SECOND_US * 1000};

	(void)pthread_cond_clockwait(&watchdog->changed, &watchdog->mutex, CLOCK_MONOTONIC, &until);
}

/* While one thing follows the other the thread looks no more often than the limit passes: whatever
 * began since then has not used it up. */
static void look_at_processor_time(struct os_watchdog *watchdog)
{
	int64_t left_us = watchdog->limit_us;

	if (watchdog->is_busy)
		left_us +=
			watchdog->more_us + watchdog->begun_us - clock_us(CLOCK_PROCESS_CPUTIME_ID);
	if (left_us <= 0) {
		if (watchdog->expired != NULL)
			watchdog->expired(watchdog->context);
		_exit(OS_WATCHDOG_STATUS);
	}
	watchdog->is_resting = !watchdog->is_busy && !watchdog->has_begun;
	watchdog->has_begun = false;
	if (watchdog->is_resting)
		(void)pthread_cond_wait(&watchdog->changed, &watchdog->mutex);
	else
		wait_for_watchdog_limit(
			watchdog, left_us < watchdog->limit_us ? left_us : watchdog->limit_us);
}

static void *watchdog_thread_main(void *argument)
{
	struct os_watchdog *watchdog = argument;

	pthread_mutex_lock(&watchdog->mutex);
	while (!watchdog->is_ending)
		look_at_processor_time(watchdog);
	pthread_mutex_unlock(&watchdog->mutex);
	return NULL;
}

int os_watchdog_new(int64_t limit_us, void (*expired)(void *context), void *context,
		    struct os_watchdog **watchdog_out)
{
	struct os_watchdog *watchdog = memory_alloc_zero(1, sizeof *watchdog);
	sigset_t all;
	sigset_t before;
	int error;

	watchdog->limit_us = limit_us;
	watchdog->expired = expired;
	watchdog->context = context;
	pthread_mutex_init(&watchdog->mutex, NULL);
	pthread_cond_init(&watchdog->changed, NULL);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(&watchdog->thread, NULL, watchdog_thread_main, watchdog);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (error != 0) {
		free(watchdog);
		return -error;
	}
	*watchdog_out = watchdog;
	return 0;
}

void os_watchdog_begin(struct os_watchdog *watchdog, int64_t more_us)
{
	pthread_mutex_lock(&watchdog->mutex);
	watchdog->begun_us = clock_us(CLOCK_PROCESS_CPUTIME_ID);
	watchdog->more_us = more_us;
	watchdog->is_busy = true;
	watchdog->has_begun = true;
	if (watchdog->is_resting)
		pthread_cond_signal(&watchdog->changed);
	watchdog->is_resting = false;
	pthread_mutex_unlock(&watchdog->mutex);
}

void os_watchdog_end(struct os_watchdog *watchdog)
{
	pthread_mutex_lock(&watchdog->mutex);
	watchdog->is_busy = false;
	pthread_mutex_unlock(&watchdog->mutex);
}

void os_watchdog_free(struct os_watchdog *watchdog)
{
	if (watchdog == NULL)
		return;
	pthread_mutex_lock(&watchdog->mutex);
	watchdog->is_ending = true;
	pthread_cond_signal(&watchdog->changed);
	pthread_mutex_unlock(&watchdog->mutex);
	pthread_join(watchdog->thread, NULL);
	pthread_cond_destroy(&watchdog->changed);
	pthread_mutex_destroy(&watchdog->mutex);
	free(watchdog);
}
