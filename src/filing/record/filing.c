// SPDX-License-Identifier: ISC
/* Rows of message and mailbox, and the attempts noted at them. */
#include "filing/record/internal.h"
#include <errno.h>
#include <stdio.h>

/* Columns of RECORD_FILING_FIND and RECORD_FILING_LOOK. */
enum { NUMBER, STATE, COPY, FILED_US, TOKEN, BEGAN_US, MAILBOX };

/* A group of attempts that is opened or looked at. */
struct look {
	struct record_subset subset; /* whose rows are taken */
	struct record_sql *sql;
	struct record_attempt **attempts;
	size_t count;
	int64_t *mailboxes; /* of each; 0: it is not there */
	bool *is_seen;      /* of each: its row is there */
};

static void take_attempt_of_filing(struct record_attempt *attempt,
				   const struct record_value *values)
{
	struct record_filing *row = &attempt->row;

	if (values[TOKEN].kind == RECORD_NULL)
		return;
	if (str_equal(values[TOKEN].bytes,
		      str_slice((const char *)attempt->token.bytes, sizeof attempt->token.bytes))) {
		row->is_ours = true;
		return;
	}
	row->others++;
	if (values[BEGAN_US].number > row->last_us)
		row->last_us = values[BEGAN_US].number;
}

static void take_filing_row(void *context, const struct record_value *values, size_t count)
{
	struct look *look = context;
	size_t at = record_subset_at(&look->subset);
	struct record_attempt *attempt = look->attempts[at];

	(void)count;
	look->mailboxes[at] = values[MAILBOX].number;
	if (values[NUMBER].kind == RECORD_NULL)
		return;
	if (!look->is_seen[at])
		attempt->row = (struct record_filing){
			.number = values[NUMBER].number,
			.state = record_state_of(&values[STATE]),
			.copy = record_keep(look->sql, &values[COPY]),
			.filed_us = values[FILED_US].number,
		};
	look->is_seen[at] = true;
	take_attempt_of_filing(attempt, values);
}

static void begin_look_at_filings(struct look *look, struct record *record,
				  struct record_attempt **attempts, size_t count)
{
	struct record_sql *sql = record_sql_of(record);

	arena_reset(sql->arena);
	*look = (struct look){
		.sql = sql,
		.attempts = attempts,
		.count = count,
		.mailboxes = arena_alloc(sql->arena, count * sizeof *look->mailboxes),
		.is_seen = arena_alloc(sql->arena, count * sizeof *look->is_seen),
	};
	memset(look->mailboxes, 0, count * sizeof *look->mailboxes);
	memset(look->is_seen, 0, count * sizeof *look->is_seen);
}

/* Rows of STATEMENT come to take_filing_row(). */
static void begin_rows(struct look *look, enum record_statement statement, size_t columns)
{
	record_subset_begin(&look->subset, look->sql, statement, columns, look->count);
	look->subset.call.row = take_filing_row;
	look->subset.call.context = look;
}

/* Of those that are not seen yet. */
static int find_filings(struct look *look)
{
	begin_rows(look, RECORD_FILING_FIND, 3);
	for (size_t i = 0; i < look->count; i++) {
		const struct record_attempt *attempt = look->attempts[i];
		struct record_value *values;

		if (look->is_seen[i])
			continue;
		values = record_subset_add(&look->subset, i);
		values[0] = record_number(attempt->message);
		values[1] =
			(struct record_value){.kind = RECORD_TEXT, .bytes = attempt->mailbox.user};
		values[2] = (struct record_value){.kind = RECORD_TEXT,
						  .bytes = attempt->mailbox.folder};
	}
	return record_subset_run(&look->subset);
}

/* The rows that are missing. */
static int make_rows(struct look *look, int64_t now_us)
{
	struct record_subset subset;
	int error = record_mailboxes_make(look->sql, look->attempts, look->count, look->mailboxes);

	record_subset_begin(&subset, look->sql, RECORD_FILING_INSERT, 3, look->count);
	subset.wants_outcomes = true;
	for (size_t i = 0; i < look->count; i++) {
		struct record_value *values;

		if (look->is_seen[i])
			continue;
		values = record_subset_add(&subset, i);
		values[0] = record_number(look->attempts[i]->message);
		values[1] = record_number(look->mailboxes[i]);
		values[2] = record_number(now_us);
	}
	if (error == 0)
		error = record_subset_run(&subset);
	for (size_t i = 0; error == 0 && i < subset.count; i++) {
		int64_t number = subset.outcomes[i].inserted;

		look->attempts[subset.which[i]]->row =
			(struct record_filing){.number = number, .is_new = true};
		look->is_seen[subset.which[i]] = number != 0;
	}
	return error;
}

static bool all_are_seen(const struct look *look)
{
	for (size_t i = 0; i < look->count; i++)
		if (!look->is_seen[i])
			return false;
	return true;
}

static int find_or_make(struct look *look, int64_t now_us)
{
	int error = find_filings(look);

	if (error == 0 && !all_are_seen(look))
		error = make_rows(look, now_us);
	/* without the lock another one may have been faster */
	if (error == 0 && !all_are_seen(look))
		error = find_filings(look);
	if (error == 0 && !all_are_seen(look))
		return record_sql_fail(look->sql, -EDEADLK, "a filing was neither there nor new");
	return error;
}

static bool is_filing_settled(const struct record_filing *row)
{
	return row->state == RECORD_FILED && row->others == 0;
}

static void set_attempt(const struct record_attempt *attempt, struct record_value *values)
{
	values[0] = record_number(attempt->row.number);
	values[1] = record_bytes(attempt->token.bytes, sizeof attempt->token.bytes);
}

static int insert_attempts(const struct look *look, int64_t now_us)
{
	struct record_subset subset;
	int error;

	record_subset_begin(&subset, look->sql, RECORD_ATTEMPT_INSERT, 3, look->count);
	for (size_t i = 0; i < look->count; i++) {
		const struct record_attempt *attempt = look->attempts[i];
		struct record_value *values;

		if (attempt->row.is_ours || is_filing_settled(&attempt->row))
			continue;
		values = record_subset_add(&subset, i);
		set_attempt(attempt, values);
		values[2] = record_number(now_us);
	}
	error = record_subset_run(&subset);
	for (size_t i = 0; error == 0 && i < subset.count; i++)
		look->attempts[subset.which[i]]->row.is_ours = true;
	return error;
}

static bool are_valid_filings(struct record_attempt **attempts, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct record_mailbox *mailbox = &attempts[i]->mailbox;

		if (!record_text_is_valid(mailbox->user, RECORD_ADDRESS_MAX) ||
		    !record_text_is_valid(mailbox->folder, RECORD_FOLDER_MAX))
			return false;
	}
	return true;
}

int record_sql_open(struct record *record, struct record_attempt **attempts, size_t count,
		    int64_t now_us)
{
	struct look look;
	int error = record_sql_check(record_sql_of(record));

	if (error != 0)
		return error;
	if (!are_valid_filings(attempts, count))
		return -EINVAL;
	begin_look_at_filings(&look, record, attempts, count);
	error = find_or_make(&look, now_us);
	return error == 0 ? insert_attempts(&look, now_us) : error;
}

/* The transaction goes on; whoever gives up says so. */
static int say_removed(struct record_sql *sql)
{
	snprintf(sql->base.error, sizeof sql->base.error, "the filing was removed meanwhile");
	return -ENOENT;
}

int record_sql_look(struct record *record, struct record_attempt **attempts, size_t count)
{
	struct record_sql *sql = record_sql_of(record);
	struct look look;
	int error = record_sql_check(sql);

	if (error != 0)
		return error;
	begin_look_at_filings(&look, record, attempts, count);
	begin_rows(&look, RECORD_FILING_LOOK, 1);
	for (size_t i = 0; i < count; i++)
		*record_subset_add(&look.subset, i) = record_number(attempts[i]->row.number);
	error = record_subset_run(&look.subset);
	return error == 0 && !all_are_seen(&look) ? say_removed(sql) : error;
}

int record_sql_end(struct record *record, struct record_attempt **attempts, size_t count)
{
	struct record_sql *sql = record_sql_of(record);
	struct record_subset subset;
	int error = record_sql_check(sql);

	if (error != 0)
		return error;
	record_subset_begin(&subset, sql, RECORD_ATTEMPT_REMOVE, 2, count);
	for (size_t i = 0; i < count; i++)
		set_attempt(attempts[i], record_subset_add(&subset, i));
	return record_subset_run(&subset);
}

int record_sql_filed(struct record *record, struct record_attempt **attempts, size_t count,
		     int64_t now_us)
{
	struct record_sql *sql = record_sql_of(record);
	struct record_subset subset;
	int error = record_sql_check(sql);

	if (error != 0)
		return error;
	record_subset_begin(&subset, sql, RECORD_FILING_FILED, 3, count);
	subset.wants_outcomes = true;
	for (size_t i = 0; i < count; i++) {
		struct record_value *values = record_subset_add(&subset, i);

		values[0] = record_number(attempts[i]->row.number);
		values[1] = record_text(attempts[i]->copy, RECORD_COPY_MAX, sql->arena);
		values[2] = record_number(now_us);
	}
	error = record_subset_run(&subset);
	for (size_t i = 0; error == 0 && i < count; i++)
		if (subset.outcomes[i].changed == 0)
			return say_removed(sql);
	return error == 0 ? record_sql_end(record, attempts, count) : error;
}

int record_sql_settle(struct record *record, int64_t filing, int64_t before_us)
{
	struct record_sql *sql = record_sql_of(record);
	const struct record_value values[] = {record_number(filing), record_number(before_us)};
	struct record_call call = RECORD_CALL(RECORD_ATTEMPT_SETTLE, values);
	int error = record_sql_check(sql);

	return error == 0 ? record_run(sql, &call) : error;
}

int record_sql_unfile(struct record *record, int64_t filing)
{
	struct record_sql *sql = record_sql_of(record);
	const struct record_value values[] = {record_number(filing)};
	struct record_call call = RECORD_CALL(RECORD_FILING_REMOVE, values);
	int error = record_sql_check(sql);

	return error == 0 ? record_run(sql, &call) : error;
}
