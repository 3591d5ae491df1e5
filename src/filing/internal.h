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
	bool is_new;        /* it was recorded now */
	unsigned different; /* other contents of its Message-ID */
	bool has_lock;      /* in the present transaction */
	struct filing_work *works;
};

/* Some copies of a group, of messages whose lock this transaction has; what the record calls them.
 */
struct filing_subset {
	struct filing_work **works;
	struct record_attempt **attempts;
	size_t count;
};

/* subset.c: those of ITEMS that are WANTED, but for duplicates; to be cleared. */
void filing_subset_choose(struct filing_subset *subset, const struct filing_item *items,
			  size_t count, bool (*wanted)(const struct filing_work *work));
void filing_subset_clear(struct filing_subset *subset);

/* TEXT may be NULL. */
void filing_tell(const struct filing *filing, enum filing_event_kind kind,
		 const struct filing_work *work, const char *text);
/* Attempts that began before this can be settled by who has just looked into the mailbox: they
 * cannot append any more, even if the clock of their machine differs by a day. */
int64_t filing_settled_before_us(const struct mailstore *store);
/* The copy waits (4.3.0), and everybody may read TEXT; DETAIL, which may name servers, users and
 * paths, is for the log only. */
void filing_defer(const struct filing *filing, struct filing_work *work, const char *text,
		  const char *detail);

/* decide.c: decides the mailbox of each copy within the first transaction, and finds duplicates: 0
 * or -errno of filing/record/record.h. */
MUST_CHECK int filing_decide(const struct filing *filing, struct filing_item *items, size_t count);

/* transactions.c: the two transactions, for all ITEMS together. 0 or -errno of
 * filing/record/record.h: nothing of the transaction holds; *HAS_APPENDED_OUT: but the store may
 * have copies. A message whose lock another one has is busy afterwards, and none of our attempts
 * for it are left. */
MUST_CHECK int filing_open(const struct filing *filing, struct filing_item *items, size_t count);
MUST_CHECK int filing_close(const struct filing *filing, struct filing_item *items, size_t count,
			    bool *has_appended_out);
/* Whether a copy still needs the second transaction. */
bool filing_is_open(const struct filing_item *items, size_t count);

/* elsewhere.c: copies whose folder is refused. Within the second transaction: decides their other
 * folder, and removes their rows: nothing of them is or can be there. */
MUST_CHECK int filing_move(const struct filing *filing, struct filing_item *items, size_t count);
/* After it: which of ITEMS have copies to be filed there, in AGAIN_OUT: all others are settled. */
size_t filing_moved(const struct filing *filing, struct filing_item *items, size_t count,
		    struct filing_item *again_out);

/* store.c: what the store does between them: fences off others and looks for copies in doubt, and
 * removes surplus ones; then appends all that are to be appended, unless the record says, as the
 * last thing before they can be seen, that the turn was lost: -errno. */
void filing_search(const struct filing *filing, struct filing_item *items, size_t count);
MUST_CHECK int filing_append(const struct filing *filing, struct filing_item *items, size_t count,
			     bool *has_appended_out);

#endif
