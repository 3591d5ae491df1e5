// SPDX-License-Identifier: ISC
#include "filing/record/mariadb/mariadb.h"
#include "base/panic.h"
#include "filing/record/mariadb/internal.h"
#include <errno.h>
#include <stdlib.h>

/* ---- transactions ---- */

static const struct lock_name SCHEMA_LOCK = {.text = "stagepost/schema"};

static void take_schema_lock_result(void *context, const struct record_value *values, size_t count)
{
	(void)count;
	*(int64_t *)context = values[0].number;
}

/* Tables are made outside of transactions here. */
static int begin_mariadb_schema(struct record_sql *sql)
{
	struct record_mariadb *mariadb = (struct record_mariadb *)sql;
	const struct record_value values[] = {
		{.kind = RECORD_TEXT, .bytes = str_from(SCHEMA_LOCK.text)},
		record_number((mariadb->timeout_ms + 1999) / 2000)};
	int64_t is_taken = 0;
	int error = record_mariadb_ask(mariadb, "SELECT GET_LOCK(?1, ?2)", values, 2,
				       take_schema_lock_result, &is_taken);

	if (error == 0 && is_taken != 1)
		return record_sql_fail(sql, -ETIMEDOUT, "another one makes the tables");
	return error;
}

static int end_mariadb_schema(struct record_sql *sql)
{
	return record_mariadb_text((struct record_mariadb *)sql,
				   "DO RELEASE_LOCK('stagepost/schema')");
}

static int check_mariadb_transaction(struct record *record)
{
	struct record_mariadb *mariadb = record_mariadb_of(record);
	int error = record_sql_check(&mariadb->sql);

	if (error == 0)
		error = record_mariadb_text(mariadb, "DO 1");
	return error == 0 ? record_mariadb_lock_check(mariadb) : error;
}

static int commit_mariadb_transaction(struct record *record)
{
	struct record_mariadb *mariadb = record_mariadb_of(record);
	int error = record_sql_check(&mariadb->sql);

	if (error == 0 && mariadb->is_open) {
		error = record_mariadb_text(mariadb, "COMMIT");
		mariadb->is_open = false;
		if (error == -ETIMEDOUT) { /* it may come about yet */
			record_mariadb_close(mariadb);
			error = mariadb->sql.failed = -ENOTCONN;
		}
	}
	if (error == 0)
		error = record_mariadb_lock_release(mariadb);
	if (error == 0)
		record_sql_ended(&mariadb->sql);
	return error;
}

static void roll_back_mariadb_transaction(struct record *record)
{
	struct record_mariadb *mariadb = record_mariadb_of(record);

	record_sql_ended(&mariadb->sql);
	if (mariadb->is_open && record_mariadb_text(mariadb, "ROLLBACK") < 0)
		record_mariadb_close(mariadb);
	mariadb->is_open = false;
	if (mariadb->connection != NULL)
		(void)record_mariadb_lock_release(mariadb);
	mariadb->sql.failed = 0;
}

/* ---- life ---- */

static const struct record_dialect DIALECT = {
	.has_numbers = false,
	.parameter = '?',
	.words = "serial\0bigint NOT NULL AUTO_INCREMENT PRIMARY KEY\0"
		 "text\0varchar\0"
		 "exact\0 COLLATE utf8mb4_nopad_bin\0"
		 "number\0bigint\0"
		 "bytes 16\0binary(16)\0"
		 "bytes 32\0binary(32)\0"
		 "table\0 ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4"
		 " COLLATE utf8mb4_nopad_bin\0"
		 "unless there\0ON DUPLICATE KEY UPDATE version = version\0"
		 "once\0\0"
		 "part\0instr\0"
		 "count tables\0SELECT count(*) FROM information_schema.tables"
		 " WHERE table_schema = database() AND table_name\0",
};

static void free_mariadb(struct record *record)
{
	struct record_mariadb *mariadb = record_mariadb_of(record);

	record_mariadb_close(mariadb);
	record_sql_clear(&mariadb->sql);
	arena_free(mariadb->lock_memory);
	arena_free(mariadb->memory);
	free(mariadb);
}

static const struct record_driver DRIVER = {
	.operations =
		{
			.lock = record_mariadb_lock,
			RECORD_SQL_OPERATIONS,
			.check = check_mariadb_transaction,
			.commit = commit_mariadb_transaction,
			.rollback = roll_back_mariadb_transaction,
			.holder = record_mariadb_holder,
			.free = free_mariadb,
		},
	.dialect = &DIALECT,
	.run = record_mariadb_run,
	.begin_schema = begin_mariadb_schema,
	.end_schema = end_mariadb_schema,
	.connect = record_mariadb_connect,
};

static void begin_library(void)
{
	if (mysql_library_init(0, NULL, NULL) != 0)
		panic("libmariadb cannot begin");
}

void record_mariadb_prepare(void)
{
	enum { ANY_TYPE = -1 };
	MYSQL *library;

	begin_library();
	library = mysql_init(NULL);
	/* what is not installed is missed when a server asks for it, and named there */
	for (size_t i = 0; library != NULL && record_mariadb_plugins[i] != NULL; i++)
		(void)mysql_load_plugin(library, record_mariadb_plugins[i], ANY_TYPE, 0);
	mysql_close(library);
}

struct record *record_mariadb_new(const struct record_mariadb_settings *settings)
{
	struct record_mariadb *mariadb = memory_alloc_zero(1, sizeof *mariadb);
	struct arena *memory = arena_new();

	begin_library();
	record_sql_init(&mariadb->sql, &DRIVER);
	mariadb->memory = memory;
	mariadb->lock_memory = arena_new();
	mariadb->hosts = arena_copy(memory, str_from(settings->hosts));
	mariadb->socket = arena_copy(memory, str_from(settings->socket));
	mariadb->database = arena_copy(memory, str_from(settings->database));
	mariadb->user = arena_copy(memory, str_from(settings->user));
	mariadb->password_file = arena_copy(memory, str_from(settings->password_file));
	mariadb->authority = arena_copy(memory, str_from(settings->authority));
	mariadb->certificate = arena_copy(memory, str_from(settings->certificate));
	mariadb->key = arena_copy(memory, str_from(settings->key));
	mariadb->timeout_ms = settings->timeout_ms;
	return &mariadb->sql.base;
}
