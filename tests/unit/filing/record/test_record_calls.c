// SPDX-License-Identifier: ISC
/*
 * Each statement of each operation on the record fails once, and each call of SQLite and of its
 * lock: the operation says so, nothing is made of what was done before it, and the next one is as
 * if nothing had been.
 */
#include "filing/lock/file.h"
#include "filing/record/internal.h"
#include "filing/record/sqlite/sqlite.h"
#include "record_scene.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { COPIES = 66 /* more than are asked for at once */, OLD_US = 5000 };

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

static struct {
	struct record *record;
	struct record_message messages[3];
	struct record_entry entries[3];
	struct record_attempt attempts[COPIES];
	struct record_attempt *list[COPIES];
	char users[COPIES][30], copies[COPIES][20];
	unsigned new_folders, pruned, listed;
} life;

static int lock_all(void)
{
	struct lock_name names[2] = {record_scene_name("<1@x>"), record_scene_name("<2@x>")};
	struct record_turn turns[] = {{.name = &names[0]}, {.name = &names[1]}};
	int error = record_lock_all(life.record, turns, 2);

	if (error == 0)
		assert_true(turns[0].is_taken && turns[1].is_taken);
	return error;
}

static int put_all(void)
{
	int error;

	life.messages[0] = record_scene_message("<1@x>", 1);
	life.messages[1] = record_scene_message("<2@x>", 2);
	life.messages[2] = record_scene_message("<1@x>", 3);
	for (size_t i = 0; i < 3; i++)
		life.entries[i] = (struct record_entry){.message = &life.messages[i]};
	error = record_put_all(life.record, life.entries, 3);
	for (size_t i = 0; i < 3 && error == 0; i++)
		assert_true(life.entries[i].is_new && life.entries[i].number > 0);
	return error;
}

/* The same ones are there already: none is new. */
static int put_again(void)
{
	int error = record_put_all(life.record, life.entries, 3);

	for (size_t i = 0; i < 3 && error == 0; i++) {
		assert_false(life.entries[i].is_new);
		assert_int_equal(life.entries[i].different, i == 1 ? 0 : 1);
	}
	return error;
}

static void set_attempts(bool is_new)
{
	for (size_t i = 0; i < COPIES; i++) {
		snprintf(life.users[i], sizeof life.users[i], "u%zu@example.org", i);
		snprintf(life.copies[i], sizeof life.copies[i], "copy%zu", i);
		life.attempts[i] = (struct record_attempt){
			.message = life.entries[0].number,
			.is_new = is_new,
			.mailbox = {str_from(life.users[i]), STR("INBOX")},
			.decision = {.purpose = str_from(life.users[i]), .rule = STR("rule")},
			.copy = str_from(life.copies[i])};
		memset(life.attempts[i].token.bytes, (int)i, RECORD_TOKEN_SIZE);
		life.list[i] = &life.attempts[i];
	}
}

static int decide_all(void)
{
	set_attempts(true);
	return record_decide_all(life.record, life.list, COPIES);
}

static int move_some(void)
{
	int error;

	for (size_t i = 0; i < 3; i++)
		life.attempts[i].mailbox.folder = STR("Elsewhere");
	error = record_move_all(life.record, life.list, 3);
	return error;
}

static int decide_again(void)
{
	int error;

	set_attempts(false);
	error = record_decide_all(life.record, life.list, COPIES);
	for (size_t i = 0; i < COPIES && error == 0; i++)
		assert_true(str_equal(life.attempts[i].mailbox.folder,
				      i < 3 ? STR("Elsewhere") : STR("INBOX")));
	return error;
}

static int open_all(void)
{
	int error;

	set_attempts(true);
	error = record_open_all(life.record, life.list, COPIES, 1000);
	for (size_t i = 0; i < COPIES && error == 0; i++) {
		const struct record_filing *row = &life.attempts[i].row;

		assert_true(row->is_new && row->is_ours && row->number > 0 && row->others == 0);
		assert_int_equal(row->state, RECORD_FILING);
	}
	return error;
}

static int look_all(void)
{
	int error = record_look_all(life.record, life.list, COPIES);

	for (size_t i = 0; i < COPIES && error == 0; i++)
		assert_true(life.attempts[i].row.is_ours &&
			    life.attempts[i].row.state == RECORD_FILING);
	return error;
}

static int mark_all_filed(void)
{
	return record_filed_all(life.record, life.list, COPIES - 2, 2000);
}

static int end_all(void)
{
	return record_end_all(life.record, &life.list[COPIES - 2], 1);
}

static int settle_last(void)
{
	return record_settle(life.record, life.attempts[COPIES - 1].row.number, OLD_US);
}

static int look_at_filed(void)
{
	int error = record_look_all(life.record, life.list, COPIES);

	for (size_t i = 0; i < COPIES && error == 0; i++) {
		const struct record_filing *row = &life.attempts[i].row;

		assert_int_equal(row->state, i < COPIES - 2 ? RECORD_FILED : RECORD_FILING);
		assert_true(!row->is_ours && row->others == 0);
		if (row->state == RECORD_FILED) {
			assert_true(str_equal(row->copy, str_from(life.copies[i])));
			assert_int_equal(row->filed_us, 2000);
		}
	}
	return error;
}

static int count_new_folders(void)
{
	const struct record_mailbox place = {str_from(life.users[0]), STR("Another")};

	return record_new_folders(life.record, &place, 0, &life.new_folders);
}

static int unfile_two(void)
{
	int error = record_unfile(life.record, life.attempts[COPIES - 2].row.number);

	return error == 0 ? record_unfile(life.record, life.attempts[COPIES - 1].row.number)
			  : error;
}

static int commit_all(void)
{
	return record_commit(life.record);
}

/* --- outside of transactions --- */

static void count_listed(void *context, const struct record_listed *listed)
{
	(void)context;
	life.listed++;
	assert_int_equal(listed->message.decoded->participant_count, 3);
	assert_int_equal(listed->place_count, str_equal(listed->message.id, STR("<1@x>")) &&
							      listed->message.digest[0] == 1
						      ? COPIES - 2
						      : 0);
}

static int list_all(void)
{
	const struct record_query query = {.limit = 10};

	life.listed = 0;
	return record_list(life.record, &query, count_listed, NULL);
}

static int prune_all(void)
{
	return record_prune(life.record, INT64_MAX, 10, &life.pruned);
}

static int begin_work(void)
{
	return record_begin(life.record);
}

static int (*const steps[])(void) = {
	begin_work,    lock_all,   put_all,           put_again,      decide_all, move_some,
	decide_again,  open_all,   look_all,          mark_all_filed, end_all,    settle_last,
	look_at_filed, unfile_two, count_new_folders, commit_all,     list_all,   prune_all,
};

/* How many messages there are, for somebody else. */
static unsigned count_messages(void)
{
	struct record *before = life.record, *other = record_sqlite_new(file);
	unsigned count;

	life.record = other;
	played.fails_at = 0;
	assert_int_equal(list_all(), 0);
	count = life.listed;
	record_free(other);
	life.record = before;
	return count;
}

static void empty_record(void)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
	char name[SCRATCH_SIZE + 30];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(name, sizeof name, "%s%s", file, ends[i]);
		(void)unlink(name);
	}
}

/* All steps, the statement FAILS_AT of which fails. False: there are not so many. */
static bool live_once(int fails_at)
{
	size_t step = 0;

	played.fails_at = 0;
	empty_record();
	life.record = new_record();
	assert_int_equal(record_begin(life.record), 0); /* the tables are made */
	assert_int_equal(record_commit(life.record), 0);
	played.calls = 0;
	played.has_failed = false;
	played.fails_at = fails_at;
	for (; step < COUNT_OF(steps); step++) {
		int error = steps[step]();

		if (error != (played.has_failed ? -EIO : 0))
			fail_msg("step %zu, call %d%s: %d %s", step, fails_at,
				 played.is_of_sqlite ? " of SQLite" : "", error,
				 record_error(life.record));
		if (played.has_failed)
			break;
	}
	if (played.has_failed) {
		bool was_committed = step >= COUNT_OF(steps) - 2;

		if (!played.is_of_sqlite)
			assert_string_equal(record_error(life.record), "the disk  is gone ");
		/* nothing goes on until it is rolled back */
		if (!was_committed) {
			assert_int_equal(record_commit(life.record), -EIO);
			record_rollback(life.record);
		}
		assert_int_equal(count_messages(), was_committed ? 3 : 0);
		played.fails_at = 0;
		assert_int_equal(record_begin(life.record), 0);
		record_rollback(life.record);
	} else {
		assert_int_equal(life.pruned, 3);
		assert_int_equal(life.new_folders, 1);
	}
	record_free(life.record);
	return played.has_failed;
}

static void each_call_of_sqlite_fails_once(void **state)
{
	int call = 0;

	(void)state;
	played.is_of_sqlite = true;
	while (live_once(++call))
		;
	played.is_of_sqlite = false;
	assert_true(call > 100);
}

static void each_statement_fails_once(void **state)
{
	int statement = 0;

	(void)state;
	assert_false(live_once(0));
	while (live_once(++statement))
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
