// SPDX-License-Identifier: ISC
#include "record_tables.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { KEPT_MAX = 128 };

/* A statement that was prepared: in a life the same ones come again and again. */
struct kept {
	sqlite3 *connection; /* NULL: none */
	char *text;
	size_t length;
	sqlite3_stmt *statement;
};

static struct kept kept[KEPT_MAX];
static char folder[SCRATCH_SIZE];
static char path[SCRATCH_SIZE + 20];

void record_tables_begin(void)
{
	assert_int_equal(scratch_make(folder), 0);
	snprintf(path, sizeof path, "%s/tables", folder);
}

void record_tables_end(void)
{
	assert_int_equal(scratch_remove(folder), 0);
}

void record_tables_empty(void)
{
	static const char *const ends[] = {"", "-wal", "-shm"};
	char name[sizeof path + 10];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(name, sizeof name, "%s%s", path, ends[i]);
		(void)unlink(name);
	}
}

sqlite3 *record_tables_connect(void)
{
	sqlite3 *connection;

	assert_int_equal(sqlite3_open(path, &connection), SQLITE_OK);
	assert_int_equal(sqlite3_exec(connection,
				      "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
				      " PRAGMA foreign_keys = ON",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	return connection;
}

static void forget(struct kept *one)
{
	sqlite3_finalize(one->statement);
	free(one->text);
	*one = (struct kept){0};
}

void record_tables_disconnect(sqlite3 *connection)
{
	for (size_t i = 0; i < KEPT_MAX; i++)
		if (kept[i].connection == connection)
			forget(&kept[i]);
	assert_int_equal(sqlite3_close(connection), SQLITE_OK);
}

void record_tables_run_sql(const char *sql)
{
	sqlite3 *connection = record_tables_connect();
	char *error = NULL;

	if (sqlite3_exec(connection, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error);
	record_tables_disconnect(connection);
}

static void translate(const struct record_tables_word *words, struct str text, struct buffer *out)
{
	while (text.length > 0) {
		const struct record_tables_word *word = words;

		while (word->one != NULL && !str_starts_with(text, str_from(word->one)))
			word++;
		buffer_append_str(out, word->one != NULL ? str_from(word->other)
							 : str_slice(text.data, 1));
		text = str_skip(text, word->one != NULL ? strlen(word->one) : 1);
	}
	buffer_append_byte(out, '\0');
}

static void bind_values(sqlite3_stmt *statement, const struct record_value *values, size_t count)
{
	int wanted = sqlite3_bind_parameter_count(statement);

	for (int i = 1; i <= wanted; i++) {
		const char *name = sqlite3_bind_parameter_name(statement, i);
		size_t which = name != NULL ? strtoul(name + 1, NULL, 10) : (size_t)i;
		const struct record_value *value = &values[which - 1];

		if (which == 0 || which > count)
			fail_msg("no value for parameter %zu of %s", which, sqlite3_sql(statement));
		if (value->kind == RECORD_NUMBER)
			sqlite3_bind_int64(statement, i, value->number);
		else if (value->kind == RECORD_TEXT)
			sqlite3_bind_text(statement, i, value->bytes.data, (int)value->bytes.length,
					  SQLITE_STATIC);
		else if (value->kind == RECORD_BYTES)
			sqlite3_bind_blob(statement, i, value->bytes.data, (int)value->bytes.length,
					  SQLITE_STATIC);
	}
}

static struct record_value value_of_column(sqlite3_stmt *statement, int column, struct arena *arena)
{
	int type = sqlite3_column_type(statement, column);
	const char *data;

	if (type == SQLITE_NULL)
		return (struct record_value){.kind = RECORD_NULL};
	if (type == SQLITE_INTEGER)
		return record_number(sqlite3_column_int64(statement, column));
	data = sqlite3_column_blob(statement, column);
	return (struct record_value){
		.kind = RECORD_TEXT,
		.bytes = arena_copy_str(
			arena, str_slice(data != NULL ? data : "",
					 (size_t)sqlite3_column_bytes(statement, column)))};
}

static void add_row(sqlite3_stmt *statement, struct arena *arena, struct buffer *values,
		    struct record_tables_result *out)
{
	for (int i = 0; i < (int)out->columns; i++) {
		struct record_value value = value_of_column(statement, i, arena);

		buffer_append(values, &value, sizeof value);
	}
	out->rows++;
}

/* SQLite's code; *OUT is kept until its connection is closed. */
static int prepare_or_find(sqlite3 *connection, const struct record_tables_word *words,
			   struct str text, sqlite3_stmt **out)
{
	static size_t next;
	struct buffer sql CLEANUP(buffer_clear) = {0};
	struct kept *one;
	int code;

	for (size_t i = 0; i < KEPT_MAX; i++)
		if (kept[i].connection == connection &&
		    str_equal(str_slice(kept[i].text, kept[i].length), text)) {
			*out = kept[i].statement;
			return SQLITE_OK;
		}
	translate(words, text, &sql);
	code = sqlite3_prepare_v2(connection, buffer_data(&sql), -1, out, NULL);
	if (code != SQLITE_OK)
		return code;
	one = &kept[next++ % KEPT_MAX];
	if (one->connection != NULL)
		forget(one);
	*one = (struct kept){connection, malloc(text.length + 1), text.length, *out};
	memcpy(one->text, text.data, text.length);
	return SQLITE_OK;
}

void record_tables_run(sqlite3 *connection, const struct record_tables_word *words, struct str text,
		       const struct record_value *values, size_t count, struct arena *arena,
		       struct record_tables_result *out)
{
	struct buffer rows CLEANUP(buffer_clear) = {0};
	sqlite3_stmt *statement = NULL;
	int64_t before = sqlite3_total_changes64(connection);

	*out = (struct record_tables_result){0};
	out->code = prepare_or_find(connection, words, text, &statement);
	if (out->code == SQLITE_OK) {
		bind_values(statement, values, count);
		out->columns = (size_t)sqlite3_column_count(statement);
		sqlite3_set_last_insert_rowid(connection, 0);
		while ((out->code = sqlite3_step(statement)) == SQLITE_ROW)
			add_row(statement, arena, &rows, out);
		out->code = sqlite3_reset(statement);
	}
	if (out->code != SQLITE_OK) {
		out->code = sqlite3_extended_errcode(connection);
		snprintf(out->words, sizeof out->words, "%s", sqlite3_errmsg(connection));
	} else {
		out->values = arena_alloc(arena, rows.length + 1);
		if (rows.length > 0)
			memcpy(out->values, buffer_data(&rows), rows.length);
		out->inserted = sqlite3_last_insert_rowid(connection);
		/* those that hang on them are not counted */
		out->changed = sqlite3_total_changes64(connection) != before
				       ? sqlite3_changes64(connection)
				       : 0;
	}
}
