// SPDX-License-Identifier: ISC
/* program/kind/queue_lock.h - the lock by which one process alone works with a queue. */
#ifndef PROGRAM_KIND_QUEUE_LOCK_H
#define PROGRAM_KIND_QUEUE_LOCK_H

#include "base/attributes.h"
#include "queue/store.h"
#include "supervisor/child/child.h"

/* Locks lock/NAME of STORE, for open() of struct child_program: 0, or -errno. -EAGAIN: a process
 * has it that may just be ending, also one whose supervisor was killed; it is to be tried again.
 * -EBUSY: it does not end, so there is another mail system, which is logged and reported: the node
 * cannot start. */
MUST_CHECK int queue_lock_take(struct child *child, struct queue_store *store, const char *name);

#endif
