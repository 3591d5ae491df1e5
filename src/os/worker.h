// SPDX-License-Identifier: ISC
/*
 * os/worker.h - a thread besides the loop's that does one thing at a time, such as waiting for a
 * disk.
 */
#ifndef OS_WORKER_H
#define OS_WORKER_H

#include "base/attributes.h"
#include "os/loop.h"

/* How a worker gives way to other threads, and to other processes. */
enum os_worker_priority {
	OS_WORKER_POLITE, /* a tenth of the share of others (nice(2), by OS_WORKER_NICE) */
	OS_WORKER_IDLE,   /* only what nobody else uses (SCHED_IDLE): who else becomes ready does
			   * not even wait for the next tick. It may get next to nothing */
};

enum { OS_WORKER_NICE = 10 };

struct os_worker;

/* For each os_worker_start(), runs WORK once in the thread, with CONTEXT, and then sends WAKEUP,
 * which is the caller's; NULL: nobody is woken. Signals stay with the loop's thread. -EAGAIN,
 * -EPERM: no thread can be created. */
MUST_CHECK int os_worker_new(void (*work)(void *context), void *context, struct os_wakeup *wakeup,
			     struct os_worker **worker_out);
/* From now on its work has that lower PRIORITY on the processors. That cannot be undone. Not while
 * it is busy. */
void os_worker_lower(struct os_worker *worker, enum os_worker_priority priority);
/* Must not be called while it is busy. WORK sees all earlier writes of the caller. */
void os_worker_start(struct os_worker *worker);
/* True from the start until WORK has returned; after that its writes are visible. */
bool os_worker_is_busy(struct os_worker *worker);
/* Waits until it is not busy, at most TIMEOUT_US: whether it is not. */
MUST_CHECK bool os_worker_wait(struct os_worker *worker, int64_t timeout_us);
/* Waits until it is not busy. NULL is allowed. */
void os_worker_free(struct os_worker *worker);

#endif
