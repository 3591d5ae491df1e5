// SPDX-License-Identifier: ISC
/* Statements and results. Many rows are inserted by one call (bulk operations). */
#include "base/panic.h"
#include "filing/record/mariadb/internal.h"
#include <errno.h>
#include <mysqld_error.h>
#include <stdlib.h>

int record_mariadb_text(struct record_mariadb *mariadb, const char *text)
{
	record_mariadb_start(mariadb);
	if (mysql_real_query(mariadb->connection, text, strlen(text)) == 0)
		return 0;
	return record_mariadb_fail(mariadb, mysql_errno(mariadb->connection),
				   mysql_error(mariadb->connection));
}

int record_mariadb_open(struct record_mariadb *mariadb)
{
	int error = mariadb->is_open ? 0 : record_mariadb_text(mariadb, "START TRANSACTION");

	if (error == 0)
		mariadb->is_open = true;
	return error;
}

static int fail_mariadb_statement(struct record_mariadb *mariadb, MYSQL_STMT *statement)
{
	return record_mariadb_fail(mariadb, mysql_stmt_errno(statement),
				   mysql_stmt_error(statement));
}

/* ---- parameters ---- */

/* Arrays of the values of each column; order[i] says which value the placeholder i has. */
struct parameters {
	MYSQL_BIND binds[RECORD_PLACEHOLDER_MAX];
	unsigned order[RECORD_PLACEHOLDER_MAX];
	size_t count;
	struct arena *arena;
};

static void bind_bytes(MYSQL_BIND *bind, const struct record_call *call, size_t column,
		       struct arena *arena)
{
	const char **texts = arena_alloc(arena, call->rows * sizeof *texts);
	unsigned long *lengths = arena_alloc(arena, call->rows * sizeof *lengths);

	for (size_t row = 0; row < call->rows; row++) {
		struct str bytes = call->values[row * call->columns + column].bytes;

		texts[row] = bytes.length > 0 ? bytes.data : "";
		lengths[row] = bytes.length;
	}
	bind->buffer_type =
		call->values[column].kind == RECORD_BYTES ? MYSQL_TYPE_BLOB : MYSQL_TYPE_STRING;
	bind->buffer = call->rows > 1 ? (void *)texts : (void *)texts[0];
	bind->length = lengths;
}

static void bind_all(struct parameters *parameters, const struct record_call *call)
{
	memset(parameters->binds, 0, sizeof parameters->binds);
	for (size_t i = 0; i < parameters->count; i++) {
		size_t column = parameters->order[i];

		if (call->values[column].kind == RECORD_NUMBER) {
			MYSQL_BIND *bind = &parameters->binds[i];
			int64_t *numbers =
				arena_alloc(parameters->arena, call->rows * sizeof *numbers);

			for (size_t row = 0; row < call->rows; row++)
				numbers[row] = call->values[row * call->columns + column].number;
			bind->buffer_type = MYSQL_TYPE_LONGLONG;
			bind->buffer = numbers;
		} else
			bind_bytes(&parameters->binds[i], call, column, parameters->arena);
	}
}

/* ---- results ---- */

struct column {
	int64_t number;
	char *bytes;
	unsigned long length;
	my_bool is_null;
	bool is_number;
};

static void bind_column(MYSQL_BIND *bind, struct column *column, const MYSQL_FIELD *field,
			struct arena *arena)
{
	column->is_number = IS_NUM(field->type);
	bind->is_null = &column->is_null;
	bind->length = &column->length;
	if (column->is_number) {
		bind->buffer_type = MYSQL_TYPE_LONGLONG;
		bind->buffer = &column->number;
		return;
	}
	column->bytes = arena_alloc(arena, field->max_length + 1);
	bind->buffer_type = MYSQL_TYPE_BLOB;
	bind->buffer = column->bytes;
	bind->buffer_length = field->max_length + 1;
}

static void give_mariadb_row(const struct record_call *call, const struct column *columns,
			     unsigned count)
{
	struct record_value values[RECORD_VALUES_MAX] = {0};

	for (unsigned i = 0; i < count; i++) {
		if (columns[i].is_null)
			continue;
		values[i] = columns[i].is_number
				    ? record_number(columns[i].number)
				    : record_bytes(columns[i].bytes, columns[i].length);
	}
	call->row(call->context, values, count);
}

static int fetch_mariadb_rows(struct record_mariadb *mariadb, MYSQL_STMT *statement,
			      const struct record_call *call, struct arena *arena)
{
	MYSQL_BIND binds[RECORD_VALUES_MAX] = {0};
	struct column columns[RECORD_VALUES_MAX] = {0};
	unsigned count = mysql_stmt_field_count(statement);
	MYSQL_RES *about;
	int status;

	if (count > RECORD_VALUES_MAX || mysql_stmt_store_result(statement) != 0)
		return fail_mariadb_statement(mariadb, statement);
	about = mysql_stmt_result_metadata(statement);
	if (about == NULL)
		return fail_mariadb_statement(mariadb, statement);
	for (unsigned i = 0; i < count; i++)
		bind_column(&binds[i], &columns[i], mysql_fetch_field_direct(about, i), arena);
	mysql_free_result(about);
	if (mysql_stmt_bind_result(statement, binds) != 0)
		return fail_mariadb_statement(mariadb, statement);
	while ((status = mysql_stmt_fetch(statement)) == 0)
		if (call->row != NULL)
			give_mariadb_row(call, columns, count);
	if (status != MYSQL_NO_DATA)
		return fail_mariadb_statement(mariadb, statement);
	(void)mysql_stmt_free_result(statement);
	return 0;
}

/* ---- statements ---- */

static int prepare_mariadb_statement(struct record_mariadb *mariadb, struct str text,
				     MYSQL_STMT **statement_out)
{
	const my_bool yes = 1;
	MYSQL_STMT *statement = mysql_stmt_init(mariadb->connection);

	if (statement == NULL)
		panic("out of memory");
	*statement_out = statement;
	/* how long the longest value of each column is */
	(void)mysql_stmt_attr_set(statement, STMT_ATTR_UPDATE_MAX_LENGTH, &yes);
	if (mysql_stmt_prepare(statement, text.data, text.length) != 0)
		return fail_mariadb_statement(mariadb, statement);
	return 0;
}

/* A row that is there already is no failure: then nothing was inserted. */
static int execute_mariadb_statement(struct record_mariadb *mariadb, MYSQL_STMT *statement,
				     struct record_call *call, const struct parameters *parameters)
{
	unsigned rows = call->rows > 1 ? (unsigned)call->rows : 0;

	(void)mysql_stmt_attr_set(statement, STMT_ATTR_ARRAY_SIZE, &rows);
	if (mysql_stmt_bind_param(statement, (MYSQL_BIND *)parameters->binds) != 0)
		return fail_mariadb_statement(mariadb, statement);
	if (mysql_stmt_execute(statement) != 0) {
		if (mysql_stmt_errno(statement) != ER_DUP_ENTRY || !record_sql_is_once(call))
			return fail_mariadb_statement(mariadb, statement);
		if (call->outcomes != NULL)
			*call->outcomes = (struct record_outcome){0};
		return 0;
	}
	if (mysql_stmt_field_count(statement) > 0)
		return fetch_mariadb_rows(mariadb, statement, call, parameters->arena);
	if (call->outcomes != NULL)
		*call->outcomes =
			(struct record_outcome){(int64_t)mysql_stmt_affected_rows(statement),
						(int64_t)mysql_stmt_insert_id(statement)};
	return 0;
}

/* Bulk operations neither return rows nor say what became of each. */
static int execute_each(struct record_mariadb *mariadb, MYSQL_STMT *statement,
			struct record_call *call, struct parameters *parameters)
{
	struct record_call one = *call;
	bool is_bulk = call->row == NULL && call->outcomes == NULL;
	int error = 0;

	one.rows = is_bulk ? call->rows : 1;
	for (call->at = 0; error == 0 && call->at < call->rows; call->at += one.rows) {
		one.values = record_call_values(call, call->at);
		one.outcomes = call->outcomes != NULL ? call->outcomes + call->at : NULL;
		bind_all(parameters, &one);
		error = execute_mariadb_statement(mariadb, statement, &one, parameters);
	}
	return error;
}

static int run_mariadb_call(struct record_mariadb *mariadb, struct record_call *call,
			    struct str text, struct parameters *parameters)
{
	bool is_kept = call->statement < RECORD_STATEMENTS;
	MYSQL_STMT *statement = is_kept ? mariadb->statements[call->statement] : NULL;
	bool is_new = statement == NULL;
	int error;

	record_mariadb_start(mariadb);
	error = is_new ? prepare_mariadb_statement(mariadb, text, &statement) : 0;
	if (error == 0)
		error = execute_each(mariadb, statement, call, parameters);
	/* a lost connection has closed those that are kept, and no others */
	if (error == 0 && is_kept)
		mariadb->statements[call->statement] = statement;
	else if (is_new)
		(void)mysql_stmt_close(statement);
	return error;
}

int record_mariadb_run(struct record_sql *sql, struct record_call *call)
{
	struct record_mariadb *mariadb = (struct record_mariadb *)sql;
	struct parameters parameters = {.arena = arena_new()};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct str all;
	int error = 0;

	parameters.count = record_sql_write(sql->driver->dialect, call->statement, call->text,
					    &text, parameters.order);
	all = buffer_view(&text);
	all.length--; /* its NUL */
	if (sql->is_begun)
		error = record_mariadb_open(mariadb);
	if (error == 0)
		error = run_mariadb_call(mariadb, call, all, &parameters);
	arena_free(parameters.arena);
	return error;
}

int record_mariadb_ask(struct record_mariadb *mariadb, const char *text,
		       const struct record_value *values, size_t count, record_row *row,
		       void *context)
{
	struct record_call call = record_call_of(text, values, count, row, context);
	struct record_sql *sql = &mariadb->sql;
	bool is_begun = sql->is_begun;
	int error;

	/* what is asked of the connection needs no transaction */
	sql->is_begun = false;
	error = record_mariadb_run(sql, &call);
	sql->is_begun = is_begun;
	return error;
}
