// SPDX-License-Identifier: ISC
/* The database of messages in MariaDB, with a played server: each call that
 * fails. */
#include "played_mariadb.h"
#include "record_life.h"
#include "test.h"
#include <errno.h>
#include <mysqld_error.h>

static struct record_life_database database = {.copies = RECORD_LIFE_COPIES_FEW,
					       .connect = played_mariadb_connect,
					       .empty = played_mariadb_empty,
					       .fail_at = played_mariadb_fail_at,
					       .has_failed = played_mariadb_has_failed};

static void play_fault(enum played_mariadb_fault fault, int error, const char *words)
{
	int call = 0;

	played_mariadb.fault = fault;
	database.error = database.commit_error = error;
	database.words = words;
	database.may_be_done = true; /* what follows a commit are its locks */
	while (record_life_live(&database, ++call))
		;
	if (call < 40)
		fail_msg("only %d calls", call);
}

static void each_call_fails_once(void **state)
{
	(void)state;
	assert_false(record_life_live(&database, 0));
	played_mariadb.fault_number = ER_UNKNOWN_ERROR;
	played_mariadb.fault_words = "it is\nrefused";
	play_fault(PLAYED_MARIADB_REFUSES, -EIO, "it is refused, error 1105");
}

static void the_connection_is_lost_in_each_call(void **state)
{
	(void)state;
	play_fault(PLAYED_MARIADB_LOSES, -ENOTCONN, "Lost connection to server, error 2013");
	play_fault(PLAYED_MARIADB_DOES_IT_LOSES, -ENOTCONN,
		   "Lost connection to server, error 2013");
}

static void each_call_is_not_answered(void **state)
{
	(void)state;
	play_fault(PLAYED_MARIADB_IS_SILENT, -ENOTCONN, "Lost connection to server, error 2013");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED_TEST(each_call_fails_once),
		PLAYED_TEST(the_connection_is_lost_in_each_call),
		PLAYED_TEST(each_call_is_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
