// SPDX-License-Identifier: ISC
/*
 * manager/wait/scan/scan.h - finds messages on the disk: at the start, when something was missed,
 * when lock/trigger is pulled, and from time to time. New mail need not wait for it: a scan runs in
 * slices of a few milliseconds.
 *
 * While few messages sleep, all are kept in memory. Beyond that, messages at S5 that are not due
 * soon are left on the disk: the time of the file says when they are due, and a later scan comes
 * before that.
 *
 * Each complete scan writes a list of these times (queue/due.h). The first scan of a process uses
 * the list of the previous process, and is followed at once by a scan that looks at the files. A
 * message that is due earlier than listed is found by that second scan; one that is due later is
 * woken, read and put to sleep again.
 *
 * What could not be read is looked for again by the scans alone, whoever failed to read it: this
 * process a directory or the triggers, "queue" a file in todo/. After such a scan a complete one
 * follows in 2 s; while they fail, each pause is twice the last, at most rescan_us.
 */
#ifndef MANAGER_WAIT_SCAN_SCAN_H
#define MANAGER_WAIT_SCAN_SCAN_H

#include "mail/envelope.h"
#include "manager/wait/wake.h"
#include "queue/store.h"

struct scan;

/* Implemented by manager/hear/waiting.c. */
struct scan_handler {
	/* Whether the message is awake (the scan knows those that sleep). */
	bool (*is_awake)(void *context, uint64_t number);
	/* A scan is due: lock/trigger was pulled (ONLY_NEW), or its time has come. It may be put
	 * off by scan_repeat(). */
	void (*wanted)(void *context, bool only_new);
	/* The name is in todo/: call scan_add() if it is a message. */
	void (*found)(void *context, enum mail_stage stage, uint64_t number);
	/* It is a message: returns whether it is free of names of S5 that a crash left. */
	bool (*settle)(void *context, enum mail_stage stage, uint64_t number);
	/* A scan that was not ONLY_NEW is complete: all mail is found. */
	void (*whole)(void *context);
};

/* Times in microseconds, from the configuration. */
struct scan_times {
	int64_t rescan_us;
	int64_t lifetime_us;
};

/* Does not begin a scan, but opens lock/trigger. */
struct scan *scan_new(struct os_loop *loop, struct queue_store *store, struct sleepers *sleepers,
		      struct wake *wake, struct scan_times times,
		      const struct scan_handler *handler, void *context);
void scan_configure(struct scan *scan, struct scan_times times);
void scan_stop(struct scan *scan);
void scan_free(struct scan *scan);

/* Looks for unknown messages, a little at a time: in todo/ and, unless ONLY_NEW, in info/. Those
 * found become sleepers. Called during a scan, it makes the scan start again at its end. */
void scan_begin(struct scan *scan, bool only_new);
/* "queue" could not look at a name that found() reported, or the triggers could not be read: the
 * scan counts as one that failed. */
void scan_repeat(struct scan *scan);
/* Adds a message at S4 as a sleeper, unless it is known. */
void scan_add(struct scan *scan, enum mail_stage stage, uint64_t number);
/* The message, if it sleeps; if it is unknown, it is looked for on the disk at S5. NULL: not
 * found. */
struct sleeper *scan_find(struct scan *scan, uint64_t number);
/* Whether an unknown message with that number is, or may be, at S4: it comes by a notice or a scan.
 */
bool scan_has_yet_to_find(const struct scan *scan, uint64_t number);
/* Whether scans leave no message on the disk, and each that they find is due at once. */
void scan_keep_all(struct scan *scan, bool are_all_due);
/* Whether a message at S5 with this due time can be left on the disk for the scans. */
bool scan_will_find(const struct scan *scan, int64_t due_us);

#endif
