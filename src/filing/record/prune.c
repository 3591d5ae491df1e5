// SPDX-License-Identifier: ISC
/*
 * Removes old messages: in a transaction of its own for all that it removes at once, each under the
 * lock of its Message-ID. Without it, whoever has just opened a filing of an old message could lose
 * the row, and with it the sign of doubt, after it was looked at.
 */
#include "base/panic.h"
#include "filing/record/internal.h"
#include <stdlib.h>

struct chosen {
	int64_t before_us;
	int64_t *numbers;
	struct lock_name *names;
	struct record_turn *turns;
	size_t count, limit;
};

static void chosen_init(struct chosen *chosen, int64_t before_us, size_t limit)
{
	*chosen = (struct chosen){
		.before_us = before_us,
		.numbers = memory_alloc_zero(limit, sizeof *chosen->numbers),
		.names = memory_alloc_zero(limit, sizeof *chosen->names),
		.turns = memory_alloc_zero(limit, sizeof *chosen->turns),
		.limit = limit,
	};
}

static void chosen_clear(struct chosen *chosen)
{
	free(chosen->numbers);
	free(chosen->names);
	free(chosen->turns);
}

static void take_chosen(void *context, const struct record_value *values, size_t count)
{
	struct chosen *chosen = context;
	struct lock_name *name = &chosen->names[chosen->count];

	(void)count;
	if (chosen->count == chosen->limit)
		return;
	lock_name_make(values[1].bytes, name);
	chosen->turns[chosen->count].name = name;
	chosen->numbers[chosen->count++] = values[0].number;
}

static int choose_messages_to_prune(struct record_sql *sql, struct chosen *chosen)
{
	const struct record_value values[] = {record_number(chosen->before_us),
					      record_number((int64_t)chosen->limit)};
	struct record_call call = RECORD_CALL(RECORD_PRUNE_FIND, values);

	call.row = take_chosen;
	call.context = chosen;
	return record_run(sql, &call);
}

/* Those whose lock no other one has; the statement looks again whether they are still to be
 * removed. Participants, parts and filings go with them. */
static int remove_chosen(struct record_sql *sql, const struct chosen *chosen, unsigned *count_out)
{
	struct record_subset subset;
	int error;

	arena_reset(sql->arena);
	record_subset_begin(&subset, sql, RECORD_PRUNE_REMOVE, 2, chosen->count);
	subset.wants_outcomes = true;
	for (size_t i = 0; i < chosen->count; i++) {
		struct record_value *values;

		if (!chosen->turns[i].is_taken)
			continue;
		values = record_subset_add(&subset, i);
		values[0] = record_number(chosen->numbers[i]);
		values[1] = record_number(chosen->before_us);
	}
	error = record_subset_run(&subset);
	for (size_t i = 0; error == 0 && i < subset.count; i++)
		*count_out += subset.outcomes[i].changed > 0;
	return error;
}

int record_sql_prune(struct record *record, int64_t before_us, unsigned limit, unsigned *count_out)
{
	struct record_sql *sql = record_sql_of(record);
	struct chosen chosen CLEANUP(chosen_clear);
	unsigned count = 0;
	int error = record_begin(record);

	chosen_init(&chosen, before_us, limit);
	if (error == 0)
		error = choose_messages_to_prune(sql, &chosen);
	if (error == 0)
		error = record_lock_all(record, chosen.turns, chosen.count);
	if (error == 0)
		error = remove_chosen(sql, &chosen, &count);
	if (error == 0)
		error = record_commit(record);
	if (error < 0)
		record_rollback(record);
	else
		*count_out = count;
	return error;
}
