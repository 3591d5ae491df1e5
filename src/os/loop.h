// SPDX-License-Identifier: ISC
/*
 * os/loop.h - the event loop of a process: descriptors, timers, and tasks that run
 * at the end of a turn. (Based on libevent.)
 *
 * A turn: wait, call what is ready, then call what was deferred. A callback may
 * free any watch or timer, including its own. For one thread only, except
 * os_wakeup_send().
 */
#ifndef OS_LOOP_H
#define OS_LOOP_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stdint.h>

struct os_loop;
struct os_watch;
struct os_timer;
struct os_wakeup;

struct os_loop *os_loop_new(void);
void os_loop_free(struct os_loop *loop);
/* Runs until os_loop_stop() is called. May then be called again. */
void os_loop_run(struct os_loop *loop);
void os_loop_stop(struct os_loop *loop);
/* Called at the end of each turn, before the loop waits (log_flush). True: something is left to be
 * done, so another turn comes a moment later, even if nothing happens. */
void os_loop_set_idle(struct os_loop *loop, bool (*idle)(void));

/* Called with -errno when the kernel refuses to watch a descriptor: -ENOMEM, -ENOSPC. It is retried
 * a moment later; until then the descriptor's events are not reported. */
void os_loop_set_trouble(struct os_loop *loop, void (*trouble)(int error));

/* Calls once at the end of this turn. TASK is storage of the caller, zeroed at
 * first; deferring it again before it ran has no effect. */
struct os_task {
	void (*call)(void *context);
	void *context;
	struct os_task *next;
	struct os_task **previous; /* NULL: not deferred */
};
void os_loop_defer(struct os_loop *loop, struct os_task *task);
void os_task_cancel(struct os_loop *loop, struct os_task *task);

enum os_watch_events { OS_WATCH_NONE = 0, OS_WATCH_READ = 1, OS_WATCH_WRITE = 2 };

/* Watches DESCRIPTOR (not owned) for EVENTS, level-triggered. CALL gets
 * those that are ready; an error or hang-up counts as both. */
struct os_watch *os_watch_new(struct os_loop *loop, int descriptor, unsigned events,
			      void (*call)(void *context, unsigned events), void *context);
void os_watch_set(struct os_watch *watch, unsigned events);
/* To call before the descriptor is closed. NULL is allowed. */
void os_watch_free(struct os_watch *watch);

/* A new timer, not running. */
struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context);
/* Starts or restarts it: calls once after DELAY_US. */
void os_timer_start(struct os_timer *timer, int64_t delay_us);
void os_timer_stop(struct os_timer *timer);
bool os_timer_is_running(const struct os_timer *timer);
void os_timer_free(struct os_timer *timer);

/* Lets another thread, or a signal handler, cause a call in the loop's thread. Several sends
 * before the call may become one call. */
struct os_wakeup *os_wakeup_new(struct os_loop *loop, void (*call)(void *context), void *context);
void os_wakeup_send(struct os_wakeup *wakeup);
void os_wakeup_free(struct os_wakeup *wakeup);

#endif
