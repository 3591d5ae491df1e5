// SPDX-License-Identifier: ISC
#include "directory/store/sqlite/repair.h"
#include "base/panic.h"
#include "directory/store/sqlite/internal_repair.h"
#include "os/file/aside.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

/* ---- the damaged file ---- */

static int take_problem(void *context, int columns, char **texts, char **names)
{
	struct buffer *problem = context;

	(void)columns;
	(void)names;
	if (texts[0] != NULL && strcmp(texts[0], "ok") != 0 && problem->length == 0)
		buffer_append_string(problem, texts[0]);
	return 0;
}

/* Texts of the schema that cannot be understood are passed over, and so is the size of a file that
 * was truncated. */
static int open_database_to_repair(struct sqlite_store *old)
{
	int error = sqlite3_open_v2(
		old->path, &old->database,
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE, NULL);

	if (old->database == NULL)
		panic("no memory for SQLite");
	if (error == SQLITE_OK)
		error = sqlite3_db_config(old->database, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	if (error == SQLITE_OK) /* it stays as it is */
		error = sqlite3_db_config(old->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (error == SQLITE_OK)
		error = sqlite3_exec(old->database,
				     "PRAGMA writable_schema = ON; PRAGMA temp_store = MEMORY;"
				     "CREATE TEMP TABLE seen(t, k, m, PRIMARY KEY(t, k, m))"
				     " WITHOUT ROWID",
				     NULL, NULL, NULL);
	return error;
}

static int explain_repair_error(const struct sqlite_store *store, int error, struct buffer *why)
{
	buffer_append_format(why, "%s: %s", store->path,
			     (error & 0xff) == SQLITE_BUSY ? "somebody changes it now"
							   : sqlite_reason(store, error));
	return (error & 0xff) == SQLITE_BUSY ? -EBUSY : sqlite_errno(store, error);
}

/* Of a file that can be opened. */
static bool has_tables(struct sqlite_store *old)
{
	sqlite3_stmt *statement = NULL;
	bool has = sqlite3_prepare_v2(old->database, "SELECT 1 FROM sqlite_schema", -1, &statement,
				      NULL) == SQLITE_OK &&
		   sqlite3_step(statement) == SQLITE_ROW;

	(void)sqlite3_finalize(statement);
	return has;
}

/* What the directory meets that opens it. */
static void open_as_usual(const char *path, struct buffer *problem)
{
	sqlite3 *database = NULL;
	int error =
		sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);

	if (error == SQLITE_OK)
		error = sqlite3_db_config(database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
	if (error == SQLITE_OK)
		error = sqlite3_exec(database, "SELECT count(*) FROM sqlite_schema", NULL, NULL,
				     NULL);
	if (error != SQLITE_OK)
		buffer_append_string(problem, sqlite3_errmsg(database));
	(void)sqlite3_close(database);
}

static void find_problem(struct sqlite_repair *repair)
{
	struct store_sqlite_repair *options = repair->options;
	sqlite3 *database = repair->old->database;
	struct buffer why CLEANUP(buffer_clear) = {0};

	open_as_usual(repair->old->path, &options->problem);
	if (options->problem.length == 0 &&
	    sqlite3_exec(database, "PRAGMA integrity_check(1)", take_problem, &options->problem,
			 NULL) != SQLITE_OK &&
	    options->problem.length == 0)
		buffer_append_string(&options->problem, sqlite3_errmsg(database));
	if (options->problem.length == 0 && sqlite_sum_check_total(repair->old, &why) != 0)
		buffer_append_string(&options->problem, "the total of its checksums differs");
	if (options->problem.length == 0 && !sqlite_schema_is_marked(repair->old))
		buffer_append_string(&options->problem, "its header is damaged");
}

/* ---- the new file ---- */

static void read_meta(struct sqlite_repair *repair, uint64_t *version_out, char identity[64])
{
	struct str found = STR("");

	*version_out = 0;
	if (sqlite_meta(repair->old, version_out, &found, repair->arena) != SQLITE_OK ||
	    found.length == 0 || found.length > 63)
		return;
	for (size_t i = 0; i < found.length; i++)
		if (found.data[i] <= ' ' || found.data[i] >= 0x7f)
			return;
	snprintf(identity, 64, STR_FORMAT, STR_ARGUMENTS(found));
	repair->options->has_identity = true;
}

static int write_meta(struct sqlite_repair *repair, uint64_t version, const char *identity)
{
	static const char SQL[] =
		"UPDATE meta SET version = ?1, total = ?2, identity = coalesce(?3, identity)";
	sqlite3_stmt *statement = NULL;
	int error = sqlite3_prepare_v2(repair->made->database, SQL, -1, &statement, NULL);

	if (error == SQLITE_OK) {
		(void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)version + 1);
		(void)sqlite3_bind_int64(statement, 2, repair->total);
		if (repair->options->has_identity)
			sqlite_bind(statement, 3, str_from(identity));
		error = sqlite_run(statement);
	}
	(void)sqlite3_finalize(statement);
	return error;
}

static int finish_repaired_database(struct sqlite_repair *repair)
{
	char identity[64] = "";
	uint64_t version;
	int error = repair->made_error;

	read_meta(repair, &version, identity);
	if (error == SQLITE_OK)
		error = write_meta(repair, version, identity);
	return error == SQLITE_OK ? sqlite_run(repair->made->data[DATA_COMMIT]) : error;
}

static int sync_file(const char *path)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_WRITE);
	int error = file < 0 ? file : os_file_sync(file);

	os_file_close(file);
	return error;
}

static int fill_repaired_database(struct sqlite_repair *repair, struct buffer *why)
{
	int error = sqlite_open(repair->made, why);

	if (error < 0)
		return error;
	error = sqlite_begin_write(repair->made);
	if (error == SQLITE_OK) {
		sqlite_repair_sort(repair);
		error = finish_repaired_database(repair);
	}
	error = error == SQLITE_OK ? 0 : explain_repair_error(repair->made, error, why);
	sqlite_close(repair->made); /* its log is written into it */
	return error;
}

static int put_in_place(struct sqlite_repair *repair, struct buffer *why)
{
	const char *made = repair->made->path;
	int error = sync_file(made);

	if (error == 0)
		error = os_file_set_aside(repair->old->path, made, &repair->options->kept);
	if (error < 0)
		buffer_append_format(why, "%s: %s", made, strerror(-error));
	return error;
}

static int make_new(struct sqlite_repair *repair, struct os_loop *loop, struct buffer *why)
{
	struct buffer path CLEANUP(buffer_clear) = {0};
	int error;

	buffer_append_format(&path, "%s.repaired%c", repair->old->path, '\0');
	repair->made = sqlite_new(loop, buffer_data(&path));
	sqlite_location_remove_log(repair->made); /* of a repair that was broken off */
	(void)!os_file_unlink(OS_FILE_HERE, buffer_data(&path));
	error = fill_repaired_database(repair, why);
	if (error == 0)
		error = put_in_place(repair, why);
	if (error < 0)
		(void)!os_file_unlink(OS_FILE_HERE, buffer_data(&path));
	repair->made->base.operations->free(&repair->made->base);
	return error;
}

/* ---- the whole ---- */

/* Of a file from which nothing can be read. */
static int put_unreadable_database_aside(struct sqlite_repair *repair, struct buffer *why)
{
	struct store_sqlite_repair *options = repair->options;
	int error = 0;

	options->state = STORE_SQLITE_UNREADABLE;
	if (options->applies)
		error = os_file_set_aside(repair->old->path, NULL, &options->kept);
	if (error < 0)
		buffer_append_format(why, "%s: %s", repair->old->path, strerror(-error));
	return error;
}

static int repair_tables(struct sqlite_repair *repair, struct os_loop *loop, struct buffer *why)
{
	struct store_sqlite_repair *options = repair->options;

	find_problem(repair);
	repair->is_total_right = sqlite_repair_add_up(repair);
	sqlite_repair_sort(repair);
	if (repair->has_errors && options->problem.length == 0)
		buffer_append_string(&options->problem, "some of it cannot be read");
	if (repair->has_bad_sums && options->problem.length == 0 && options->lost_count == 0)
		buffer_append_string(&options->problem, "some of its checksums are damaged");
	if (options->problem.length == 0 && options->lost_count == 0)
		return 0;
	options->state = STORE_SQLITE_DAMAGED;
	return options->applies ? make_new(repair, loop, why) : 0;
}

/* Nobody may change what is saved; but where the file is so damaged that it cannot be locked,
 * nobody can. */
static int begin_repair_transaction(struct sqlite_repair *repair, struct buffer *why)
{
	int error = sqlite3_exec(repair->old->database,
				 repair->options->applies ? "BEGIN IMMEDIATE" : "BEGIN", NULL, NULL,
				 NULL);

	return (error & 0xff) == SQLITE_BUSY ? explain_repair_error(repair->old, error, why) : 0;
}

static int repair_database_file(struct sqlite_repair *repair, struct os_loop *loop,
				struct buffer *why)
{
	struct sqlite_store *old = repair->old;
	int error = open_database_to_repair(old);

	if (sqlite_is_damage(error)) {
		buffer_append_string(&repair->options->problem, sqlite3_errmsg(old->database));
		return put_unreadable_database_aside(repair, why);
	}
	if (error != SQLITE_OK)
		return explain_repair_error(old, error, why);
	error = begin_repair_transaction(repair, why);
	if (error != 0)
		return error;
	/* a table whose text is damaged has no statements: its records cannot be read */
	if (sqlite_table_prepare(old) != SQLITE_OK &&
	    (old->data[DATA_META] == NULL || old->data[DATA_SUM] == NULL)) {
		buffer_append_string(&repair->options->problem, "it has no records");
		if (!has_tables(old))
			return put_unreadable_database_aside(repair, why);
		buffer_append_format(why,
				     "%s: these are the tables of another program or version; "
				     "put back the file of this directory",
				     old->path);
		return -EINVAL;
	}
	return repair_tables(repair, loop, why);
}

int store_sqlite_repair(struct os_loop *loop, const char *path, struct store_sqlite_repair *options,
			struct buffer *why)
{
	struct sqlite_repair repair = {
		.options = options, .old = sqlite_new(loop, path), .arena = arena_new()};
	struct os_file_info info;
	int error = os_file_info_at(OS_FILE_HERE, path, &info);

	if (error == 0)
		error = repair_database_file(&repair, loop, why);
	else
		buffer_append_format(why, "%s: %s", path, strerror(-error));
	if (repair.old->database != NULL)
		(void)sqlite3_exec(repair.old->database, "ROLLBACK", NULL, NULL, NULL);
	repair.old->base.operations->free(&repair.old->base);
	arena_free(repair.arena);
	return error;
}
