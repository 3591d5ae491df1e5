// SPDX-License-Identifier: ISC
/*
 * A copy whose folder the store refuses goes to another one. That is decided in the record, under
 * the lock and before anything is appended there: whoever tries again, here or on another machine,
 * does so in the other folder, too, whatever has become of the first one by then.
 */
#include "base/panic.h"
#include "filing/internal.h"
#include <stdlib.h>

/* Also of a duplicate, which has a decision of its own. */
static bool is_moved(const struct filing_work *work)
{
	const struct filing_work *first = work->duplicate != NULL ? work->duplicate : work;

	return !work->is_settled && first->step == FILING_STEP_REFUSED &&
	       work->copy->other_folder.length > 0;
}

static int move_item(const struct filing *filing, struct filing_item *item)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < item->message->copy_count; i++) {
		struct filing_work *work = &item->works[i];
		struct record_attempt moved = work->attempt;
		struct record_attempt *one = &moved;

		if (!is_moved(work))
			continue;
		moved.mailbox.folder = work->copy->other_folder;
		error = record_move_all(filing->record, &one, 1);
		if (error == 0 && work->duplicate == NULL)
			error = record_unfile(filing->record, work->attempt.row.number);
	}
	return error;
}

int filing_move(const struct filing *filing, struct filing_item *items, size_t count)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < count; i++)
		if (items[i].has_lock)
			error = move_item(filing, &items[i]);
	return error;
}

/* A duplicate without another folder is refused with the first one. */
static void settle_refused_copy(struct filing_work *work)
{
	if (!work->is_settled && work->duplicate != NULL &&
	    work->duplicate->step == FILING_STEP_REFUSED) {
		work->copy->verdict = work->duplicate->copy->verdict;
		work->duplicate = NULL;
		work->step = FILING_STEP_FAILED;
	}
	work->is_settled = true;
}

/* Whether ITEM has a copy to be filed elsewhere. */
static bool begin_again(const struct filing *filing, struct filing_item *item)
{
	bool has_any = false;

	/* duplicates last: they show by the first one that they are moved */
	for (size_t i = item->message->copy_count; i-- > 0;) {
		struct filing_work *work = &item->works[i];

		if (!is_moved(work)) {
			settle_refused_copy(work);
			continue;
		}
		has_any = true;
		if (work->duplicate == NULL)
			filing_tell(filing, FILING_MOVED, work, work->copy->verdict.text);
		filing_copy_moved(work);
	}
	return has_any;
}

static bool has_moved_copy(const struct filing_item *item)
{
	for (size_t i = 0; !item->message->is_busy && i < item->message->copy_count; i++)
		if (is_moved(&item->works[i]))
			return true;
	return false;
}

size_t filing_moved(const struct filing *filing, struct filing_item *items, size_t count,
		    struct filing_item *again_out)
{
	size_t used = 0;

	for (size_t i = 0; i < count; i++)
		if (has_moved_copy(&items[i]) && begin_again(filing, &items[i]))
			again_out[used++] = items[i];
	return used;
}
