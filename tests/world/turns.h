// SPDX-License-Identifier: ISC
/*
 * world/turns.h - the judge of turns: no mail for other hosts has turns that are another one's.
 *
 * It sees where mail goes, which job the manager gives its helpers, and when each ends (ipc/job.h),
 * and the log says when what was deferred is due (accounts.h). manager/turn/transport.h promises:
 *
 * - Of eight jobs for a destination one is a retry. A retry is ready TURNS_READY_US after it was
 *   due, while its message has no job: of the jobs that begin there meanwhile, no TURNS_MAX in a
 *   row are first attempts.
 * - Destinations take turns, one job each, and those that are fast have half of the turns at least.
 *   A first attempt is ready TURNS_READY_US after its message was mapped: while its destination is
 *   fast and has no job, no more begin elsewhere than TURNS_ROUNDS for each destination.
 *
 * Nobody is ready for TURNS_MOVED_US after something delayed mail, while a process is frozen, and
 * while there is a trigger. When one is set or released, or the clock is set, the judge forgets who
 * waits. Of the jobs that were in flight when something delayed mail nobody knows whether they are
 * still: where they were, nobody is ready for TURNS_LOST_US.
 *
 * Not seen are the turns of senders within a destination, of destinations that are slow or have not
 * answered yet, and of local services.
 */
#ifndef WORLD_TURNS_H
#define WORLD_TURNS_H

#include "accounts.h"

/* The manager wakes what is due, reads and maps it. */
#define TURNS_READY_US INT64_C(10000000)
#define TURNS_MOVED_US INT64_C(60000000)
#define TURNS_LOST_US  INT64_C(600000000)
enum { TURNS_MAX = 16, TURNS_ROUNDS = 4 };

/* Watches what the processes of the machine of BOOKS say to each other. */
void turns_watch(struct books *books);
/* A line of the log: the delivery of ACCOUNT to TO, which a next hop gets, is due at DUE_US. */
void turns_deferred(struct account *account, const char *to, int64_t due_us);
/* ACCOUNT, if not NULL, waits for nothing any more that is known here. */
void turns_forget(struct account *account);
/* The same of all: they may wait for a trigger that was set, or for their turn after one. */
void turns_forget_all(struct books *books);
/* ACCOUNT is no more. */
void turns_drop(struct account *account);
/* All accounts of BOOKS are no more. */
void turns_end(struct books *books);

#endif
