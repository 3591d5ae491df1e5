// SPDX-License-Identifier: ISC
/*
 * filing/copy.h - the life of one copy of a message.
 *
 *	step     what is known                                    next
 *	OPENING  nothing                                          the first transaction: the row
 *exists, and our attempt is noted: OPEN; it is filed, and nobody is in doubt: DONE OPEN     the
 *row, as it was then                          the second transaction looks again: filed, no attempt
 *but ours                       MARK not filed, no attempt but ours                   APPEND
 *	         attempts of others                               DOUBT
 *	DOUBT    another one may have appended                    the mailbox is looked into: the
 *copies but one are removed; one is left: MARK; none: APPEND APPEND   the copy is not in the
 *mailbox                   appended: MARK; it failed, and left nothing: FAILED; it is unknown: LOST
 *	MARK     the copy is in the mailbox                       "filed" is written, if it is not
 *yet, and committed: DONE LOST     it may be there: our attempt stays noted         the next one
 *will be in doubt DONE, FAILED                                              our attempt ends
 *
 * If the second transaction is not committed, a copy that was appended is LOST, too.
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
