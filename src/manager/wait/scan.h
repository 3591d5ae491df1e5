// SPDX-License-Identifier: ISC
/*
 * manager/wait/scan.h - finding messages on the disk: at the start, when something was missed,
 * when lock/trigger is pulled, and from time to time. New mail need not wait for it: it is
 * done in slices of a few milliseconds.
 *
 * While few messages sleep, all are kept in memory. Beyond that those at S5 that are not due
 * soon are left where they are: the file's time says when they are, and a later scan comes
 * before that.
 *
 * Each whole scan leaves a list of these times (queue/due.h). The first one of a process believes
 * the last one's list, and another scan that looks at the files follows it at once. Whoever is
 * due before the list says so is found by that; whoever is due after it is woken, read and put to
 * sleep again.
 */
#ifndef MANAGER_WAIT_SCAN_H
#define MANAGER_WAIT_SCAN_H

#include "mail/envelope.h"
#include "manager/wait/wake.h"
#include "queue/store.h"

struct scan;

struct scan_handler {
	/* Whether the message is awake (those who sleep are known to the scan). */
	bool (*is_awake)(void *context, uint64_t number);
	/* A scan is due: lock/trigger was pulled (ONLY_NEW), or time has passed. */
	void (*wanted)(void *context, bool only_new);
	/* The name is in todo/: scan_add() is to be called when it is a message. */
	void (*found)(void *context, enum mail_stage stage, uint64_t number);
	/* It is: whether it has no name of S5 that a crash has left. */
	bool (*settle)(void *context, enum mail_stage stage, uint64_t number);
	/* A scan that was not ONLY_NEW is over: all mail is found. */
	void (*whole)(void *context);
};

/* Times in microseconds, from the configuration. */
struct scan_times {
	int64_t rescan_us;
	int64_t lifetime_us;
};

/* Begins nothing, and opens lock/trigger. */
struct scan *scan_new(struct os_loop *loop, struct queue_store *store, struct sleepers *sleepers,
		      struct wake *wake, struct scan_times times,
		      const struct scan_handler *handler, void *context);
void scan_configure(struct scan *scan, struct scan_times times);
void scan_stop(struct scan *scan);
void scan_free(struct scan *scan);

/* Looks for what is not known, a little at a time: in todo/ and, unless ONLY_NEW, in info/. Who
 * is found sleeps from then on. Asked again meanwhile, it begins again at its end. */
void scan_begin(struct scan *scan, bool only_new);
/* It is a message at S4: from now on it sleeps, unless it is known. */
void scan_add(struct scan *scan, enum mail_stage stage, uint64_t number);
/* The message, if it sleeps; one at S5 that is not known is looked for on the disk. NULL: there
 * is none. */
struct sleeper *scan_find(struct scan *scan, uint64_t number);
/* Whether a message at S5 that is due then can be left to the scans. */
bool scan_will_find(const struct scan *scan, int64_t due_us);

#endif
