// SPDX-License-Identifier: ISC
/* Sets of deliveries, by their numbers. */
#include "base/panic.h"
#include "node/send/internal.h"
#include <stdlib.h>
#include <string.h>

enum { NUMBERS_MAX = 100000 }; /* deliveries of a message */

static int compare_delivery_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *)a;
	uint32_t right = *(const uint32_t *)b;

	return left < right ? -1 : left > right;
}

struct node_numbers node_numbers_of_job(const struct deliver_helper_job *job)
{
	struct node_numbers numbers = {memory_alloc(job->recipient_count * sizeof(uint32_t)),
				       job->recipient_count};

	for (size_t i = 0; i < numbers.count; i++)
		numbers.items[i] = job->recipients[i].number;
	qsort(numbers.items, numbers.count, sizeof *numbers.items, compare_delivery_numbers);
	return numbers;
}

void node_numbers_clear(struct node_numbers *numbers)
{
	free(numbers->items);
	*numbers = (struct node_numbers){0};
}

static bool add_number_range(struct node_numbers *numbers, uint64_t first, uint64_t last)
{
	uint64_t before = numbers->count > 0 ? numbers->items[numbers->count - 1] : 0;

	if (first <= before || last < first || last > UINT32_MAX ||
	    last - first >= NUMBERS_MAX - numbers->count)
		return false;
	numbers->items = memory_resize(numbers->items, (numbers->count + (last - first) + 1) *
							       sizeof *numbers->items);
	for (uint64_t number = first; number <= last; number++)
		numbers->items[numbers->count++] = (uint32_t)number;
	return true;
}

bool node_numbers_parse(struct str text, struct node_numbers *numbers_out)
{
	struct str range;

	*numbers_out = (struct node_numbers){0};
	while (str_split(&text, ',', &range)) {
		struct str first;
		uint64_t from;
		uint64_t to;

		bool is_range = str_find(range, '-') >= 0;

		(void)str_split(&range, '-', &first);
		if (!str_to_u64(first, &from) || !str_to_u64(is_range ? range : first, &to) ||
		    !add_number_range(numbers_out, from, to)) {
			node_numbers_clear(numbers_out);
			return false;
		}
	}
	return numbers_out->count > 0;
}

static uint32_t *find_number(const struct node_numbers *numbers, uint32_t number)
{
	return numbers->count > 0 ? bsearch(&number, numbers->items, numbers->count,
					    sizeof *numbers->items, compare_delivery_numbers)
				  : NULL;
}

bool node_numbers_have(const struct node_numbers *numbers, uint32_t number)
{
	return numbers->count == 0 || find_number(numbers, number) != NULL;
}

bool node_numbers_remove(struct node_numbers *numbers, uint32_t number)
{
	uint32_t *found = find_number(numbers, number);

	if (found == NULL)
		return false;
	memmove(found, found + 1,
		(size_t)(numbers->items + numbers->count - found - 1) * sizeof *found);
	numbers->count--;
	return numbers->count == 0;
}
