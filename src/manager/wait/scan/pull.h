// SPDX-License-Identifier: ISC
/*
 * manager/wait/scan/pull.h - lock/trigger, which a process pulls after queueing a message without
 * the process "queue" (queue_store_pull_trigger()).
 */
#ifndef MANAGER_WAIT_SCAN_PULL_H
#define MANAGER_WAIT_SCAN_PULL_H

#include "os/loop.h"
#include "queue/store.h"

struct pull;

/* PULLED is called after each pull, or once after several. If the pipe cannot be opened that is
 * logged, and tried again each second; then it is called, too, as pulls were not noticed meanwhile.
 */
struct pull *pull_new(struct os_loop *loop, struct queue_store *store,
		      void (*pulled)(void *context), void *context);
void pull_free(struct pull *pull);

#endif
