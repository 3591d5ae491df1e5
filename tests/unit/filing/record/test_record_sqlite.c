// SPDX-License-Identifier: ISC
/* The database of messages in a file of SQLite: the contract, and what can become of a file. */
#include "filing/record/sqlite/sqlite.h"
#include "record_contract.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];
static char path[SCRATCH_SIZE + 20];

static struct record *connect_to(void)
{
	return record_sqlite_new(path);
}

static void empty(void)
{
	static const char *const ends[] = {"", "-wal", "-shm", "-lock"};
	char file[SCRATCH_SIZE + 30];

	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		snprintf(file, sizeof file, "%s%s", path, ends[i]);
		(void)unlink(file);
	}
}

/* As a connection of its own: that of the administrator of the contract. */
static void run(const char *sql)
{
	sqlite3 *database;
	char *error = NULL;

	if (sqlite3_open(path, &database) != SQLITE_OK ||
	    sqlite3_exec(database, sql, NULL, NULL, &error) != SQLITE_OK)
		fail_msg("%s: %s", sql, error != NULL ? error : sqlite3_errmsg(database));
	sqlite3_close(database);
}

/* ---- files ---- */

static const struct decode_message decoded;
static const struct record_message message = {.id = {"<1@example.com>", 15}, .decoded = &decoded};

/* Records a message, and ends the transaction: the first error. */
static int put(struct record *record)
{
	int64_t number;
	bool is_new;
	unsigned different;
	int error = record_begin(record);

	if (error == 0)
		error = record_put(record, &message, &number, &is_new, &different);
	if (error == 0)
		error = record_commit(record);
	if (error != 0)
		record_rollback(record);
	return error;
}

static int write_error;
static ssize_t (*real_pwrite)(int file, const void *data, size_t size, off_t offset);

static ssize_t pwrite_or_fail(int file, const void *data, size_t size, off_t offset)
{
	if (write_error == 0)
		return real_pwrite(file, data, size, offset);
	errno = write_error;
	return -1;
}

static void watch_writes(void)
{
	static const char *const names[] = {"pwrite", "pwrite64"};
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		sqlite3_syscall_ptr call = vfs->xGetSystemCall(vfs, names[i]);

		if (call == NULL)
			continue;
		real_pwrite = (ssize_t(*)(int, const void *, size_t, off_t))call;
		assert_int_equal(
			vfs->xSetSystemCall(vfs, names[i], (sqlite3_syscall_ptr)pwrite_or_fail),
			SQLITE_OK);
	}
	assert_non_null(real_pwrite);
}

static int make_empty(void **state)
{
	(void)state;
	empty();
	return 0;
}

static void a_disk_may_be_full(void **state)
{
	static const struct {
		int system, error;
	} rows[] = {{ENOSPC, -ENOSPC}, {EDQUOT, -ENOSPC}, {EIO, -EIO}};
	struct record *record = connect_to();

	(void)state;
	assert_int_equal(record_begin(record), 0);
	record_rollback(record);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		write_error = rows[i].system;
		if (put(record) != rows[i].error)
			fail_msg("%s: %s", strerror(rows[i].system), record_error(record));
		write_error = 0;
	}
	assert_int_equal(put(record), 0);
	record_free(record);
}

static void a_file_may_be_read_only(void **state)
{
	struct record *record = connect_to();
	sqlite3 *database;

	(void)state;
	assert_int_equal(put(record), 0);
	record_free(record);
	/* as of a filesystem that is: nobody may write */
	assert_int_equal(sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	sqlite3_close(database);
	write_error = EROFS;
	record = connect_to();
	assert_int_equal(put(record), -EROFS);
	write_error = 0;
	record_free(record);
}

/* What was done with a file that is not there any more would be lost. */
static void a_file_that_was_replaced_is_noticed(void **state)
{
	static const char *const ends[] = {"", "-lock"};
	struct record *record = connect_to();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ends); i++) {
		char file[SCRATCH_SIZE + 30];
		struct lock_name name;

		assert_int_equal(put(record), 0);
		lock_name_make(message.id, &name);
		assert_int_equal(record_begin(record), 0);
		assert_int_equal(record_lock(record, &name), 0);
		assert_int_equal(record_check(record), 0);
		snprintf(file, sizeof file, "%s%s", path, ends[i]);
		assert_int_equal(unlink(file), 0);
		assert_int_equal(record_check(record), -ENOTCONN);
		assert_int_equal(record_commit(record), -ENOTCONN);
		record_rollback(record);
		empty();
	}
	assert_int_equal(put(record), 0);
	record_free(record);
}

/* Each call of a transaction, with nothing to do. */
static int call_any(struct record *record, unsigned which)
{
	struct record_attempt attempt = {
		.message = 1, .mailbox = {STR("u@x"), STR("INBOX")}, .row = {.number = 1}};
	struct record_attempt *attempts[] = {&attempt};
	struct record_entry entry = {.message = &message};
	unsigned count;

	switch (which) {
	case 0:
		return record_put_all(record, &entry, 1);
	case 1:
		return record_decide_all(record, attempts, 1);
	case 2:
		return record_move_all(record, attempts, 1);
	case 3:
		return record_open_all(record, attempts, 1, 1);
	case 4:
		return record_look_all(record, attempts, 1);
	case 5:
		return record_filed_all(record, attempts, 1, 1);
	case 6:
		return record_end_all(record, attempts, 1);
	case 7:
		return record_settle(record, 1, 1);
	case 8:
		return record_unfile(record, 1);
	case 9:
		return record_new_folders(record, &attempt.mailbox, 1, &count);
	case 10:
		return record_check(record);
	default:
		return record_commit(record);
	}
}

/* Nothing of it holds, whatever is called then. */
static void a_transaction_that_failed_is_over(void **state)
{
	struct record *record = connect_to();

	(void)state;
	assert_int_equal(put(record), 0);
	for (unsigned first = 10; first <= 11; first++)
		for (unsigned which = 0; which < 12; which++) {
			assert_int_equal(record_begin(record), 0);
			assert_int_equal(unlink(path), 0);
			if (first == 11) /* with something to commit */
				assert_int_equal(call_any(record, 1), 0);
			assert_int_equal(call_any(record, first), -ENOTCONN);
			assert_int_equal(call_any(record, which), -ENOTCONN);
			assert_non_null(strstr(record_error(record), "were removed or replaced"));
			record_rollback(record);
			/* and outside of transactions nothing is done */
			assert_int_equal(call_any(record, which), -EINVAL);
			empty();
			assert_int_equal(put(record), 0);
		}
	record_free(record);
}

static void write_to(const char *end, const char *text)
{
	char file[SCRATCH_SIZE + 30];
	FILE *stream;

	snprintf(file, sizeof file, "%s%s", path, end);
	stream = fopen(file, "w");
	assert_non_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static void remove_file(const char *end)
{
	char file[SCRATCH_SIZE + 30];

	snprintf(file, sizeof file, "%s%s", path, end);
	(void)unlink(file);
}

/* With an empty record, or another one, what comes again would be filed again. */
static void what_is_in_the_place_of_a_record_is_refused(void **state)
{
	static const struct {
		const char *text; /* NULL: there is no file */
		const char *sql;
		const char *said;
	} cases[] = {
		{NULL, NULL, "the file is gone"},
		{"", NULL, "the file is empty"},
		{"no database, though it is long enough for that ..........................."
		 "...........................................................................",
		 NULL, "file is not a database"},
		{NULL, "CREATE TABLE t(x)", "it has no record"},
		{NULL,
		 "CREATE TABLE record_meta(program TEXT PRIMARY KEY, version INTEGER);"
		 "INSERT INTO record_meta VALUES('stagepost', 0), ('site 0123', 0)",
		 "this is the record of another site"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct record *record = connect_to();

		assert_int_equal(put(record), 0);
		record_free(record);
		remove_file("");
		remove_file("-wal");
		if (cases[i].text != NULL)
			write_to("", cases[i].text);
		if (cases[i].sql != NULL)
			run(cases[i].sql);
		record = connect_to();
		for (unsigned tries = 0; tries < 2; tries++) {
			assert_int_equal(put(record), -EPROTO);
			assert_non_null(strstr(record_error(record), cases[i].said));
			assert_non_null(strstr(record_error(record),
					       ": run \"stagepost mailbox repair --rebuild\""));
		}
		record_free(record);
		empty();
	}
}

static void other_files_are_refused(void **state)
{
	struct record *record = connect_to();
	FILE *file = fopen(path, "w");

	(void)state;
	assert_non_null(file);
	for (int i = 0; i < 1000; i++)
		fputs("this is no database\n", file);
	fclose(file);
	assert_int_equal(put(record), -EPROTO);
	record_free(record);
}

static void a_folder_that_is_missing_is_named(void **state)
{
	struct record *record = record_sqlite_new("/nonexistent/record");

	(void)state;
	assert_int_equal(record_begin(record), -EIO);
	assert_string_equal(record_error(record), "/nonexistent/record: No such file or directory");
	record_free(record);
}

static int test_files(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_disk_may_be_full, make_empty),
		cmocka_unit_test_setup(a_file_may_be_read_only, make_empty),
		cmocka_unit_test_setup(a_file_that_was_replaced_is_noticed, make_empty),
		cmocka_unit_test_setup(a_transaction_that_failed_is_over, make_empty),
		cmocka_unit_test_setup(other_files_are_refused, make_empty),
		cmocka_unit_test_setup(what_is_in_the_place_of_a_record_is_refused, make_empty),
		cmocka_unit_test(a_folder_that_is_missing_is_named),
	};

	watch_writes();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(void)
{
	static const struct record_contract contract = {
		.connect = connect_to, .empty = empty, .run = run};
	int failed;

	if (scratch_make(folder) < 0)
		return 1;
	snprintf(path, sizeof path, "%s/record", folder);
	failed = record_contract_run(&contract) + test_files();
	scratch_remove(folder);
	return failed;
}
