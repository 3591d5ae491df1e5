// SPDX-License-Identifier: ISC
/* filing/internal_repair.h - shared by the parts of a repair. */
#ifndef FILING_INTERNAL_REPAIR_H
#define FILING_INTERNAL_REPAIR_H

#include "base/table.h"
#include "filing/repair.h"

/* A row as it was listed, in the arena of its mailbox. */
struct repair_row {
	int64_t filing;
	struct str id;
	unsigned char digest[DECODE_DIGEST_SIZE];
};

/* A file of the mailbox, as its name tells. */
struct repair_copy {
	UT_hash_handle hh; /* by mark: the first of it; others follow in SAME */
	char mark[MAILSTORE_MARK_SIZE];
	char copy[MAILSTORE_COPY_SIZE];
	struct repair_copy *same;
	bool has_row;
};

struct repair_mailbox {
	struct filing_repair *repair;
	const struct record_mailbox *mailbox;
	struct mailstore *store;
	struct repair_copy *copies; /* a table */
};

/* Begins a transaction with the lock of ID: 0; -EAGAIN: another one has it, and there is no
 * transaction; or -errno of the record. */
MUST_CHECK int repair_begin(const struct filing_repair *repair, struct str id);
/* Commits if ERROR is 0 and changes are wanted, else rolls back: 0 or -errno. */
MUST_CHECK int repair_end(const struct filing_repair *repair, int error);
void repair_tell(const struct repair_mailbox *mailbox, enum filing_repair_kind kind, struct str id,
		 const char *copy, const char *text, bool is_repaired);

/* Looks at ROW and into the mailbox, under the lock, and repairs it. 0 or -errno of the record. */
MUST_CHECK int repair_row(const struct repair_mailbox *mailbox, const struct repair_row *row);
/* Records COPY, which has no row. Likewise. */
MUST_CHECK int repair_copy(const struct repair_mailbox *mailbox, const struct repair_copy *copy);

#endif
