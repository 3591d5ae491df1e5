// SPDX-License-Identifier: ISC
/* Some of a group's copies. */
#include "base/panic.h"
#include "filing/internal.h"
#include <stdlib.h>

void filing_subset_choose(struct filing_subset *subset, const struct filing_item *items,
			  size_t count, bool (*wanted)(const struct filing_work *work))
{
	size_t most = 1;

	for (size_t i = 0; i < count; i++)
		most += items[i].message->copy_count;
	subset->works = memory_alloc_zero(most, sizeof *subset->works);
	subset->attempts = memory_alloc_zero(most, sizeof *subset->attempts);
	subset->count = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; items[i].has_lock && j < items[i].message->copy_count; j++) {
			struct filing_work *work = &items[i].works[j];

			if (work->is_settled || work->duplicate != NULL || !wanted(work))
				continue;
			subset->works[subset->count] = work;
			subset->attempts[subset->count++] = &work->attempt;
		}
	}
}

void filing_subset_clear(struct filing_subset *subset)
{
	free(subset->works);
	free(subset->attempts);
}
