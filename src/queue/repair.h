// SPDX-License-Identifier: ISC
/*
 * queue/repair.h - makes a copied or restored queue usable again.
 *
 * A message's number is its data file's inode number, and in a copy the inodes are different. So
 * every message must get its true number. That number may be in use by another message that must
 * move as well; so all of them first move out to the directory repair/, and then all move back:
 *
 *   repair/TRUE.OLD.PLACE  envelope or control file, with its true id, of a message
 *                          that belongs in PLACE: submit, arrive (todo/) or info
 *   repair/TRUE.mess       the data file
 *   repair/TRUE.bounce     its bounce records
 *
 * out: 1 that file is durable under its name in repair/
 *      2 data file and bounce records get names in repair/ too
 *      3 when these are durable, the names with the old number are removed, that of the
 *        data file last
 * in: 4 data file, bounce records, local and remote names are made in the queue; for
 *        todo/ the envelope with its true id is written after the data
 *      5 when these are durable, the name in todo/ or info/ is made
 *      6 when that is durable, the names in repair/ are removed, the control file's last
 *
 * A new name is always durable before the old one is removed. From 1 to 6 the control file in
 * repair/ shows that the message is being moved; whether the data file still has its old name and
 * the control file already has its new one shows how far it got. So the next repair can resume. No
 * other program may work on a queue that has a file in repair/.
 */
#ifndef QUEUE_REPAIR_H
#define QUEUE_REPAIR_H

#include "queue/store.h"

struct queue_cleaner_finding;
struct queue_difference;

struct queue_repair {
	bool dry_run; /* only report */
	/* A message got (or would get) another number. */
	void (*renumbered)(void *context, uint64_t old, uint64_t number);
	/* A message is in the queue as NUMBER, and was there as OLD, perhaps the same: called for
	 * each, also for what an interrupted repair has renumbered, but not with dry_run. -errno
	 * ends the repair. May be NULL. */
	int (*kept)(void *context, uint64_t old, uint64_t number);
	/* PATH was (or would be) moved to damaged/, because of WHY. */
	void (*set_aside)(void *context, const char *path, const char *why);
	/* A message at S4 whose envelope is damaged was moved there. May be NULL. */
	void (*lost)(void *context, const struct queue_cleaner_finding *finding);
	/* A disk has changed a part of a message, in the file PATH. The message stays, unless it is
	 * set aside next. May be NULL. */
	void (*differs)(void *context, const char *path, const struct queue_difference *difference);
	/* Now and then, with the number of data files looked at. */
	void (*progress)(void *context, uint64_t count);
	void *context;
};

/* STORE was opened with make_lacking. The caller holds both locks. May be interrupted at any moment
 * and run again. */
MUST_CHECK int queue_repair(struct queue_store *store, const struct queue_repair *repair);
/* Whether a repair was interrupted: 1, 0 or -errno. */
MUST_CHECK int queue_repair_is_pending(struct queue_store *store);

#endif
