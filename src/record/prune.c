// SPDX-License-Identifier: ISC
/* Removes old messages: in a transaction of its own for all that it removes at once. */
#include "base/panic.h"
#include "record/internal.h"
#include <stdlib.h>

struct chosen {
	int64_t *numbers;
	size_t count, limit;
};

static void take_chosen(void *context, const struct record_value *values, size_t count)
{
	struct chosen *chosen = context;

	(void)count;
	if (chosen->count < chosen->limit)
		chosen->numbers[chosen->count++] = values[0].number;
}

static int choose(struct record_sql *sql, int64_t before_us, struct chosen *chosen)
{
	const struct record_value values[] = {record_number(before_us),
					      record_number((int64_t)chosen->limit)};
	struct record_call call = RECORD_CALL(RECORD_PRUNE_FIND, values);

	call.row = take_chosen;
	call.context = chosen;
	return record_run(sql, &call);
}

/* Participants, parts and filings go with it. */
static int remove_chosen(struct record_sql *sql, const struct chosen *chosen, unsigned *count_out)
{
	int error = 0;

	for (size_t i = 0; i < chosen->count && error == 0; i++) {
		const struct record_value values[] = {record_number(chosen->numbers[i])};
		struct record_call call = RECORD_CALL(RECORD_PRUNE_REMOVE, values);

		struct record_outcome outcome = {0};

		call.outcomes = &outcome;
		error = record_run(sql, &call);
		*count_out += error == 0 && outcome.changed > 0;
	}
	return error;
}

int record_sql_prune(struct record *record, int64_t before_us, unsigned limit, unsigned *count_out)
{
	struct record_sql *sql = record_sql_of(record);
	struct chosen chosen = {memory_alloc_zero(limit, sizeof *chosen.numbers), 0, limit};
	unsigned count = 0;
	int error = record_begin(record);

	if (error == 0)
		error = choose(sql, before_us, &chosen);
	if (error == 0)
		error = remove_chosen(sql, &chosen, &count);
	if (error == 0)
		error = record_commit(record);
	if (error < 0)
		record_rollback(record);
	else
		*count_out = count;
	free(chosen.numbers);
	return error;
}
