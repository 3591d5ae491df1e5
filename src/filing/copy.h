// SPDX-License-Identifier: ISC
/*
 * filing/copy.h - the life of one copy of a message: step, what is known, and what is next.
 *
 * OPENING: nothing.
 *   The first transaction: the row exists, and our attempt is noted: OPEN;
 *   it is filed, and nobody is in doubt: DONE.
 * OPEN: the row, as it was then.
 *   The second transaction looks again: attempts of others: DOUBT;
 *   none but ours: MARK if it is filed, else APPEND.
 * DOUBT: another one may have appended, or be about to.
 *   What others have not moved into the mailbox yet is taken from them; then the mailbox is looked
 *   into, and the copies but one are removed: one is left: MARK; none: APPEND.
 * APPEND: the copy is not in the mailbox.
 *   It is written; the record says that we still have the turn; only then it can be seen: MARK.
 *   It failed, and left nothing: FAILED; it is unknown: LOST.
 * MARK: the copy is in the mailbox.
 *   "filed" is written, if it is not yet, and committed: DONE.
 * LOST: it may be there: our attempt stays noted, and the next one will be in doubt.
 * DONE, FAILED: our attempt ends.
 *
 * If the second transaction is not committed, a copy that was appended is LOST, too. A lock that is
 * lost with its connection does not stop who had it: of two, the one who comes later has the
 * other's attempt in the record, so it takes away what that has prepared, or finds what that has
 * appended. Attempts of others are ended only together with "filed", which they will see.
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
	FILING_STEP_DONE,
	FILING_STEP_FAILED,
	FILING_STEP_LOST,
};

struct filing_work { /* of one copy */
	struct filing_message *message;
	struct filing_copy *copy;
	enum filing_step step;
	struct record_attempt attempt;
	bool was_filed;    /* as the record says */
	bool was_searched; /* the mailbox was looked into */
	bool was_appended;
	char kept[MAILSTORE_COPY_SIZE]; /* where it is: as recorded, found or appended */
};

/* The first transaction has found the attempt's row: OPENING -> OPEN, DONE. */
void filing_copy_opened(struct filing_work *work);
/* The second one has: OPEN -> DOUBT, APPEND, MARK; also after it was begun anew. */
void filing_copy_looked(struct filing_work *work);
/* Copies found in the mailbox, of which KEPT, or the first, stays: DOUBT -> MARK, APPEND. */
void filing_copy_searched(struct filing_work *work, const struct mailstore_found *found,
			  size_t count);
/* How the append ended: APPEND -> MARK, FAILED, LOST. */
void filing_copy_appended(struct filing_work *work, const struct mailstore_append *append);

#endif
