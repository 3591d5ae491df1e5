// SPDX-License-Identifier: ISC
/* Where each copy goes: as was decided when one was filed for the first time, whatever the
 * configuration says since. */
#include "filing/internal.h"
#include <stdio.h>

static bool is_any(const struct filing_work *work)
{
	(void)work;
	return true;
}

static void forget_twins(struct filing_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		for (size_t j = 0; j < items[i].message->copy_count; j++)
			if (!items[i].works[j].is_settled)
				items[i].works[j].twin = NULL;
}

/* The record's texts are gone with the next call. */
static void keep(struct filing_work *work)
{
	struct filing_copy *copy = work->copy;
	struct record_attempt *attempt = &work->attempt;

	if (!str_equal(copy->place.folder, attempt->place.folder)) {
		snprintf(copy->kept_folder, sizeof copy->kept_folder, STR_FORMAT,
			 STR_ARGUMENTS(attempt->place.folder));
		copy->place.folder = str_from(copy->kept_folder);
	}
	if (!str_equal(copy->decision.rule, attempt->decision.rule)) {
		snprintf(copy->kept_rule, sizeof copy->kept_rule, STR_FORMAT,
			 STR_ARGUMENTS(attempt->decision.rule));
		copy->decision.rule = str_from(copy->kept_rule);
	}
	copy->decision.flags = attempt->decision.flags;
	attempt->place = copy->place;
	attempt->decision = copy->decision;
}

static bool is_same_place(const struct record_place *a, const struct record_place *b)
{
	return str_equal(a->user, b->user) && str_equal(a->folder, b->folder);
}

/* A place has one row, so the first copy for it stands for all. */
static void find_twins(struct filing_item *item)
{
	for (size_t i = 1; i < item->message->copy_count; i++) {
		struct filing_work *work = &item->works[i];

		for (size_t j = 0; !work->is_settled && j < i && work->twin == NULL; j++)
			if (!item->works[j].is_settled && item->works[j].twin == NULL &&
			    is_same_place(&item->works[j].copy->place, &work->copy->place))
				work->twin = &item->works[j];
		if (work->twin != NULL)
			work->step = FILING_STEP_DONE;
	}
}

int filing_decide(const struct filing *filing, struct filing_item *items, size_t count)
{
	struct filing_some some CLEANUP(filing_some_clear);
	int error;

	forget_twins(items, count);
	filing_some_choose(&some, items, count, is_any);
	error = record_decide_all(filing->record, some.attempts, some.count);
	for (size_t i = 0; error == 0 && i < some.count; i++)
		keep(some.works[i]);
	for (size_t i = 0; error == 0 && i < count; i++)
		find_twins(&items[i]);
	return error;
}
