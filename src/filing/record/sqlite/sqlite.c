// SPDX-License-Identifier: ISC
/*
 * A transaction begins in the file with its first statement that writes: until then each statement
 * reads what is newest, so nobody who only looks waits for a writer. What was read stays true, as
 * the writers of a message have its lock.
 */
#include "filing/record/sqlite/sqlite.h"
#include "base/panic.h"
#include "filing/lock/file.h"
#include "filing/record/sqlite/internal.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static int run_sqlite_sql(struct record_sqlite *sqlite, const char *sql)
{
	int error = sqlite3_exec(sqlite->database, sql, NULL, NULL, NULL);

	return error == SQLITE_OK ? 0 : record_sqlite_fail(sqlite, error);
}

/* ---- statements ---- */

static int prepare_sqlite_statement(struct record_sqlite *sqlite, const struct record_call *call,
				    sqlite3_stmt **statement_out)
{
	struct buffer sql CLEANUP(buffer_clear) = {0};
	unsigned order[RECORD_PLACEHOLDER_MAX];
	int error;

	(void)record_sql_write(sqlite->sql.driver->dialect, call->statement, call->text, &sql,
			       order);
	error = sqlite3_prepare_v3(sqlite->database, buffer_data(&sql), -1,
				   SQLITE_PREPARE_PERSISTENT, statement_out, NULL);
	return error == SQLITE_OK ? 0 : record_sqlite_fail(sqlite, error);
}

static void bind_sqlite_values(sqlite3_stmt *statement, const struct record_value *values,
			       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct record_value *value = &values[i];
		int place = (int)i + 1;
		const char *data = value->bytes.length > 0 ? value->bytes.data : "";
		int length = (int)value->bytes.length;

		if (value->kind == RECORD_NUMBER)
			(void)sqlite3_bind_int64(statement, place, value->number);
		else if (value->kind == RECORD_TEXT)
			(void)sqlite3_bind_text(statement, place, data, length, SQLITE_STATIC);
		else if (value->kind == RECORD_BYTES)
			(void)sqlite3_bind_blob(statement, place, data, length, SQLITE_STATIC);
		else
			(void)sqlite3_bind_null(statement, place);
	}
}

static void give_sqlite_row(sqlite3_stmt *statement, const struct record_call *call)
{
	struct record_value values[RECORD_VALUES_MAX] = {0};
	int count = sqlite3_column_count(statement);

	for (int i = 0; i < count && i < RECORD_VALUES_MAX; i++) {
		int type = sqlite3_column_type(statement, i);
		const char *data;

		if (type == SQLITE_NULL)
			continue;
		if (type == SQLITE_INTEGER) {
			values[i] = record_number(sqlite3_column_int64(statement, i));
			continue;
		}
		data = sqlite3_column_blob(statement, i);
		values[i].kind = type == SQLITE_TEXT ? RECORD_TEXT : RECORD_BYTES;
		values[i].bytes = str_slice(data != NULL ? data : "",
					    (size_t)sqlite3_column_bytes(statement, i));
	}
	call->row(call->context, values, (size_t)count);
}

static struct record_outcome outcome_of_sqlite_statement(sqlite3 *database)
{
	int64_t changed = sqlite3_changes64(database);

	return (struct record_outcome){changed,
				       changed > 0 ? sqlite3_last_insert_rowid(database) : 0};
}

static int step_sqlite_statement(struct record_sqlite *sqlite, sqlite3_stmt *statement,
				 struct record_call *call)
{
	int error;

	while ((error = sqlite3_step(statement)) == SQLITE_ROW)
		if (call->row != NULL)
			give_sqlite_row(statement, call);
	if (call->outcomes != NULL)
		call->outcomes[call->at] = outcome_of_sqlite_statement(sqlite->database);
	(void)sqlite3_reset(statement);
	(void)sqlite3_clear_bindings(statement);
	return error == SQLITE_DONE ? 0 : record_sqlite_fail(sqlite, error);
}

/* Whoever has written would mostly be the next one, too, as he is awake, and others could wait for
 * ever. So the next one takes the turn first, and keeps it until he may write. */
static int take_writers_turn(struct record_sqlite *sqlite)
{
	int error = lock_file_take(sqlite->locks, &sqlite->turn);

	for (int i = 0; error == -EAGAIN && i < RECORD_SQLITE_PATIENCE_MS; i++) {
		os_clock_pause_ms(1);
		error = lock_file_take(sqlite->locks, &sqlite->turn);
	}
	if (error == 0)
		return 0;
	return record_sql_fail(&sqlite->sql, error == -EAGAIN ? -ETIMEDOUT : -EIO,
			       "%s: locked by other writers for too long", sqlite->path);
}

/* Begins to write, if STATEMENT is the transaction's first that does. */
static int begin_to_write(struct record_sqlite *sqlite, sqlite3_stmt *statement)
{
	int error;

	if (!sqlite->sql.is_begun || !sqlite3_get_autocommit(sqlite->database) ||
	    sqlite3_stmt_readonly(statement))
		return 0;
	error = take_writers_turn(sqlite);
	if (error < 0)
		return error;
	error = run_sqlite_sql(sqlite, "BEGIN IMMEDIATE");
	lock_file_release(sqlite->locks, &sqlite->turn);
	return error;
}

static int run_rows(struct record_sqlite *sqlite, sqlite3_stmt *statement, struct record_call *call)
{
	int error = 0;

	for (call->at = 0; call->at < call->rows && error == 0; call->at++) {
		bind_sqlite_values(statement, record_call_values(call, call->at), call->columns);
		error = step_sqlite_statement(sqlite, statement, call);
	}
	return error;
}

/* All rows read from one state of the file, which is not looked for anew for each. */
static int read_sqlite_rows(struct record_sqlite *sqlite, sqlite3_stmt *statement,
			    struct record_call *call)
{
	int error = run_sqlite_sql(sqlite, "BEGIN");

	if (error == 0)
		error = run_rows(sqlite, statement, call);
	return error == 0 ? run_sqlite_sql(sqlite, "COMMIT") : error;
}

static int run_prepared(struct record_sqlite *sqlite, sqlite3_stmt *statement,
			struct record_call *call)
{
	int error;

	if (call->rows > 1 && sqlite3_get_autocommit(sqlite->database) &&
	    sqlite3_stmt_readonly(statement))
		return read_sqlite_rows(sqlite, statement, call);
	error = begin_to_write(sqlite, statement);
	return error == 0 ? run_rows(sqlite, statement, call) : error;
}

static int run_sqlite_call(struct record_sql *sql, struct record_call *call)
{
	struct record_sqlite *sqlite = (struct record_sqlite *)sql;
	bool is_kept = call->statement < RECORD_STATEMENTS;
	sqlite3_stmt *statement = is_kept ? sqlite->statements[call->statement] : NULL;
	int error = statement != NULL ? 0 : prepare_sqlite_statement(sqlite, call, &statement);

	if (is_kept)
		sqlite->statements[call->statement] = statement;
	if (error == 0)
		error = run_prepared(sqlite, statement, call);
	if (!is_kept)
		(void)sqlite3_finalize(statement);
	return error;
}

/* ---- transactions ---- */

static struct record_sqlite *sqlite_of_record(struct record *record)
{
	return (struct record_sqlite *)(void *)record;
}

static int begin_sqlite_schema(struct record_sql *sql)
{
	return run_sqlite_sql((struct record_sqlite *)sql, "BEGIN IMMEDIATE");
}

static int end_sqlite_schema(struct record_sql *sql)
{
	return run_sqlite_sql((struct record_sqlite *)sql, "COMMIT");
}

static int lock_turns_in_sqlite(struct record *record, struct record_turn *turns, size_t count)
{
	struct record_sqlite *sqlite = sqlite_of_record(record);
	int error = record_sql_check(&sqlite->sql);

	for (size_t i = 0; error == 0 && i < count; i++) {
		error = lock_file_take(sqlite->locks, turns[i].name);
		turns[i].is_taken = error == 0;
		if (error == -EAGAIN)
			error = 0;
	}
	if (error == 0 || sqlite->sql.failed != 0)
		return error;
	return record_sql_fail(&sqlite->sql, -EIO, "%s-lock: %s", sqlite->path, strerror(-error));
}

static int check_sqlite_transaction(struct record *record)
{
	struct record_sqlite *sqlite = sqlite_of_record(record);
	int error = record_sql_check(&sqlite->sql);

	if (error == 0 && !record_sqlite_is_there(sqlite))
		return record_sql_fail(&sqlite->sql, -ENOTCONN,
				       "%s or its locks were removed or replaced", sqlite->path);
	return error;
}

/* Ends the transaction in the file, and then its locks. */
static void leave_sqlite_transaction(struct record_sqlite *sqlite)
{
	if (sqlite->database != NULL && !sqlite3_get_autocommit(sqlite->database))
		(void)sqlite3_exec(sqlite->database, "ROLLBACK", NULL, NULL, NULL);
	if (sqlite->locks != NULL)
		lock_file_release_all(sqlite->locks);
}

static int commit_sqlite_transaction(struct record *record)
{
	struct record_sqlite *sqlite = sqlite_of_record(record);
	int error = record_sql_check(&sqlite->sql);

	if (error == 0 && !sqlite3_get_autocommit(sqlite->database)) {
		error = check_sqlite_transaction(record);
		if (error == 0)
			error = run_sqlite_sql(sqlite, "COMMIT");
	}
	if (error < 0)
		return error;
	leave_sqlite_transaction(sqlite);
	record_sql_ended(&sqlite->sql);
	return 0;
}

static void roll_back_sqlite_transaction(struct record *record)
{
	leave_sqlite_transaction(sqlite_of_record(record));
	record_sql_ended(&sqlite_of_record(record)->sql);
}

static int holder_of_sqlite_lock(struct record *record, const struct lock_name *name,
				 struct arena *arena, struct str *holder_out)
{
	struct record_sqlite *sqlite = sqlite_of_record(record);
	int process = 0;
	int error = record_sql_begin(record);
	char said[40] = "another process";

	record_sql_ended(&sqlite->sql);
	if (error < 0)
		return error;
	error = lock_file_holder(sqlite->locks, name, &process);
	*holder_out = STR("");
	if (error == -ENOENT)
		return 0;
	if (error < 0)
		return record_sql_fail(&sqlite->sql, -EIO, "%s-lock: %s", sqlite->path,
				       strerror(-error));
	if (process > 0)
		snprintf(said, sizeof said, "process %d", process);
	*holder_out = arena_copy_str(arena, str_from(said));
	return 0;
}

/* ---- life ---- */

static const struct record_dialect DIALECT = {
	.has_numbers = true,
	.parameter = '?',
	.words = "serial\0INTEGER PRIMARY KEY AUTOINCREMENT\0"
		 "text\0TEXT\0"
		 "exact\0\0"
		 "number\0INTEGER\0"
		 "bytes 16\0BLOB\0"
		 "bytes 32\0BLOB\0"
		 "table\0\0"
		 "unless there\0ON CONFLICT DO NOTHING\0"
		 "once\0ON CONFLICT DO NOTHING\0"
		 "part\0instr\0"
		 "count tables\0SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name\0",
};

static void free_sqlite(struct record *record)
{
	struct record_sqlite *sqlite = sqlite_of_record(record);

	leave_sqlite_transaction(sqlite);
	record_sqlite_close(sqlite);
	record_sql_clear(&sqlite->sql);
	free(sqlite->path);
	free(sqlite);
}

static const struct record_driver DRIVER = {
	.operations =
		{
			.lock = lock_turns_in_sqlite,
			RECORD_SQL_OPERATIONS,
			.check = check_sqlite_transaction,
			.commit = commit_sqlite_transaction,
			.rollback = roll_back_sqlite_transaction,
			.holder = holder_of_sqlite_lock,
			.free = free_sqlite,
		},
	.dialect = &DIALECT,
	.run = run_sqlite_call,
	.begin_schema = begin_sqlite_schema,
	.end_schema = end_sqlite_schema,
	.connect = record_sqlite_connect,
};

struct record *record_sqlite_new(const char *path)
{
	struct record_sqlite *sqlite = memory_alloc_zero(1, sizeof *sqlite);

	record_sql_init(&sqlite->sql, &DRIVER);
	sqlite->path = memory_copy_string(path);
	lock_name_make(STR("the turn to write"), &sqlite->turn);
	return &sqlite->sql.base;
}
