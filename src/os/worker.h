// SPDX-License-Identifier: ISC
/*
 * os/worker.h - a thread beside the loop's, which does one thing at a time: what may wait for
 * a disk.
 */
#ifndef OS_WORKER_H
#define OS_WORKER_H

#include "base/attributes.h"
#include "os/loop.h"

struct os_worker;

/* For each os_worker_start() WORK runs once in the thread, with CONTEXT, and then WAKEUP, which is
 * the caller's, is sent. Signals are the loop's. -EAGAIN, -EPERM: there is no thread to be had. */
MUST_CHECK int os_worker_new(void (*work)(void *context), void *context, struct os_wakeup *wakeup,
			     struct os_worker **worker_out);
/* Not while it is busy. What was written before is seen by WORK. */
void os_worker_start(struct os_worker *worker);
/* From the start until WORK has returned; then what it wrote is seen. */
bool os_worker_is_busy(struct os_worker *worker);
/* Waits until it is not busy. NULL is allowed. */
void os_worker_free(struct os_worker *worker);

#endif
