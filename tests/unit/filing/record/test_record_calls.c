// SPDX-License-Identifier: ISC
/*
 * Each statement of each operation on the record fails once, and each call of SQLite and of its
 * lock: the operation says so, nothing is made of what was done before it, and the next one is as
 * if nothing had been.
 */
#include "filing/lock/file.h"
#include "filing/record/internal.h"
#include "filing/record/sqlite/sqlite.h"
#include "record_life.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char directory[] = "/dev/shm/test_record_calls.XXXXXX"; /* nothing is really synced */
static char file[SCRATCH_SIZE + 10];

/* --- statements --- */

static struct {
	int calls, fails_at; /* 0: none */
	bool has_failed;
	bool is_of_sqlite; /* its calls count, not our statements */
} played;

static struct record_driver driver; /* SQLite's, but for RUN */
static int (*run_by_sqlite)(struct record_sql *sql, struct record_call *call);

static int run_or_fail(struct record_sql *sql, struct record_call *call)
{
	if (played.is_of_sqlite || ++played.calls != played.fails_at)
		return run_by_sqlite(sql, call);
	played.has_failed = true;
	return record_sql_fail(sql, -EIO, "the disk\n is gone\x7f");
}

static struct record *new_record(void)
{
	struct record *record = record_sqlite_new(file);
	struct record_sql *sql = record_sql_of(record);

	driver = *sql->driver;
	run_by_sqlite = driver.run;
	driver.run = run_or_fail;
	sql->driver = &driver;
	return record;
}

/* --- calls --- */

static int sqlite_error; /* what SQLite says of its last call, if that was played */

static bool does_call_fail(void)
{
	sqlite_error = 0;
	if (!played.is_of_sqlite || ++played.calls != played.fails_at)
		return false;
	played.has_failed = true;
	sqlite_error = SQLITE_IOERR;
	return true;
}

int __real_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_step(sqlite3_stmt *statement);
int __wrap_sqlite3_step(sqlite3_stmt *statement)
{
	return does_call_fail() ? SQLITE_IOERR : __real_sqlite3_step(statement);
}

int __real_sqlite3_prepare_v3(sqlite3 *database, const char *text, int length, unsigned flags,
			      sqlite3_stmt **out, const char **rest);
int __wrap_sqlite3_prepare_v3(sqlite3 *database, const char *text, int length, unsigned flags,
			      sqlite3_stmt **out, const char **rest);
int __wrap_sqlite3_prepare_v3(sqlite3 *database, const char *text, int length, unsigned flags,
			      sqlite3_stmt **out, const char **rest)
{
	*out = NULL;
	return does_call_fail()
		       ? SQLITE_IOERR
		       : __real_sqlite3_prepare_v3(database, text, length, flags, out, rest);
}

int __real_sqlite3_exec(sqlite3 *database, const char *text, void *call, void *context,
			char **error);
int __wrap_sqlite3_exec(sqlite3 *database, const char *text, void *call, void *context,
			char **error);
int __wrap_sqlite3_exec(sqlite3 *database, const char *text, void *call, void *context,
			char **error)
{
	/* what tidies up is not to fail */
	if (strcmp(text, "ROLLBACK") != 0 && does_call_fail())
		return SQLITE_IOERR;
	return __real_sqlite3_exec(database, text, call, context, error);
}

int __real_sqlite3_extended_errcode(sqlite3 *database);
int __wrap_sqlite3_extended_errcode(sqlite3 *database);
int __wrap_sqlite3_extended_errcode(sqlite3 *database)
{
	return sqlite_error != 0 ? sqlite_error : __real_sqlite3_extended_errcode(database);
}

int __real_lock_file_take(struct lock_file *lock, const struct lock_name *name);
int __wrap_lock_file_take(struct lock_file *lock, const struct lock_name *name);
int __wrap_lock_file_take(struct lock_file *lock, const struct lock_name *name)
{
	return does_call_fail() ? -EIO : __real_lock_file_take(lock, name);
}

/* --- one life of the record --- */

static void empty_record(void)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
	char name[SCRATCH_SIZE + 30];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(name, sizeof name, "%s%s", file, ends[i]);
		(void)unlink(name);
	}
}

static void fail_at(int number)
{
	played.calls = 0;
	played.has_failed = false;
	played.fails_at = number;
}

static bool has_failed(void)
{
	return played.has_failed;
}

static struct record_life_database database = {.copies = RECORD_LIFE_COPIES_MAX,
					       .connect = new_record,
					       .empty = empty_record,
					       .fail_at = fail_at,
					       .has_failed = has_failed,
					       .error = -EIO,
					       .commit_error = -EIO};

static void each_call_of_sqlite_fails_once(void **state)
{
	int call = 0;

	(void)state;
	played.is_of_sqlite = true;
	database.words = NULL;
	database.copies = RECORD_LIFE_COPIES_FEW;
	while (record_life_live(&database, ++call))
		;
	played.is_of_sqlite = false;
	assert_true(call > 100);
}

static void each_statement_fails_once(void **state)
{
	int statement = 0;

	(void)state;
	database.words = "the disk  is gone ";
	assert_false(record_life_live(&database, 0));
	while (record_life_live(&database, ++statement))
		;
	if (statement < 30)
		fail_msg("%d statements", statement);
}

static int set_up(void **state)
{
	(void)state;
	alarm(120);
	strcpy(directory + sizeof directory - 7, "XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(file, sizeof file, "%s/record", directory);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_statement_fails_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_call_of_sqlite_fails_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
