// SPDX-License-Identifier: ISC
/* Statements on a played MariaDB server. */
#include "base/arena.h"
#include "played_mariadb.h"
#include "played_mariadb_internal.h"
#include "test.h"
#include <mysqld_error.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum { ROWS_MAX = 4096, COLUMNS_MAX = 16, PARAMETERS_MAX = 32 };

struct played_mariadb_statement {
	struct played_mariadb_connection *connection; /* NULL: it is closed */
	struct played_mariadb_error error;
	struct arena *arena;
	char *text;
	size_t parameters;
	unsigned rows; /* of the next execution; 0: one, without arrays */
	bool measures; /* the longest value of each column */
	MYSQL_BIND in[PARAMETERS_MAX], out[COLUMNS_MAX];
	struct record_tables_result result;
	MYSQL_FIELD fields[COLUMNS_MAX];
	size_t at;
	bool is_stored;
	struct played_mariadb_statement *prev, *next;
};

static const struct record_tables_word words[] = {
	{"bigint NOT NULL AUTO_INCREMENT PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT"},
	{" COLLATE utf8mb4_nopad_bin", ""},
	{" ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4", ""},
	{"binary(16)", "blob"},
	{"binary(32)", "blob"},
	{"ON DUPLICATE KEY UPDATE version = version", "ON CONFLICT DO NOTHING"},
	{"START TRANSACTION", "BEGIN"},
	{"FROM information_schema.tables WHERE table_schema = database() AND table_name",
	 "FROM sqlite_master WHERE type = 'table' AND name"},
	{NULL, NULL},
};

static bool begins_with(struct str text, const char *beginning)
{
	return str_starts_with(text, str_from(beginning));
}

/* --- what is done --- */

static unsigned number_of_code(int code)
{
	switch (code) {
	case SQLITE_CONSTRAINT_UNIQUE:
	case SQLITE_CONSTRAINT_PRIMARYKEY:
		return ER_DUP_ENTRY;
	case SQLITE_CONSTRAINT_FOREIGNKEY:
		return ER_NO_REFERENCED_ROW_2;
	case SQLITE_BUSY:
		return ER_LOCK_WAIT_TIMEOUT;
	case SQLITE_BUSY_SNAPSHOT:
		return ER_LOCK_DEADLOCK;
	default:
		return ER_UNKNOWN_ERROR;
	}
}

static void set_row(struct record_tables_result *result, const struct record_value *values,
		    size_t count, struct arena *arena)
{
	result->columns = count;
	result->rows = 1;
	result->values = arena_alloc(arena, count * sizeof *values);
	memcpy(result->values, values, count * sizeof *values);
}

static struct record_value value_of_release(const char *name, const void *owner)
{
	const void *has = played_mariadb_owner_of_lock(name);

	if (has == NULL)
		return (struct record_value){.kind = RECORD_NULL};
	if (has == owner)
		played_mariadb_release_lock(name);
	return record_number(has == owner);
}

/* Statements that only this server has. */
static bool run_special(struct played_mariadb_connection *connection, struct str text,
			const struct record_value *values, struct arena *arena,
			struct record_tables_result *out)
{
	struct record_value said[2] = {{.kind = RECORD_NULL}, {.kind = RECORD_NULL}};
	size_t count = 1;
	char name[80] = "";

	if (str_find(text, '?') >= 0)
		snprintf(name, sizeof name, STR_FORMAT, STR_ARGUMENTS(values[0].bytes));
	if (begins_with(text, "SELECT GET_LOCK(?, ")) {
		if (!played_mariadb.lock_fails)
			said[0] = record_number(played_mariadb_take_lock(name, connection));
	} else if (begins_with(text, "SELECT RELEASE_LOCK(?)")) {
		said[0] = value_of_release(name, connection);
	} else if (begins_with(text, "SELECT IS_USED_LOCK(?) = CONNECTION_ID()")) {
		if (played_mariadb_owner_of_lock(name) != NULL)
			said[0] = record_number(played_mariadb_owner_of_lock(name) == connection);
	} else if (begins_with(text, "SELECT @@global.read_only, ")) {
		said[0] = record_number(played_mariadb.is_read_only);
		said[1] = record_number(played_mariadb.flush);
		count = 2;
	} else if (begins_with(text, "SELECT concat('connection '")) {
		said[0] = (struct record_value){.kind = RECORD_TEXT, .bytes = STR("connection 7")};
		set_row(out, said, 1, arena);
		out->rows = played_mariadb_owner_of_lock(name) != NULL;
		return true;
	} else {
		return false;
	}
	set_row(out, said, count, arena);
	return true;
}

static int run_in_tables(struct played_mariadb_connection *connection, struct str text,
			 const struct record_value *values, size_t count, struct arena *arena,
			 struct record_tables_result *out, struct played_mariadb_error *error)
{
	*out = (struct record_tables_result){0};
	if (run_special(connection, text, values, arena, out))
		return 0;
	record_tables_run(connection->tables, words, text, values, count, arena, out);
	if (out->code == SQLITE_OK)
		return 0;
	return played_mariadb_fail(error, number_of_code(out->code), out->words);
}

int played_mariadb_run_text(struct played_mariadb_connection *connection, struct str text)
{
	struct record_tables_result result;
	struct arena *arena;
	int error;

	if (begins_with(text, "SET SESSION ") || str_equal(text, STR("DO 1")))
		return 0;
	if (str_equal(text, STR("DO RELEASE_LOCK('stagepost/schema')"))) {
		played_mariadb_release_lock("stagepost/schema");
		return 0;
	}
	/* what is not open may be ended */
	if (sqlite3_get_autocommit(connection->tables) != 0 &&
	    (str_equal(text, STR("COMMIT")) || str_equal(text, STR("ROLLBACK"))))
		return 0;
	arena = arena_new();
	error = run_in_tables(connection, text, NULL, 0, arena, &result, &connection->error);
	arena_free(arena);
	return error;
}

/* --- statements of libmariadb --- */

static struct played_mariadb_statement *statement_of(MYSQL_STMT *statement)
{
	return (struct played_mariadb_statement *)(void *)statement;
}

MYSQL_STMT *STDCALL mysql_stmt_init(MYSQL *mysql)
{
	struct played_mariadb_statement *statement = calloc(1, sizeof *statement);

	assert_non_null(statement);
	statement->connection = (struct played_mariadb_connection *)(void *)mysql;
	statement->arena = arena_new();
	DL_APPEND(statement->connection->statements, statement);
	return (MYSQL_STMT *)(void *)statement;
}

my_bool STDCALL mysql_stmt_close(MYSQL_STMT *mysql_statement)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);

	if (statement->connection != NULL)
		DL_DELETE(statement->connection->statements, statement);
	arena_free(statement->arena);
	free(statement);
	return 0;
}

void played_mariadb_close_statements(struct played_mariadb_connection *connection)
{
	struct played_mariadb_statement *statement;

	DL_FOREACH (connection->statements, statement)
		statement->connection = NULL;
}

my_bool STDCALL mysql_stmt_attr_set(MYSQL_STMT *mysql_statement, enum enum_stmt_attr_type type,
				    const void *value)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);

	if (type == STMT_ATTR_UPDATE_MAX_LENGTH)
		statement->measures = *(const my_bool *)value;
	else if (type == STMT_ATTR_ARRAY_SIZE)
		statement->rows = *(const unsigned *)value;
	else
		fail_msg("attribute %d", (int)type);
	return 0;
}

int STDCALL mysql_stmt_prepare(MYSQL_STMT *mysql_statement, const char *text, unsigned long length)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);
	struct buffer said CLEANUP(buffer_clear) = {0};
	bool is_lost;

	statement->text = arena_copy(statement->arena, str_slice(text, length));
	statement->parameters = 0;
	for (const char *at = statement->text; *at != '\0'; at++)
		statement->parameters += *at == '?';
	buffer_append_format(&said, "prepare %s%c", statement->text, '\0');
	buffer_append_format(&played_mariadb.heard, "%s\n", buffer_data(&said));
	if (played_mariadb_call(statement->connection, buffer_data(&said), &statement->error,
				&is_lost) != 0)
		return 1;
	return is_lost ? played_mariadb_lose_after(statement->connection, &statement->error) : 0;
}

my_bool STDCALL mysql_stmt_bind_param(MYSQL_STMT *mysql_statement, MYSQL_BIND *binds)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);

	assert_true(statement->parameters <= COUNT_OF(statement->in));
	memcpy(statement->in, binds, statement->parameters * sizeof *binds);
	return 0;
}

static struct record_value value_of_bind(const MYSQL_BIND *bind, size_t row, bool is_array)
{
	const char *bytes;

	if (bind->buffer_type == MYSQL_TYPE_LONGLONG)
		return record_number(((const int64_t *)bind->buffer)[row]);
	assert_true(bind->buffer_type == MYSQL_TYPE_BLOB || bind->buffer_type == MYSQL_TYPE_STRING);
	bytes = is_array ? ((const char **)bind->buffer)[row] : bind->buffer;
	return (struct record_value){.kind = bind->buffer_type == MYSQL_TYPE_BLOB ? RECORD_BYTES
										  : RECORD_TEXT,
				     .bytes = str_slice(bytes, bind->length[row])};
}

static void describe_columns(struct played_mariadb_statement *statement)
{
	const struct record_tables_result *result = &statement->result;

	memset(statement->fields, 0, sizeof statement->fields);
	assert_true(result->columns <= COLUMNS_MAX);
	for (size_t i = 0; i < result->columns; i++) {
		MYSQL_FIELD *field = &statement->fields[i];

		field->type = MYSQL_TYPE_VAR_STRING;
		for (size_t row = 0; row < result->rows; row++) {
			const struct record_value *value =
				&result->values[row * result->columns + i];

			if (value->kind == RECORD_NUMBER)
				field->type = MYSQL_TYPE_LONGLONG;
			else if (statement->measures && value->bytes.length > field->max_length)
				field->max_length = value->bytes.length;
		}
	}
}

int STDCALL mysql_stmt_execute(MYSQL_STMT *mysql_statement)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);
	struct record_value values[PARAMETERS_MAX];
	size_t rows = statement->rows > 0 ? statement->rows : 1;
	bool is_lost;
	int error = 0;

	assert_true(rows <= ROWS_MAX);
	if (played_mariadb_call(statement->connection, statement->text, &statement->error,
				&is_lost) != 0)
		return 1;
	for (size_t row = 0; row < rows && error == 0; row++) {
		for (size_t i = 0; i < statement->parameters; i++)
			values[i] = value_of_bind(&statement->in[i], row, statement->rows > 0);
		error = run_in_tables(statement->connection, str_from(statement->text), values,
				      statement->parameters, statement->arena, &statement->result,
				      &statement->error);
	}
	statement->at = 0;
	statement->is_stored = false;
	if (is_lost)
		return played_mariadb_lose_after(statement->connection, &statement->error);
	return error;
}

int STDCALL mysql_stmt_store_result(MYSQL_STMT *mysql_statement)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);
	struct buffer said CLEANUP(buffer_clear) = {0};
	bool is_lost;

	buffer_append_format(&said, "results of %s%c", statement->text, '\0');
	if (played_mariadb_call(statement->connection, buffer_data(&said), &statement->error,
				&is_lost) != 0)
		return 1;
	if (is_lost)
		return played_mariadb_lose_after(statement->connection, &statement->error);
	describe_columns(statement);
	statement->is_stored = true;
	return 0;
}

MYSQL_RES *STDCALL mysql_stmt_result_metadata(MYSQL_STMT *mysql_statement)
{
	assert_true(statement_of(mysql_statement)->is_stored);
	return (MYSQL_RES *)(void *)mysql_statement;
}

MYSQL_FIELD *STDCALL mysql_fetch_field_direct(MYSQL_RES *result, unsigned number)
{
	return &((struct played_mariadb_statement *)(void *)result)->fields[number];
}

void STDCALL mysql_free_result(MYSQL_RES *result)
{
	assert_non_null(result);
}

my_bool STDCALL mysql_stmt_bind_result(MYSQL_STMT *mysql_statement, MYSQL_BIND *binds)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);

	memcpy(statement->out, binds, statement->result.columns * sizeof *binds);
	return 0;
}

static int fetch_value(const struct record_value *value, const MYSQL_BIND *bind)
{
	size_t room = bind->buffer_length;

	*bind->is_null = value->kind == RECORD_NULL;
	if (value->kind == RECORD_NULL)
		return 0;
	if (value->kind == RECORD_NUMBER) {
		assert_int_equal(bind->buffer_type, MYSQL_TYPE_LONGLONG);
		*(int64_t *)bind->buffer = value->number;
		return 0;
	}
	assert_int_equal(bind->buffer_type, MYSQL_TYPE_BLOB);
	*bind->length = value->bytes.length;
	memcpy(bind->buffer, value->bytes.data,
	       value->bytes.length < room ? value->bytes.length : room);
	return value->bytes.length > room ? MYSQL_DATA_TRUNCATED : 0;
}

int STDCALL mysql_stmt_fetch(MYSQL_STMT *mysql_statement)
{
	struct played_mariadb_statement *statement = statement_of(mysql_statement);
	const struct record_tables_result *result = &statement->result;
	int status = 0;

	assert_true(statement->is_stored);
	if (statement->at == result->rows)
		return MYSQL_NO_DATA;
	for (size_t i = 0; i < result->columns; i++) {
		int one = fetch_value(&result->values[statement->at * result->columns + i],
				      &statement->out[i]);

		status = one != 0 ? one : status;
	}
	statement->at++;
	return status;
}

my_bool STDCALL mysql_stmt_free_result(MYSQL_STMT *mysql_statement)
{
	statement_of(mysql_statement)->is_stored = false;
	return 0;
}

unsigned STDCALL mysql_stmt_field_count(MYSQL_STMT *mysql_statement)
{
	return (unsigned)statement_of(mysql_statement)->result.columns;
}

unsigned long long STDCALL mysql_stmt_affected_rows(MYSQL_STMT *mysql_statement)
{
	return (unsigned long long)statement_of(mysql_statement)->result.changed;
}

unsigned long long STDCALL mysql_stmt_insert_id(MYSQL_STMT *mysql_statement)
{
	return (unsigned long long)statement_of(mysql_statement)->result.inserted;
}

unsigned STDCALL mysql_stmt_errno(MYSQL_STMT *mysql_statement)
{
	return statement_of(mysql_statement)->error.number;
}

const char *STDCALL mysql_stmt_error(MYSQL_STMT *mysql_statement)
{
	return statement_of(mysql_statement)->error.words;
}
