// SPDX-License-Identifier: ISC
/* The course of transactions, and statements for a part of a group. */
#include "filing/record/sql.h"
#include "filing/record/internal.h"
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

void record_sql_init(struct record_sql *sql, const struct record_driver *driver)
{
	sql->base.operations = &driver->operations;
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

int record_sql_begin(struct record *record)
{
	struct record_sql *sql = record_sql_of(record);
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

void record_subset_begin(struct record_subset *subset, struct record_sql *sql,
			 enum record_statement statement, size_t columns, size_t most)
{
	*subset = (struct record_subset){
		.sql = sql,
		.values = arena_alloc(sql->arena, most * columns * sizeof *subset->values),
		.which = arena_alloc(sql->arena, most * sizeof *subset->which),
		.call = {.statement = statement, .columns = columns},
	};
}

struct record_value *record_subset_add(struct record_subset *subset, size_t which)
{
	subset->which[subset->count] = which;
	return subset->values + subset->count++ * subset->call.columns;
}

int record_subset_run(struct record_subset *subset)
{
	struct record_call *call = &subset->call;
	int error = 0;

	if (subset->wants_outcomes)
		subset->outcomes =
			arena_alloc(subset->sql->arena, subset->count * sizeof *subset->outcomes);
	for (subset->done = 0; error == 0 && subset->done < subset->count;
	     subset->done += call->rows) {
		size_t left = subset->count - subset->done;

		call->rows = left < RECORD_BATCH ? left : RECORD_BATCH;
		call->values = subset->values + subset->done * call->columns;
		call->outcomes = subset->wants_outcomes ? subset->outcomes + subset->done : NULL;
		error = record_run(subset->sql, call);
	}
	return error;
}
