// SPDX-License-Identifier: ISC
/*
 * filing/copy.h - the life of one copy of a message: step, what is known, and what is next.
 *
 *	step     what is known                   what is done, and the next step
 *	OPENING  nothing                         first transaction: our attempt is noted
 *	                                         -> OPEN; it is filed, no attempt of others -> DONE
 *	OPEN     the row, as it was then         second transaction, looks again:
 *	                                         our attempt is gone -> EARLY
 *	                                         attempts of others (or is_in_doubt) -> DOUBT
 *	                                         it is filed -> MARK; it is not -> APPEND
 *	DOUBT    others may have appended it     one of them still can -> EARLY
 *	                                         takes away what others have not moved yet,
 *	                                         looks into the mailbox, removes all copies but one:
 *	                                         one is left, or it is filed -> MARK; none -> APPEND
 *	APPEND   it is not in the mailbox        writes it, asks the record whether it has the turn
 *	                                         still, and lets it be seen:
 *	                                         done -> MARK; it left nothing -> FAILED;
 *	                                         its folder is refused -> REFUSED;
 *	                                         nobody knows -> LOST
 *	REFUSED  it left nothing                 the row goes, the other folder is decided; after
 *	                                         the commit -> OPENING there; no other -> FAILED
 *	MARK     it is in the mailbox            writes "filed", unless it is; commits -> DONE
 *	LOST     it may be in the mailbox        our attempt stays noted: the next one is in DOUBT
 *	DONE, FAILED, EARLY                      our attempt ends
 *
 * A copy that was appended is LOST, too, if the second transaction is not committed.
 *
 * An attempt of somebody who is never seen again is settled at last: by whoever has looked into the
 * mailbox a day after it could still take effect. Times are those of the machines, so their clocks
 * must not differ by more; the lock and the connection are what keeps two from appending at a time.
 *
 * A lock that is lost with its connection does not stop who had it: of two, the one who comes later
 * has the other's attempt in the record, so it takes away what that has prepared, or finds what
 *that has appended. Attempts of others are ended only together with "filed", which they will see.
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
	struct filing_work
		*duplicate; /* an earlier one with its mailbox, whose fate it shares; or NULL */
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
/* Whether an attempt of others can still take effect at NOW_US, in a store with APPEND_MAX_US, so
 * that nothing that is found in the mailbox is final: DOUBT -> EARLY. */
bool filing_copy_is_early(struct filing_work *work, int64_t now_us, int64_t append_max_us);
/* Copies found in the mailbox, of which KEPT, or the first, stays: DOUBT -> MARK, APPEND. */
void filing_copy_searched(struct filing_work *work, const struct mailstore_found *found,
			  size_t count);
/* How the append ended: APPEND -> MARK, REFUSED, FAILED, LOST. */
void filing_copy_appended(struct filing_work *work, const struct mailstore_append *append);
/* The other folder is decided: REFUSED -> OPENING. */
void filing_copy_moved(struct filing_work *work);

#endif
