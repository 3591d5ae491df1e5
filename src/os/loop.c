// SPDX-License-Identifier: ISC
#include "os/loop.h"
#include "base/panic.h"
#include <errno.h>
#include <event2/event.h>
#include <event2/event_struct.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct os_loop {
	struct event_base *base;
	struct os_task *tasks;
	struct os_watch *refused; /* not watched, as the kernel had no room */
	struct event refused_timer;
	bool (*idle)(void);
	struct event idle_timer; /* of the turn that idle() wants */
	void (*trouble)(int error);
	bool stopping;
};

struct os_watch {
	struct event event;
	struct os_loop *loop;
	unsigned events; /* wanted */
	unsigned armed;  /* that the kernel reports; may be more */
	struct os_watch *next_refused;
	void (*call)(void *context, unsigned events);
	void *context;
};

struct os_timer {
	struct event event;
	void (*call)(void *context);
	void *context;
};

struct os_wakeup {
	struct os_watch *watch;
	int descriptor;
	void (*call)(void *context);
	void *context;
};

/* Silences libevent's messages on standard error: callers get errors. Except the one before it
 * calls exit(). */
static void ignore_libevent_message(int severity, const char *text)
{
	if (severity == EVENT_LOG_ERR)
		panic("%s", text);
}

static void arm_refused(evutil_socket_t descriptor, short what, void *context);

static void begin_turn(evutil_socket_t descriptor, short what, void *context)
{
	(void)descriptor;
	(void)what;
	(void)context;
}

struct os_loop *os_loop_new(void)
{
	struct os_loop *loop = memory_alloc_zero(1, sizeof *loop);
	struct event_config *config = event_config_new();

	if (config == NULL)
		cannot_begin("no event configuration", -ENOMEM);
	/* Milliseconds suffice for our timers: precise ones would cost a timerfd_settime(2)
	 * before every epoll_wait(2). */
	event_config_set_flag(config, EVENT_BASE_FLAG_NOLOCK);
	loop->base = event_base_new_with_config(config);
	event_config_free(config);
	if (loop->base == NULL)
		cannot_begin("no event loop", -errno);
	event_set_log_callback(ignore_libevent_message);
	evtimer_assign(&loop->refused_timer, loop->base, arm_refused, loop);
	evtimer_assign(&loop->idle_timer, loop->base, begin_turn, NULL);
	return loop;
}

void os_loop_free(struct os_loop *loop)
{
	if (loop == NULL)
		return;
	event_base_free(loop->base);
	free(loop);
}

static void run_tasks(struct os_loop *loop)
{
	while (loop->tasks != NULL) {
		struct os_task *task = loop->tasks;

		os_task_cancel(loop, task);
		task->call(task->context);
	}
}

static void be_idle(struct os_loop *loop)
{
	static const struct timeval moment = {.tv_usec = 20000};

	if (loop->idle != NULL && loop->idle() && evtimer_add(&loop->idle_timer, &moment) != 0)
		panic("a timer cannot be started");
}

void os_loop_run(struct os_loop *loop)
{
	while (!loop->stopping) {
		run_tasks(loop);
		be_idle(loop);
		if (!loop->stopping && event_base_loop(loop->base, EVLOOP_ONCE) != 0)
			panic("the event loop has nothing to wait for");
	}
	run_tasks(loop);
	be_idle(loop);
	loop->stopping = false;
}

void os_loop_stop(struct os_loop *loop)
{
	loop->stopping = true;
	event_base_loopbreak(loop->base);
}

void os_loop_set_trouble(struct os_loop *loop, void (*trouble)(int error))
{
	loop->trouble = trouble;
}

void os_loop_set_idle(struct os_loop *loop, bool (*idle)(void))
{
	loop->idle = idle;
}

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	if (task->previous != NULL)
		return;
	task->next = loop->tasks;
	task->previous = &loop->tasks;
	if (task->next != NULL)
		task->next->previous = &task->next;
	loop->tasks = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	if (task->previous == NULL)
		return;
	*task->previous = task->next;
	if (task->next != NULL)
		task->next->previous = task->previous;
	task->next = NULL;
	task->previous = NULL;
}

static void watch_ready(evutil_socket_t descriptor, short what, void *context);

static void forget_refused(struct os_watch *watch)
{
	struct os_watch **place = &watch->loop->refused;

	while (*place != NULL && *place != watch)
		place = &(*place)->next_refused;
	if (*place == watch)
		*place = watch->next_refused;
}

/* The process does not end because of this, as it would take its work down. */
static void defer_refused_watch(struct os_watch *watch, int error)
{
	static const struct timeval soon = {.tv_usec = 100000};
	struct os_loop *loop = watch->loop;

	if (error != ENOMEM && error != ENOSPC)
		panic("descriptor %d cannot be watched: errno %d", event_get_fd(&watch->event),
		      error);
	watch->armed = OS_WATCH_NONE;
	watch->next_refused = loop->refused;
	loop->refused = watch;
	if (evtimer_add(&loop->refused_timer, &soon) != 0)
		panic("a timer cannot be started");
	if (loop->trouble != NULL)
		loop->trouble(-error);
}

/* Tells the kernel which events are wanted. */
static void watch_arm(struct os_watch *watch, int descriptor)
{
	short what = EV_PERSIST;

	if (watch->armed != OS_WATCH_NONE)
		event_del(&watch->event);
	else
		forget_refused(watch);
	watch->armed = watch->events;
	if (watch->armed == OS_WATCH_NONE)
		return;
	if (watch->armed & OS_WATCH_READ)
		what |= EV_READ;
	if (watch->armed & OS_WATCH_WRITE)
		what |= EV_WRITE;
	if (event_assign(&watch->event, watch->loop->base, descriptor, what, watch_ready, watch) !=
	    0)
		panic("invalid descriptor %d", descriptor);
	if (event_add(&watch->event, NULL) != 0)
		defer_refused_watch(watch, errno);
}

static void arm_refused(evutil_socket_t descriptor, short what, void *context)
{
	struct os_loop *loop = context;
	struct os_watch *refused = loop->refused;

	(void)descriptor;
	(void)what;
	loop->refused = NULL;
	while (refused != NULL) {
		struct os_watch *watch = refused;

		refused = watch->next_refused;
		watch_arm(watch, (int)event_get_fd(&watch->event));
	}
}

static void watch_ready(evutil_socket_t descriptor, short what, void *context)
{
	struct os_watch *watch = context;
	unsigned events = OS_WATCH_NONE;

	if (what & EV_READ)
		events |= OS_WATCH_READ;
	if (what & EV_WRITE)
		events |= OS_WATCH_WRITE;
	if ((events & ~watch->events) != 0)
		watch_arm(watch, descriptor); /* otherwise it would be reported again and again */
	events &= watch->events;
	if (events != OS_WATCH_NONE)
		watch->call(watch->context, events);
}

struct os_watch *os_watch_new(struct os_loop *loop, int descriptor, unsigned events,
			      void (*call)(void *context, unsigned events), void *context)
{
	struct os_watch *watch = memory_alloc_zero(1, sizeof *watch);

	watch->loop = loop;
	watch->events = events;
	watch->call = call;
	watch->context = context;
	event_assign(&watch->event, loop->base, descriptor, EV_READ | EV_PERSIST, watch_ready,
		     watch);
	watch_arm(watch, descriptor);
	return watch;
}

/* A descriptor that must not be read for a moment is seldom readable then, so the kernel is told
 * only if it reports it. This saves two epoll_ctl(2) calls each time. A descriptor is nearly always
 * writable, so for writing the kernel is told at once. */
void os_watch_set(struct os_watch *watch, unsigned events)
{
	watch->events = events;
	if ((events & ~watch->armed) != 0 || (watch->armed & ~events & OS_WATCH_WRITE) != 0)
		watch_arm(watch, (int)event_get_fd(&watch->event));
}

void os_watch_free(struct os_watch *watch)
{
	if (watch == NULL)
		return;
	event_del(&watch->event);
	forget_refused(watch);
	free(watch);
}

static void timer_ready(evutil_socket_t descriptor, short what, void *context)
{
	struct os_timer *timer = context;

	(void)descriptor;
	(void)what;
	timer->call(timer->context);
}

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_timer *timer = memory_alloc_zero(1, sizeof *timer);

	timer->call = call;
	timer->context = context;
	evtimer_assign(&timer->event, loop->base, timer_ready, timer);
	return timer;
}

void os_timer_start(struct os_timer *timer, int64_t delay_us)
{
	struct timeval delay;

	if (delay_us < 0)
		delay_us = 0;
	delay.tv_sec = (time_t)(delay_us / 1000000);
	delay.tv_usec = (suseconds_t)(delay_us % 1000000);
	if (evtimer_add(&timer->event, &delay) != 0)
		panic("a timer cannot be started");
}

void os_timer_stop(struct os_timer *timer)
{
	evtimer_del(&timer->event);
}

bool os_timer_is_running(const struct os_timer *timer)
{
	return evtimer_pending(&timer->event, NULL) != 0;
}

void os_timer_free(struct os_timer *timer)
{
	if (timer == NULL)
		return;
	evtimer_del(&timer->event);
	free(timer);
}

static void wakeup_ready(void *context, unsigned events)
{
	struct os_wakeup *wakeup = context;
	uint64_t count;

	(void)events;
	if (read(wakeup->descriptor, &count, sizeof count) == sizeof count)
		wakeup->call(wakeup->context);
}

struct os_wakeup *os_wakeup_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	struct os_wakeup *wakeup = memory_alloc_zero(1, sizeof *wakeup);

	wakeup->descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (wakeup->descriptor < 0)
		cannot_begin("no descriptor for wakeups", -errno);
	wakeup->call = call;
	wakeup->context = context;
	wakeup->watch = os_watch_new(loop, wakeup->descriptor, OS_WATCH_READ, wakeup_ready, wakeup);
	return wakeup;
}

void os_wakeup_send(struct os_wakeup *wakeup)
{
	static const uint64_t one = 1;

	ssize_t written;

	do
		written = write(wakeup->descriptor, &one, sizeof one);
	while (written < 0 && errno == EINTR);
	/* A full counter means that the call is pending anyway. */
	if (written < 0 && errno != EAGAIN)
		panic("a wakeup cannot be sent: errno %d", errno);
}

void os_wakeup_free(struct os_wakeup *wakeup)
{
	if (wakeup == NULL)
		return;
	os_watch_free(wakeup->watch);
	close(wakeup->descriptor);
	free(wakeup);
}
