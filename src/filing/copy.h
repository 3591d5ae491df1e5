// SPDX-License-Identifier: ISC
/*
 * filing/copy.h - the life of one copy of a message.
 *
 *	step     known so far                    action -> next step
 *	OPENING  nothing                         first transaction: note our attempt
 *	                                         -> OPEN; already filed, no other attempt -> DONE
 *	OPEN     the row as it was then          second transaction: read the row again
 *	                                         our attempt is gone -> EARLY
 *	                                         other attempts (or is_in_doubt) -> DOUBT
 *	                                         filed -> MARK; not filed -> APPEND
 *	DOUBT    others may have appended it     one of them still can -> EARLY
 *	                                         remove what others have prepared, search the
 *	                                         mailbox, remove all copies but one:
 *	                                         one is left, or filed -> MARK; none -> APPEND
 *	APPEND   not in the mailbox              write it, check in the record that our attempt
 *still counts, make it visible: done -> MARK; failed, nothing is left -> FAILED the server refuses
 *the folder -> REFUSED outcome unknown -> LOST REFUSED  nothing was left                remove the
 *row, decide for the other folder; after the commit -> OPENING there; no other -> FAILED MARK in
 *the mailbox                  write "filed" unless it is there; commit -> DONE LOST     perhaps in
 *the mailbox          our attempt stays noted, so the next one is in DOUBT DONE, FAILED, EARLY our
 *attempt ends
 *
 * A copy that was appended also becomes LOST if the second transaction is not committed.
 *
 * The attempt of a process that never comes back is removed by whoever has searched the mailbox a
 * day after that attempt could still take effect. Times are those of the machines, so their clocks
 * must not differ by more than that. The lock and the connection prevent two appends at a time.
 *
 * A process that loses its connection loses the lock, and may not know it. The next one sees its
 * attempt in the record, and removes what that has prepared, or finds what it has appended.
 * Attempts of others are removed only together with writing "filed", which they will read.
 */
#ifndef FILING_COPY_H
#define FILING_COPY_H

#include "filing/filing.h"

enum filing_step {
	FILING_STEP_OPENING,
	FILING_STEP_OPEN,
	FILING_STEP_DOUBT,
	FILING_STEP_APPEND,
	FILING_STEP_MARK,
	FILING_STEP_REFUSED,
	FILING_STEP_DONE,
	FILING_STEP_EARLY,
	FILING_STEP_FAILED,
	FILING_STEP_LOST,
};

struct filing_work { /* of one copy */
	struct filing_message *message;
	struct filing_copy *copy;
	struct filing_work *duplicate; /* an earlier one with the same mailbox, whose outcome
					* counts for both; or NULL */
	enum filing_step step;
	struct record_attempt attempt;
	bool was_filed;    /* as the record says */
	int64_t last_us;   /* when the last attempt of others began */
	bool was_searched; /* the mailbox was looked into */
	bool was_appended;
	bool is_told;                   /* that it failed, and why */
	bool is_settled;                /* nothing is to be done any more */
	bool is_new_choice;             /* its folder is to be made, by the sender's choice */
	bool is_limited;                /* that is one too many a day: it goes elsewhere */
	char kept[MAILSTORE_COPY_SIZE]; /* where it is: as recorded, found or appended */
};

/* The first transaction has found the attempt's row: OPENING -> OPEN, DONE. */
void filing_copy_opened(struct filing_work *work);
/* The second one has: OPEN -> EARLY, DOUBT, APPEND, MARK; also if it is tried again.
 */
void filing_copy_looked(struct filing_work *work);
/* Whether an attempt of others can still take effect at NOW_US, in a store where an append takes
 * APPEND_MAX_US at most: then a search of the mailbox proves nothing yet. DOUBT -> EARLY. */
bool filing_copy_is_early(struct filing_work *work, int64_t now_us, int64_t append_max_us);
/* Copies found in the mailbox, of which KEPT, or the first, stays: DOUBT -> MARK, APPEND. */
void filing_copy_searched(struct filing_work *work, const struct mailstore_found *found,
			  size_t count);
/* How the append ended: APPEND -> MARK, REFUSED, FAILED, LOST. */
void filing_copy_appended(struct filing_work *work, const struct mailstore_append *append);
/* The other folder is decided: REFUSED -> OPENING. */
void filing_copy_moved(struct filing_work *work);

#endif
