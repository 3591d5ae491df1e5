// SPDX-License-Identifier: ISC
/* In which folder a copy is filed: whoever decides first decides for all. */
#include "filing/record/internal.h"
#include <errno.h>

/* A group of attempts whose decisions are looked for. */
struct decisions {
	struct record_subset subset; /* whose rows are taken */
	struct record_sql *sql;
	struct record_attempt **attempts;
	size_t count;
	bool *is_known; /* of each: there is a row, which the attempt has */
};

static void take_decision_row(void *context, const struct record_value *values, size_t count)
{
	struct decisions *decisions = context;
	size_t at = record_subset_at(&decisions->subset);
	struct record_attempt *attempt = decisions->attempts[at];

	(void)count;
	attempt->mailbox.folder = record_keep(decisions->sql, &values[0]);
	attempt->decision.rule = record_keep(decisions->sql, &values[1]);
	attempt->decision.flags = (unsigned)values[2].number;
	decisions->is_known[at] = true;
}

static struct record_value text_value_of_decision(struct str text)
{
	return (struct record_value){.kind = RECORD_TEXT, .bytes = text};
}

static void set_key_of_decision(const struct record_attempt *attempt, struct record_value *values)
{
	values[0] = record_number(attempt->message);
	values[1] = text_value_of_decision(attempt->mailbox.user);
	values[2] = text_value_of_decision(attempt->decision.purpose);
}

/* Of those that are not known; new messages have none. */
static int find_decisions(struct decisions *decisions, bool of_new)
{
	record_subset_begin(&decisions->subset, decisions->sql, RECORD_DECISION_FIND, 3,
			    decisions->count);
	decisions->subset.call.row = take_decision_row;
	decisions->subset.call.context = decisions;
	for (size_t i = 0; i < decisions->count; i++)
		if (!decisions->is_known[i] && (of_new || !decisions->attempts[i]->is_new))
			set_key_of_decision(decisions->attempts[i],
					    record_subset_add(&decisions->subset, i));
	return record_subset_run(&decisions->subset);
}

static int insert_decisions(struct decisions *decisions)
{
	struct record_subset subset;
	int error;

	record_subset_begin(&subset, decisions->sql, RECORD_DECISION_INSERT, 6, decisions->count);
	for (size_t i = 0; i < decisions->count; i++) {
		const struct record_attempt *attempt = decisions->attempts[i];
		struct record_value *values;

		if (decisions->is_known[i])
			continue;
		/* nobody else can have decided about what only we can see yet */
		subset.wants_outcomes |= !attempt->is_new;
		values = record_subset_add(&subset, i);
		set_key_of_decision(attempt, values);
		values[3] = text_value_of_decision(attempt->mailbox.folder);
		values[4] = text_value_of_decision(attempt->decision.rule);
		values[5] = record_number(attempt->decision.flags);
	}
	error = record_subset_run(&subset);
	for (size_t i = 0; error == 0 && i < subset.count; i++)
		decisions->is_known[subset.which[i]] =
			!subset.wants_outcomes || subset.outcomes[i].changed > 0;
	return error;
}

static bool all_are_known(const struct decisions *decisions)
{
	for (size_t i = 0; i < decisions->count; i++)
		if (!decisions->is_known[i])
			return false;
	return true;
}

static bool are_valid_decisions(struct record_attempt **attempts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct record_attempt *attempt = attempts[i];

		if (!record_text_is_valid(attempt->mailbox.user, RECORD_ADDRESS_MAX) ||
		    !record_text_is_valid(attempt->mailbox.folder, RECORD_FOLDER_MAX) ||
		    !record_text_is_valid(attempt->decision.purpose, RECORD_PURPOSE_MAX) ||
		    !record_text_is_valid(attempt->decision.rule, RECORD_RULE_MAX))
			return false;
	}
	return true;
}

int record_sql_decide(struct record *record, struct record_attempt **attempts, size_t count)
{
	struct record_sql *sql = record_sql_of(record);
	struct decisions decisions = {.sql = sql, .attempts = attempts, .count = count};
	int error = record_sql_check(sql);

	if (error != 0)
		return error;
	if (!are_valid_decisions(attempts, count))
		return -EINVAL;
	arena_reset(sql->arena);
	decisions.is_known = arena_alloc(sql->arena, count * sizeof *decisions.is_known);
	memset(decisions.is_known, 0, count * sizeof *decisions.is_known);
	error = find_decisions(&decisions, false);
	if (error == 0 && !all_are_known(&decisions))
		error = insert_decisions(&decisions);
	/* without the lock another one may have been faster */
	if (error == 0 && !all_are_known(&decisions))
		error = find_decisions(&decisions, true);
	if (error == 0 && !all_are_known(&decisions))
		return record_sql_fail(sql, -EDEADLK, "a decision was neither there nor new");
	return error;
}

int record_sql_move(struct record *record, struct record_attempt **attempts, size_t count)
{
	struct record_sql *sql = record_sql_of(record);
	struct record_subset subset;
	int error = record_sql_check(sql);

	if (error != 0)
		return error;
	if (!are_valid_decisions(attempts, count))
		return -EINVAL;
	arena_reset(sql->arena);
	record_subset_begin(&subset, sql, RECORD_DECISION_MOVE, 4, count);
	for (size_t i = 0; i < count; i++) {
		struct record_value *values = record_subset_add(&subset, i);

		set_key_of_decision(attempts[i], values);
		values[3] = text_value_of_decision(attempts[i]->mailbox.folder);
	}
	return record_subset_run(&subset);
}
