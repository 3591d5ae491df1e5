// SPDX-License-Identifier: ISC
/* filing/internal.h - shared by the parts of filing/. */
#ifndef FILING_INTERNAL_H
#define FILING_INTERNAL_H

#include "filing/copy.h"

struct filing {
	struct record *record;
	struct mailstore *store;
	void (*event)(void *context, const struct filing_event *event);
	void *context;
};

/* A message of a group with its copies' work. */
struct filing_item {
	struct filing_message *message;
	struct lock_name lock;
	int64_t number;     /* in the record */
	bool is_new;        /* it was recorded now */
	unsigned different; /* other contents of its Message-ID */
	bool has_lock;      /* in the second transaction */
	struct filing_work *works;
};

/* TEXT may be NULL. */
void filing_tell(const struct filing *filing, enum filing_event_kind kind,
		 const struct filing_work *work, const char *text);

/* transactions.c: the two transactions, for all ITEMS together. 0 or -errno of record/record.h:
 * nothing of the transaction holds; *HAS_APPENDED_OUT: but the store may have copies. A message
 * whose lock another one has is busy afterwards, and none of our attempts for it are left. */
MUST_CHECK int filing_open(const struct filing *filing, struct filing_item *items, size_t count);
MUST_CHECK int filing_close(const struct filing *filing, struct filing_item *items, size_t count,
			    bool *has_appended_out);
/* Whether a copy still needs the second transaction. */
bool filing_is_open(const struct filing_item *items, size_t count);

/* store.c: what the store does between them: fences off others and looks for copies in doubt, and
 * removes surplus ones; then appends all that are to be appended, unless the record says, as the
 * last thing before they can be seen, that the turn was lost: -errno. */
void filing_search(const struct filing *filing, struct filing_item *items, size_t count);
MUST_CHECK int filing_append(const struct filing *filing, struct filing_item *items, size_t count,
			     bool *has_appended_out);

#endif
