// SPDX-License-Identifier: ISC
/* Where each copy goes: as was decided when one was filed for the first time, whatever the
 * configuration says since. */
#include "base/timestamp.h"
#include "filing/internal.h"
#include "os/clock.h"
#include <stdio.h>

static bool is_any_work(const struct filing_work *work)
{
	(void)work;
	return true;
}

static void forget_duplicates(struct filing_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < items[i].message->copy_count; j++)
			if (!items[i].works[j].is_settled)
				items[i].works[j].duplicate = NULL;
}

/* The record's texts are gone with the next call. */
static void keep_decision(struct filing_work *work)
{
	struct filing_copy *copy = work->copy;
	struct record_attempt *attempt = &work->attempt;

	if (!str_equal(copy->mailbox.folder, attempt->mailbox.folder)) {
		snprintf(copy->kept_folder, sizeof copy->kept_folder, STR_FORMAT,
			 STR_ARGUMENTS(attempt->mailbox.folder));
		copy->mailbox.folder = str_from(copy->kept_folder);
	}
	if (!str_equal(copy->decision.rule, attempt->decision.rule)) {
		snprintf(copy->kept_rule, sizeof copy->kept_rule, STR_FORMAT,
			 STR_ARGUMENTS(attempt->decision.rule));
		copy->decision.rule = str_from(copy->kept_rule);
	}
	copy->decision.flags = attempt->decision.flags;
	attempt->mailbox = copy->mailbox;
	attempt->decision = copy->decision;
}

static bool is_same_place(const struct record_mailbox *a, const struct record_mailbox *b)
{
	return str_equal(a->user, b->user) && str_equal(a->folder, b->folder);
}

/* A mailbox has one row, so the first copy for it stands for all. */
static void find_duplicates(struct filing_item *item)
{
	for (size_t i = 1; i < item->message->copy_count; i++) {
		struct filing_work *work = &item->works[i];

		for (size_t j = 0; !work->is_settled && j < i && work->duplicate == NULL; j++)
			if (!item->works[j].is_settled && item->works[j].duplicate == NULL &&
			    is_same_place(&item->works[j].copy->mailbox, &work->copy->mailbox))
				work->duplicate = &item->works[j];
		if (work->duplicate != NULL)
			work->step = FILING_STEP_DONE;
	}
}

/* Folders that others of the group are going to make for the user of WORK. */
static unsigned count_choices(const struct filing_subset *subset, const struct filing_work *work)
{
	unsigned count = 0;

	for (size_t i = 0; i < subset->count && subset->works[i] != work; i++)
		if (subset->works[i]->is_new_choice &&
		    str_equal(subset->works[i]->attempt.mailbox.user, work->attempt.mailbox.user) &&
		    !str_equal(subset->works[i]->attempt.mailbox.folder,
			       work->attempt.mailbox.folder))
			count++;
	return count;
}

static bool is_choice(const struct filing_work *work)
{
	return work->copy->is_choice && work->copy->other_folder.length > 0 &&
	       !str_equal(work->copy->other_folder, work->attempt.mailbox.folder);
}

/* Anybody can write to user+anything: beyond some a day that makes no folders any more. */
static int limit_choices(const struct filing *filing, const struct filing_subset *subset)
{
	int64_t since_us = os_clock_wall_us() - DAY_US;

	for (size_t i = 0; i < subset->count; i++) {
		struct filing_work *work = subset->works[i];
		unsigned count = 0;
		int is_known;

		work->is_new_choice = work->is_limited = false;
		if (!is_choice(work))
			continue;
		is_known = record_new_folders(filing->record, &work->attempt.mailbox, since_us,
					      &count);
		if (is_known < 0)
			return is_known;
		work->is_limited = is_known == 0 &&
				   count + count_choices(subset, work) >= FILING_FOLDERS_A_DAY;
		work->is_new_choice = is_known == 0 && !work->is_limited;
		if (work->is_limited)
			work->attempt.mailbox.folder = work->copy->other_folder;
	}
	return 0;
}

/* Unless it was decided before. */
static void tell_of_limit(const struct filing *filing, const struct filing_work *work)
{
	char text[80];

	snprintf(text, sizeof text, "%d folders of this mailbox were made by mail within a day",
		 FILING_FOLDERS_A_DAY);
	filing_tell(filing, FILING_MOVED, work, text);
}

int filing_decide(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_subset subset CLEANUP(filing_subset_clear);
	int error;

	forget_duplicates(items, count);
	filing_subset_choose(&subset, items, count, is_any_work);
	error = limit_choices(filing, &subset);
	if (error == 0)
		error = record_decide_all(filing->record, subset.attempts, subset.count);
	for (size_t i = 0; error == 0 && i < subset.count; i++) {
		struct filing_work *work = subset.works[i];

		if (work->is_limited &&
		    str_equal(work->attempt.mailbox.folder, work->copy->other_folder))
			tell_of_limit(filing, work);
		keep_decision(work);
	}
	for (size_t i = 0; error == 0 && i < count; i++)
		find_duplicates(&items[i]);
	return error;
}
