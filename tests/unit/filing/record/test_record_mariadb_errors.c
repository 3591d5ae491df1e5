// SPDX-License-Identifier: ISC
/* The database of messages in MariaDB: what its errors mean, and what becomes of a connection and
 * its locks, with a played server. */
#include "played_mariadb.h"
#include "record_scene.h"
#include "record_tables.h"
#include "test.h"
#include <errmsg.h>
#include <errno.h>
#include <mysqld_error.h>
#include <stdio.h>

static struct record *open_record(void)
{
	struct record *record = played_mariadb_connect();

	record_tables_empty();
	assert_int_equal(record_begin(record), 0);
	return record;
}

/* --- what an error means --- */

static void check_meaning(unsigned number, const char *words, int error)
{
	struct record *record = open_record();
	const char *said = number == CR_PLUGIN_NOT_ALLOWED
				   ? "the server asks for an authentication method that "
				     "discloses the password"
				   : words;
	char wanted[200];

	snprintf(wanted, sizeof wanted, "%s, error %u", said, number);
	played_mariadb.fault = PLAYED_MARIADB_REFUSES;
	played_mariadb.fault_number = number;
	played_mariadb.fault_words = words;
	played_mariadb_fail_at(1);
	if (record_check(record) != error)
		fail_msg("%u: %s", number, record_error(record));
	assert_string_equal(record_error(record), wanted);
	played_mariadb_fail_at(0);
	assert_int_equal(record_check(record), error);
	assert_int_equal(record_commit(record), error);
	record_rollback(record);
	/* one that is lost is closed */
	assert_int_equal(played_mariadb.open, error == -ENOTCONN ? 0 : 1);
	record_free(record);
}

static void each_error_has_its_meaning(void **state)
{
	static const struct {
		unsigned number;
		int error;
	} rows[] = {
		{ER_LOCK_DEADLOCK, -EDEADLK},
		{ER_CHECKREAD, -EDEADLK},
		{ER_NO_REFERENCED_ROW_2, -EDEADLK},
		{ER_DUP_ENTRY, -EDEADLK},
		{ER_DISK_FULL, -ENOSPC},
		{ER_RECORD_FILE_FULL, -ENOSPC},
		{ER_OPTION_PREVENTS_STATEMENT, -EROFS},
		{ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, -EROFS},
		{ER_CON_COUNT_ERROR, -EUSERS},
		{ER_TOO_MANY_USER_CONNECTIONS, -EUSERS},
		{ER_USER_LIMIT_REACHED, -EUSERS},
		{ER_ACCESS_DENIED_ERROR, -EACCES},
		{ER_DBACCESS_DENIED_ERROR, -EACCES},
		{ER_TABLEACCESS_DENIED_ERROR, -EACCES},
		{ER_COLUMNACCESS_DENIED_ERROR, -EACCES},
		{ER_SPECIFIC_ACCESS_DENIED_ERROR, -EACCES},
		{ER_BAD_DB_ERROR, -EACCES},
		{ER_NO_SUCH_TABLE, -EPROTO},
		{ER_BAD_FIELD_ERROR, -EPROTO},
		{ER_LOCK_WAIT_TIMEOUT, -ETIMEDOUT},
		{ER_STATEMENT_TIMEOUT, -ETIMEDOUT},
		{ER_QUERY_INTERRUPTED, -ETIMEDOUT},
		{ER_SERVER_SHUTDOWN, -ENOTCONN},
		{ER_NORMAL_SHUTDOWN, -ENOTCONN},
		{ER_CONNECTION_KILLED, -ENOTCONN},
		{ER_NEW_ABORTING_CONNECTION, -ENOTCONN},
		{CR_PLUGIN_NOT_ALLOWED, -EACCES},
		{CR_MIN_ERROR - 1, -EIO},
		{CR_MIN_ERROR, -ENOTCONN},
		{CR_SERVER_GONE_ERROR, -ENOTCONN},
		{CR_MAX_ERROR, -ENOTCONN},
		{CR_MAX_ERROR + 1, -EIO},
		{CER_MIN_ERROR - 1, -EIO},
		{CER_MIN_ERROR, -ENOTCONN},
		{CER_MIN_ERROR + 100, -ENOTCONN},
		{ER_UNKNOWN_ERROR, -EIO},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check_meaning(rows[i].number, "it is refused", rows[i].error);
	/* the system's number of "no space left", and others */
	check_meaning(ER_UNKNOWN_ERROR, "Got error 28 \"No space\"", -ENOSPC);
	check_meaning(ER_UNKNOWN_ERROR, "Error 28 when writing", -ENOSPC);
	check_meaning(ER_UNKNOWN_ERROR, "Can't write (Errcode: 1 \"x\", errno: 28)", -ENOSPC);
	check_meaning(ER_UNKNOWN_ERROR, "Got error 280 from the engine", -EIO);
}

/* --- lives --- */

static void who_lost_the_connection_connects_again(void **state)
{
	struct record *record = open_record();
	unsigned opened = played_mariadb.opened;

	(void)state;
	assert_int_equal(record_commit(record), 0);
	assert_int_equal(record_begin(record), 0);
	assert_int_equal(record_commit(record), 0);
	assert_int_equal(played_mariadb.opened, opened);
	played_mariadb_lose_all();
	assert_int_equal(record_begin(record), 0);
	assert_int_equal(played_mariadb.opened, opened + 1);
	assert_int_equal(record_check(record), 0);
	played_mariadb_lose_all();
	assert_int_equal(record_check(record), -ENOTCONN);
	record_rollback(record);
	assert_int_equal(record_check(record), -EINVAL);
	assert_int_equal(record_begin(record), 0);
	assert_int_equal(record_commit(record), 0);
	record_free(record);
}

static struct record *record_with_lock(const struct lock_name *name)
{
	struct record *record = open_record();

	played_mariadb_lose_locks();
	assert_int_equal(record_lock(record, name), 0);
	return record;
}

/* A lock that another one has by now, or nobody: the turn was lost. */
static void a_lock_is_lost(void **state)
{
	static void (*const ways[])(void) = {played_mariadb_lose_locks, played_mariadb_steal_locks};
	static const char released[] = "the lock was not there any more when it was released";
	const struct lock_name name = record_scene_name("<1@example.com>");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		struct record *record = record_with_lock(&name);

		assert_int_equal(record_check(record), 0);
		ways[i]();
		assert_int_equal(record_check(record), -ENOTCONN);
		assert_string_equal(record_error(record), "the lock is not there any more");
		assert_int_equal(played_mariadb.open, 0);
		record_rollback(record);
		record_free(record);
		record = record_with_lock(&name);
		ways[i]();
		assert_int_equal(record_commit(record), -ENOTCONN);
		assert_string_equal(record_error(record), released);
		assert_int_equal(played_mariadb.open, 0);
		record_rollback(record);
		record_free(record);
		record = record_with_lock(&name);
		ways[i]();
		record_rollback(record);
		assert_int_equal(played_mariadb.open, 0);
		/* it has none in its next life */
		assert_int_equal(record_begin(record), 0);
		assert_int_equal(record_lock(record, &name), i == 0 ? 0 : -EAGAIN);
		assert_int_equal(record_commit(record), 0);
		record_free(record);
	}
}

static void it_is_not_known_whether_a_lock_was_taken(void **state)
{
	const struct lock_name name = record_scene_name("<1@example.com>");
	struct record *record = open_record();

	(void)state;
	played_mariadb.lock_fails = true;
	assert_int_equal(record_lock(record, &name), -ENOTCONN);
	assert_string_equal(record_error(record), "GET_LOCK() failed");
	assert_int_equal(played_mariadb.open, 0);
	record_rollback(record);
	record_free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED_TEST(each_error_has_its_meaning),
		PLAYED_TEST(who_lost_the_connection_connects_again),
		PLAYED_TEST(a_lock_is_lost),
		PLAYED_TEST(it_is_not_known_whether_a_lock_was_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
