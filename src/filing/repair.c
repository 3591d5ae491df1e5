// SPDX-License-Identifier: ISC
#include "filing/repair.h"
#include "base/panic.h"
#include "filing/internal_repair.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 500, PROGRESS_EVERY = 100 };

const char *filing_repair_name(enum filing_repair_kind kind)
{
	static const char *const names[FILING_REPAIR_KINDS] = {
		[FILING_REPAIR_MISSING] = "missing",   [FILING_REPAIR_RENAMED] = "renamed",
		[FILING_REPAIR_UNMARKED] = "unmarked", [FILING_REPAIR_ABANDONED] = "abandoned",
		[FILING_REPAIR_SURPLUS] = "surplus",   [FILING_REPAIR_UNRECORDED] = "unrecorded",
		[FILING_REPAIR_RECENT] = "recent",     [FILING_REPAIR_FAILED] = "failed",
	};

	return names[kind];
}

/* ---- the files of the mailbox ---- */

static void take_surveyed_copy(void *context, const char *copy, const char *mark)
{
	struct repair_mailbox *mailbox = context;
	struct repair_copy *found = memory_alloc_zero(1, sizeof *found);
	struct repair_copy *first;

	snprintf(found->copy, sizeof found->copy, "%s", copy);
	snprintf(found->mark, sizeof found->mark, "%s", mark);
	HASH_FIND_STR(mailbox->copies, found->mark, first);
	if (first == NULL) {
		HASH_ADD_STR(mailbox->copies, mark, found);
		return;
	}
	while (strcmp(first->copy, copy) != 0 && first->same != NULL)
		first = first->same;
	if (strcmp(first->copy, copy) == 0)
		free(found); /* it was moved while they were listed */
	else
		first->same = found;
}

static void free_copies(struct repair_mailbox *mailbox)
{
	struct repair_copy *copy;
	struct repair_copy *after;

	HASH_ITER (hh, mailbox->copies, copy, after) {
		HASH_DEL(mailbox->copies, copy);
		while (copy != NULL) {
			struct repair_copy *same = copy->same;

			free(copy);
			copy = same;
		}
	}
}

/* False: it was told. */
static bool survey_mailbox(struct repair_mailbox *mailbox)
{
	int error = mailstore_survey(mailbox->store, mailbox->mailbox->user,
				     mailbox->mailbox->folder, take_surveyed_copy, mailbox);

	if (error == 0 || error == -EOPNOTSUPP)
		return true;
	repair_tell(mailbox, FILING_REPAIR_FAILED, STR(""), "", mailbox->store->error, false);
	return false;
}

/* ---- the rows of the mailbox ---- */

struct page {
	struct repair_mailbox *mailbox;
	struct arena *arena;
	struct repair_row rows[PAGE]; /* to be looked at */
	size_t row_count;
	unsigned messages;
	int64_t last;
};

/* As far as the file's name tells. */
static bool is_in_order(const struct repair_mailbox *mailbox, const struct record_listed *listed,
			const struct record_filing *filing)
{
	char mark[MAILSTORE_MARK_SIZE];
	struct repair_copy *copy;

	mailstore_mark(&(struct mailstore_location){.id = listed->message.id,
						    .digest = listed->message.digest},
		       mark);
	HASH_FIND_STR(mailbox->copies, mark, copy);
	if (copy == NULL)
		return false;
	copy->has_row = true;
	return filing->state == RECORD_FILED && filing->others == 0 && copy->same == NULL &&
	       str_equal(filing->copy, str_from(copy->copy));
}

static const struct record_filing *filing_of(const struct record_listed *listed,
					     const struct record_mailbox *mailbox)
{
	for (size_t i = 0; i < listed->place_count; i++)
		if (str_equal(listed->mailboxes[i].user, mailbox->user) &&
		    str_equal(listed->mailboxes[i].folder, mailbox->folder))
			return &listed->filings[i];
	return NULL; /* it was removed meanwhile */
}

static void take_listed_message(void *context, const struct record_listed *listed)
{
	struct page *page = context;
	const struct record_filing *filing = filing_of(listed, page->mailbox->mailbox);
	struct repair_row *row = &page->rows[page->row_count];

	page->messages++;
	page->last = listed->number;
	if (filing == NULL || is_in_order(page->mailbox, listed, filing))
		return;
	row->filing = filing->number;
	row->id = arena_copy_str(page->arena, listed->message.id);
	memcpy(row->digest, listed->message.digest, sizeof row->digest);
	page->row_count++;
}

static void count_repaired_rows(struct filing_repair *repair, uint64_t rows)
{
	repair->rows += rows;
	repair->progress(repair->context, repair->rows);
}

static int read_page_of_messages(struct page *page)
{
	struct filing_repair *repair = page->mailbox->repair;
	const struct record_query query = {
		.mailbox = page->mailbox->mailbox, .after = page->last, .limit = PAGE};
	int error;

	arena_reset(page->arena);
	page->row_count = 0;
	page->messages = 0;
	error = record_list(repair->record, &query, take_listed_message, page);
	for (size_t i = 0; i < page->row_count && error == 0; i++) {
		error = repair_row(page->mailbox, &page->rows[i]);
		if (i % PROGRESS_EVERY == 0)
			count_repaired_rows(repair, 0);
	}
	count_repaired_rows(repair, page->messages);
	return error;
}

static int repair_rows(struct repair_mailbox *mailbox)
{
	struct page *page = memory_alloc_zero(1, sizeof *page);
	int error;

	page->mailbox = mailbox;
	page->arena = arena_new();
	do
		error = read_page_of_messages(page);
	while (error == 0 && page->messages == PAGE);
	arena_free(page->arena);
	free(page);
	return error;
}

static int repair_copies(struct repair_mailbox *mailbox)
{
	struct repair_copy *copy;
	struct repair_copy *after;
	int error = 0;

	HASH_ITER (hh, mailbox->copies, copy, after) {
		if (error != 0 || copy->has_row)
			continue;
		error = repair_copy(mailbox, copy);
		count_repaired_rows(mailbox->repair, 1);
	}
	return error;
}

int filing_repair_mailbox(struct filing_repair *repair, const struct record_mailbox *mailbox)
{
	struct repair_mailbox repairing = {.repair = repair, .mailbox = mailbox};
	const char *why = "";
	int error = 0;

	repairing.store = repair->store(repair->context, mailbox, &why);
	if (repairing.store == NULL) {
		repair_tell(&repairing, FILING_REPAIR_FAILED, STR(""), "", why, false);
		return 0;
	}
	if (survey_mailbox(&repairing)) {
		error = repair_rows(&repairing);
		if (error == 0)
			error = repair_copies(&repairing);
	}
	free_copies(&repairing);
	return error;
}
