// SPDX-License-Identifier: ISC
#include "filing/copy.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_copy_name(struct filing_work *work, struct str copy)
{
	snprintf(work->kept, sizeof work->kept, "%.*s", (int)copy.length, copy.data);
}

static bool is_doubtful_filing(const struct filing_work *work, const struct record_filing *row)
{
	return row->others > 0 || work->message->is_in_doubt;
}

void filing_copy_opened(struct filing_work *work)
{
	const struct record_filing *row = &work->attempt.row;

	work->was_filed = row->state == RECORD_FILED;
	work->step = work->was_filed && !is_doubtful_filing(work, row) ? FILING_STEP_DONE
								       : FILING_STEP_OPEN;
}

void filing_copy_looked(struct filing_work *work)
{
	const struct record_filing *row = &work->attempt.row;

	work->was_filed = row->state == RECORD_FILED;
	work->last_us = row->last_us;
	work->was_searched = false;
	if (work->was_filed)
		keep_copy_name(work, row->copy);
	if (!row->is_ours && !work->was_filed)
		work->step = FILING_STEP_EARLY; /* a crash now would leave no doubt */
	else if (is_doubtful_filing(work, row))
		work->step = FILING_STEP_DOUBT;
	else
		work->step = work->was_filed ? FILING_STEP_MARK : FILING_STEP_APPEND;
}

bool filing_copy_is_early(struct filing_work *work, int64_t now_us, int64_t append_max_us)
{
	int64_t age_us = now_us - work->last_us;

	/* one that began far in the future has a wrong clock: that must not hold up mail */
	if (work->step != FILING_STEP_DOUBT || llabs(age_us) >= append_max_us)
		return false;
	work->step = FILING_STEP_EARLY;
	return true;
}

void filing_copy_searched(struct filing_work *work, const struct mailstore_found *found,
			  size_t count)
{
	bool is_there = false;

	if (work->was_filed) { /* its reader may have removed it since */
		for (size_t i = 0; i < count; i++)
			is_there = is_there || strcmp(found[i].copy, work->kept) == 0;
		if (!is_there && count > 0)
			keep_copy_name(work, str_from(found[0].copy));
		work->step = FILING_STEP_MARK;
		return;
	}
	if (count > 0)
		keep_copy_name(work, str_from(found[0].copy));
	work->step = count > 0 ? FILING_STEP_MARK : FILING_STEP_APPEND;
}

static bool has_other_folder(const struct filing_copy *copy)
{
	return copy->other_folder.length > 0 &&
	       !str_equal(copy->other_folder, copy->mailbox.folder);
}

void filing_copy_appended(struct filing_work *work, const struct mailstore_append *append)
{
	work->copy->verdict = append->verdict;
	if (append->verdict.class == MAIL_OK) {
		keep_copy_name(work, str_from(append->copy));
		work->step = FILING_STEP_MARK;
	} else if (append->is_unknown) {
		work->step = FILING_STEP_LOST;
	} else {
		work->step = append->is_refused && has_other_folder(work->copy)
				     ? FILING_STEP_REFUSED
				     : FILING_STEP_FAILED;
	}
}

void filing_copy_moved(struct filing_work *work)
{
	work->copy->mailbox.folder = work->copy->other_folder;
	work->copy->other_folder = STR("");
	work->attempt.mailbox = work->copy->mailbox;
	work->duplicate = NULL;
	work->step = FILING_STEP_OPENING;
	work->is_told = false;
	work->was_appended = false;
}
