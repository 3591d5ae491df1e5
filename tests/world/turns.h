// SPDX-License-Identifier: ISC
/*
 * world/turns.h - the judge of turns: first attempts do not take the turns of retries.
 *
 * It sees which job the manager gives its helpers, and when each ends (ipc/job.h), and the log says
 * when what was deferred is due (accounts.h). A retry is ready TURNS_READY_US after that, while its
 * message has no job. Of eight jobs for a destination one is a retry (manager/turn/transport.h): of
 * the jobs that begin there while a retry is ready, no TURNS_MAX in a row are first attempts.
 *
 * Nobody is ready for TURNS_MOVED_US after something delayed mail, while a process is frozen, and
 * while there is a trigger. When one is set, or the clock, the judge forgets who waits.
 */
#ifndef WORLD_TURNS_H
#define WORLD_TURNS_H

#include "accounts.h"

/* The manager wakes what is due, reads and maps it. */
#define TURNS_READY_US INT64_C(10000000)
#define TURNS_MOVED_US INT64_C(60000000)
enum { TURNS_MAX = 16 };

/* Watches what the processes of the machine of BOOKS say to each other. */
void turns_watch(struct books *books);
/* A line of the log: the delivery of ACCOUNT to TO, which a next hop gets, is due at DUE_US. */
void turns_deferred(struct account *account, const char *to, int64_t due_us);
/* ACCOUNT waits for nothing any more that is known here. */
void turns_forget(struct account *account);
/* The same of all: what is deferred already may wait for a trigger that was set. */
void turns_forget_all(struct books *books);
/* ACCOUNT is no more. */
void turns_drop(struct account *account);
void turns_end(struct books *books);

#endif
