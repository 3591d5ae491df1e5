// SPDX-License-Identifier: ISC
/*
 * manager/wait/pull.h - lock/trigger: whoever queued a message without "queue" pulls it
 * (queue_store_pull_trigger()).
 */
#ifndef MANAGER_WAIT_PULL_H
#define MANAGER_WAIT_PULL_H

#include "os/loop.h"
#include "queue/store.h"

struct pull;

/* PULLED is called after each pull, or once after several. Where the pipe cannot be opened the
 * log says so, and nobody is heard. */
struct pull *pull_new(struct os_loop *loop, struct queue_store *store,
		      void (*pulled)(void *context), void *context);
void pull_free(struct pull *pull);

#endif
