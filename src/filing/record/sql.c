// SPDX-License-Identifier: ISC
/* The course of transactions, and statements for a part of a group. */
#include "filing/record/sql.h"
#include "filing/record/internal.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void record_sql_init(struct record_sql *sql, const struct record_operations *operations,
		     const struct record_driver *driver)
{
	sql->base.operations = operations;
	sql->driver = driver;
	sql->arena = arena_new();
}

void record_sql_clear(struct record_sql *sql)
{
	arena_free(sql->arena);
}

int record_sql_fail(struct record_sql *sql, int error, const char *format, ...)
{
	va_list arguments;

	if (sql->failed != 0)
		return sql->failed; /* what follows from the first failure says less */
	va_start(arguments, format);
	vsnprintf(sql->base.error, sizeof sql->base.error, format, arguments);
	va_end(arguments);
	for (char *at = sql->base.error; *at != '\0'; at++)
		if ((unsigned char)*at < ' ' || *at == 0x7f)
			*at = ' ';
	sql->failed = error;
	return error;
}

int record_sql_begin(struct record_sql *sql)
{
	int error;

	sql->failed = 0;
	sql->is_begun = false;
	error = sql->driver->connect(sql);
	sql->is_begun = true;
	return error;
}

void record_sql_ended(struct record_sql *sql)
{
	sql->is_begun = false;
	sql->failed = 0;
}

int record_sql_check(const struct record_sql *sql)
{
	if (sql->failed != 0)
		return sql->failed;
	return sql->is_begun ? 0 : -EINVAL;
}

int record_run(struct record_sql *sql, struct record_call *call)
{
	return sql->failed != 0 ? sql->failed : sql->driver->run(sql, call);
}

struct str record_keep(struct record_sql *sql, const struct record_value *value)
{
	return arena_copy_str(sql->arena, value->bytes);
}

enum record_state record_state_of(const struct record_value *value)
{
	return str_equal(value->bytes, STR("filed")) ? RECORD_FILED : RECORD_FILING;
}

/* ---- of a group ---- */

void record_some_begin(struct record_some *some, struct record_sql *sql,
		       enum record_statement statement, size_t columns, size_t most)
{
	*some = (struct record_some){
		.sql = sql,
		.values = arena_alloc(sql->arena, most * columns * sizeof *some->values),
		.which = arena_alloc(sql->arena, most * sizeof *some->which),
		.call = {.statement = statement, .columns = columns},
	};
}

struct record_value *record_some_add(struct record_some *some, size_t which)
{
	some->which[some->count] = which;
	return some->values + some->count++ * some->call.columns;
}

int record_some_run(struct record_some *some)
{
	struct record_call *call = &some->call;
	int error = 0;

	if (some->wants_outcomes)
		some->outcomes =
			arena_alloc(some->sql->arena, some->count * sizeof *some->outcomes);
	for (some->done = 0; error == 0 && some->done < some->count; some->done += call->rows) {
		size_t left = some->count - some->done;

		call->rows = left < RECORD_BATCH ? left : RECORD_BATCH;
		call->values = some->values + some->done * call->columns;
		call->outcomes = some->wants_outcomes ? some->outcomes + some->done : NULL;
		error = record_run(some->sql, call);
	}
	return error;
}
