// SPDX-License-Identifier: ISC
/*
 * os/worker.h - a thread besides the loop's that does one thing at a time, such as waiting for a
 * disk.
 */
#ifndef OS_WORKER_H
#define OS_WORKER_H

#include "base/attributes.h"
#include "os/loop.h"

/* A tenth of the share of others. */
enum { OS_WORKER_NICE = 10 };

struct os_worker;

/* For each os_worker_start(), runs WORK once in the thread, with CONTEXT, and then sends WAKEUP,
 * which is the caller's. Signals stay with the loop's thread. -EAGAIN, -EPERM: no thread can be
 * created. */
MUST_CHECK int os_worker_new(void (*work)(void *context), void *context, struct os_wakeup *wakeup,
			     struct os_worker **worker_out);
/* What it does from now on gives way where processors are short: to other threads of the process,
 * and to other processes (nice(2), by OS_WORKER_NICE). It cannot be taken back. Not while it is
 * busy. */
void os_worker_give_way(struct os_worker *worker);
/* Must not be called while it is busy. WORK sees all earlier writes of the caller. */
void os_worker_start(struct os_worker *worker);
/* True from the start until WORK has returned; after that its writes are visible. */
bool os_worker_is_busy(struct os_worker *worker);
/* Waits until it is not busy. NULL is allowed. */
void os_worker_free(struct os_worker *worker);

#endif
