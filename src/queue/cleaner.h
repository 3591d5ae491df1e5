// SPDX-License-Identifier: ISC
/*
 * queue/cleaner.h - removes what a crash left, a little at a time, while "send" serves mail: names
 * that a power failure brought back after their message had ended, and names of messages that were
 * interrupted on their way to S5. Names that the disk has lost are made again from those that are
 * left. Last it ends the holds of messages that are gone (trigger/hold.ID).
 *
 * Nothing waits for the cleaner, because a name that it has not reached yet is harmless:
 *
 * - a new file does not get a number that such a name has, until queue_intake_trust_names()
 *   (has_stale_names() in message.c);
 * - when a message is found at S4, queue_update_settle() removes what an earlier, interrupted
 *   step to S5 left. So even if the message is delivered at once and its file reused, no second
 *   name leads to that file;
 * - a message that is found at S5 without data has ended, or cannot be delivered:
 *   queue_update_load() returns -ENOENT.
 *
 * The names in one directory are compared with those in the corresponding directories, without
 * looking at any file: a million messages are 3 million names. Only numbers that do not match are
 * examined again, one by one, and judged (cleaner/judge.c) unless somebody is working on the
 * message. Check and removal are one step. The caller has only one duty: is_busy() must return true
 * for a message from before its names first change until after the last change.
 *
 * Names that do not match are what a crash left, or what a damaged disk, a partial restore or a
 * careless hand did. What has ended says so: by its mark (queue_update_mark_ended()), or because
 * all its deliveries are decided and reported. It is removed. Of the others a message without a
 * name in todo/ has lost one:
 *
 *   left                           where order is kept                        elsewhere
 *   mess, and a whole control      info is made again from it                 litter
 *   file in intd, remote or local
 *   mess, its envelope whole       info is made again from the envelope:      litter
 *                                  all recipients are mapped and tried again
 *   a control file without data    damaged; the sender gets a report of what  litter
 *                                  was not delivered
 *   anything else                  damaged                                    litter
 *
 * A message without data that was to stand for one of these, and whose making was interrupted, is
 * removed: it was never at S5, and what it was to stand for is there still.
 *
 * A message at S4 whose envelope is damaged goes to damaged/, too, when it is read
 * (queue_cleaner_set_aside()).
 *
 * "Damaged" means that the files are moved to damaged/, and "litter" that they are moved to
 * litter/, and removed from there after QUEUE_LITTER_AGE_US. Where order is kept no power failure
 * leaves any of these states: all of them come before the name in info/ is removed, and the mark
 * before that. Elsewhere each is also what a power failure leaves of a message that has ended, if
 * the disk wrote the removal of one name and not of another, and without the mark.
 */
#ifndef QUEUE_CLEANER_H
#define QUEUE_CLEANER_H

#include "queue/store.h"

struct queue_cleaner;
struct queue_control;

enum queue_cleaner_kind { QUEUE_CLEANER_REBUILT, QUEUE_CLEANER_DAMAGED, QUEUE_CLEANER_LITTER };

/* What was found about a message that had lost names. */
struct queue_cleaner_finding {
	enum queue_cleaner_kind kind;
	uint64_t number;
	const struct queue_control *control; /* its envelope, and deliveries if it is mapped; NULL:
					      * no file has them any more */
	const char *path; /* of the file that tells most: its name in the queue if it was rebuilt
			   * from that, else in damaged/ or litter/ */
	const char *why;  /* what is missing */
	uint64_t
		report; /* DAMAGED: the number of a new message at S5, without data, all of whose
			 * deliveries are decided: it ends with the report to the sender. 0: none */
};

/* Implemented by manager/link/cleaning.c. */
struct queue_cleaner_handler {
	/* Whether somebody is working on the message NUMBER: its names are left alone. */
	bool (*is_busy)(void *context, uint64_t number);
	/* NUMBER is no longer a message: forget what is known of it. May be NULL. */
	void (*forget)(void *context, uint64_t number);
	/* Asks "queue" to remove the data of NUMBER, whose message has ended. */
	int (*remove_data)(void *context, uint64_t number);
	/* PATH was removed. May be NULL. */
	void (*removed)(void *context, const char *path);
	/* A message that was rebuilt, and FINDING's report, are at S5 from now on, and nobody has
	 * scanned them. May be NULL. */
	void (*found)(void *context, const struct queue_cleaner_finding *finding);
	/* The message that the trigger NAME, hold.ID, holds is gone. 0 or -errno. NULL: holds are
	 * left alone. */
	int (*end_hold)(void *context, struct str name);
};

/* SERVICES is the list of all services that the queue knows. SERVICES and HANDLER are borrowed. */
struct queue_cleaner *queue_cleaner_new(struct queue_store *store, const char *const *services,
					size_t service_count,
					const struct queue_cleaner_handler *handler, void *context);
void queue_cleaner_free(struct queue_cleaner *cleaner);

/* Handles some names; takes a fraction of a millisecond if nothing has to be removed. 1: there
 * are more; 0: finished; -errno: something was skipped, and the next step continues. */
MUST_CHECK int queue_cleaner_step(struct queue_cleaner *cleaner);
/* Removes what is in litter/ for longer than QUEUE_LITTER_AGE_US at NOW_US. REMOVED is told the
 * paths. */
MUST_CHECK int queue_cleaner_sweep(struct queue_store *store, int64_t now_us,
				   void (*removed)(void *context, const char *path), void *context);
/* The message NUMBER in todo/STAGE has an envelope that cannot be read. Gives its file a name in
 * damaged/, durably, and FOUND what is left of it. If the checksum proves who sent it to whom
 * (queue/control/salvage.h), a message that stands for it is at S5: finding->report, without data,
 * to be mapped. Nothing can be delivered of that, so that its sender is told when it is too old,
 * or whatever an operator orders. 0, also when an earlier attempt has done all this: the caller has
 * "queue" remove the name in todo/ (QUEUE_REMOVE_TODO). -EPROTO: a later version has written it. */
MUST_CHECK int
queue_cleaner_set_aside(struct queue_store *store, enum mail_stage stage, uint64_t number,
			void (*found)(void *context, const struct queue_cleaner_finding *finding),
			void *context);
/* Whether nothing was skipped. After the last step: all names are right. */
bool queue_cleaner_is_sure(const struct queue_cleaner *cleaner);

#endif
