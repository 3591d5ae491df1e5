// SPDX-License-Identifier: ISC
/* Some of a group's copies. */
#include "base/panic.h"
#include "filing/internal.h"
#include <stdlib.h>

void filing_some_choose(struct filing_some *some, const struct filing_item *items, size_t count,
			bool (*wanted)(const struct filing_work *work))
{
	size_t most = 1;

	for (size_t i = 0; i < count; i++)
		most += items[i].message->copy_count;
	some->works = memory_alloc_zero(most, sizeof *some->works);
	some->attempts = memory_alloc_zero(most, sizeof *some->attempts);
	some->count = 0;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; items[i].has_lock && j < items[i].message->copy_count; j++) {
			struct filing_work *work = &items[i].works[j];

			if (work->is_settled || work->twin != NULL || !wanted(work))
				continue;
			some->works[some->count] = work;
			some->attempts[some->count++] = &work->attempt;
		}
	}
}

void filing_some_clear(struct filing_some *some)
{
	free(some->works);
	free(some->attempts);
}
