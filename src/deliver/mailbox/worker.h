// SPDX-License-Identifier: ISC
/*
 * deliver/mailbox/worker.h - a thread that files groups of messages, with its own connections to
 * the record and to the store.
 */
#ifndef DELIVER_MAILBOX_WORKER_H
#define DELIVER_MAILBOX_WORKER_H

#include "config/config.h"
#include "filing/filing.h"
#include "os/loop.h"

enum { MAILBOX_GROUP_MAX = 64 }; /* messages in a group */

struct mailbox_worker;

/* RECORD and STORE belong to the worker. WAKEUP is sent when a group is done. -EAGAIN, -EPERM: no
 * thread could be created; they are freed. */
MUST_CHECK int mailbox_worker_new(struct os_wakeup *wakeup, struct record *record,
				  struct mailstore *store, struct mailbox_worker **hand_out);
/* Waits until its current work ends. NULL is allowed. */
void mailbox_worker_free(struct mailbox_worker *worker);

/* Files COUNT messages, which are the worker's until mailbox_worker_is_busy() is false. */
void mailbox_worker_give(struct mailbox_worker *worker, struct filing_message **messages,
			 size_t count);
bool mailbox_worker_is_busy(struct mailbox_worker *worker);
/* Waits until it is not busy. */
void mailbox_worker_wait(struct mailbox_worker *worker);
/* Logs what happened to them; in the loop's thread, when it is not busy. */
void mailbox_worker_log(struct mailbox_worker *worker);

#endif
