// SPDX-License-Identifier: ISC
/*
 * deliver/local/threads.h - the threads ("workers") that put mail into mailboxes, each with its
 * work, and whose mail would block one more of them.
 */
#ifndef DELIVER_LOCAL_THREADS_H
#define DELIVER_LOCAL_THREADS_H

#include "deliver/local/devices.h"
#include "deliver/local/group.h"
#include "log/event.h"

enum { LOCAL_THREADS_MAX = 48 }; /* threads; each may be stuck with one mailbox owner */

struct local_thread {
	struct local_worker *worker;
	struct local_writer *writer; /* owned by the worker */
	unsigned generation;         /* of the configuration that it was made from */
	struct local_batch batch;    /* while is_busy */
	size_t first;                /* in the batch: those before it are reported */
	struct local_disk disk;      /* the owner's, while is_stuck */
	bool is_busy;
	bool is_stuck; /* the disk of its current owner does not answer */
	bool is_lost;  /* its deliveries get no report */
};

/* Zeroed: no threads. */
struct local_threads {
	struct local_thread all[LOCAL_THREADS_MAX];
	size_t count;
};

/* Whether any is busy and not stuck. */
bool local_threads_is_working(const struct local_threads *threads);
/* An idle place, perhaps a new one, whose worker sends WAKEUP; NULL: all are stuck. Ends the
 * process if not even the first thread can be created. */
struct local_thread *local_threads_idle(struct local_threads *threads, struct os_wakeup *wakeup);

/* How many are stuck on DISK. */
size_t local_threads_stuck_on(const struct local_threads *threads, const struct local_disk *disk);
/* Whether mail for UID at PATH would block a worker too, because mail for the same owner does, or
 * mail for several owners on the same filesystem. A single owner whose files are slow delays
 * nobody else's mail. */
bool local_threads_blocks(const struct local_threads *threads, const struct local_devices *devices,
			  uid_t uid, struct str path);

/* Logs what deliveries [FIRST, END) of PLACE, which are done, have found: mailboxes that are no
 * files to write to, and incomplete messages that were removed. */
void local_thread_log_found(const struct local_thread *thread, size_t first, size_t end);
/* Logs that the mailbox at which PLACE stands got stuck, or came back. */
void local_thread_log(const struct local_thread *thread, enum log_name name);

#endif
