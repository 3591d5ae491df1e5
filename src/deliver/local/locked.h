// SPDX-License-Identifier: ISC
/*
 * deliver/local/locked.h - deliveries to mailboxes that other programs have locked. They wait aside
 * and are tried again, so that no thread and no other mailbox waits for them.
 */
#ifndef DELIVER_LOCAL_LOCKED_H
#define DELIVER_LOCAL_LOCKED_H

#include "config/config.h"
#include "deliver/local/group.h"
#include "os/loop.h"

struct local_locked;

/* AGAIN is called when it is time to try again those that wait. */
struct local_locked *local_locked_new(struct os_loop *loop, void (*again)(void *context),
				      void *context);
/* None may wait. NULL is allowed. */
void local_locked_free(struct local_locked *locked);

/* Takes those of BATCH's deliveries [FIRST, END), which are done, whose mailboxes are locked and
 * that have time left, by SERVICE; they have no entry there any more. At most MAX wait in all: then
 * mail for other mailboxes has places. The others are logged. */
void local_locked_take(struct local_locked *locked, const struct config_service *service,
		       size_t max, struct local_batch *batch, size_t first, size_t end);
/* Whether local_locked_give() has any. */
bool local_locked_is_due(const struct local_locked *locked);
/* False: none waits, or it is not time. Otherwise BATCH has all that wait. */
MUST_CHECK bool local_locked_give(struct local_locked *locked, struct local_batch *batch);
/* Those that wait are given up without a report. */
void local_locked_give_up(struct local_locked *locked);

#endif
