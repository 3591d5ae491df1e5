// SPDX-License-Identifier: ISC
/*
 * tests/unit/queue/queue_portrait.h - all names of a queue, sorted, a line each, with who a message
 * is by its data ("data3...": 3) in the place of its number: so two queues can be compared whose
 * files have other numbers.
 */
#ifndef TESTS_UNIT_QUEUE_PORTRAIT_H
#define TESTS_UNIT_QUEUE_PORTRAIT_H

#include "base/buffer.h"
#include "queue/store.h"

/* "info/2", "local/mailbox/1", "todo/arrive/0", "trigger/hold.2", "damaged/2"...: a number that no
 * data file has is "?". Files in pid/ and lock/ are left out. */
void queue_portrait(struct queue_store *store, struct buffer *out);

#endif
