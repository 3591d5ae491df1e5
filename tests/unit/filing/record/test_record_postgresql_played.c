// SPDX-License-Identifier: ISC
/* The database of messages in PostgreSQL, with a played server: each statement
 * that fails. */
#include "record_life.h"
#include "record_postgresql_scene.h"
#include "test.h"
#include <errno.h>

static struct record_life_database database = {.copies = RECORD_LIFE_COPIES_FEW,
					       .connect = record_postgresql_scene_connect,
					       .empty = record_postgresql_scene_empty,
					       .fail_at = record_postgresql_scene_fail_at,
					       .has_failed = record_postgresql_scene_has_failed};

static void play_fault(enum played_postgresql_fault fault, const char *fault_state, int error)
{
	int statement = 0;

	played_postgresql.fault = fault;
	played_postgresql.fault_state = fault_state;
	database.error = error;
	/* it may come about yet */
	database.commit_error = error == -ETIMEDOUT ? -ENOTCONN : error;
	database.may_be_done = fault == PLAYED_POSTGRESQL_DOES_IT_CLOSES;
	while (record_life_live(&database, ++statement))
		;
	record_postgresql_scene_settle();
	if (statement < 30)
		fail_msg("only %d statements", statement);
}

static void each_statement_fails_once(void **state)
{
	(void)state;
	assert_false(record_life_live(&database, 0));
	record_postgresql_scene_settle();
	play_fault(PLAYED_POSTGRESQL_REFUSES, "XX000", -EIO);
}

static void the_connection_is_lost_in_each_statement(void **state)
{
	(void)state;
	play_fault(PLAYED_POSTGRESQL_CLOSES, NULL, -ENOTCONN);
	play_fault(PLAYED_POSTGRESQL_DOES_IT_CLOSES, NULL, -ENOTCONN);
}

/* The answer does not come, or is none: the connection is not to be trusted any more. */
static void each_statement_is_not_answered(void **state)
{
	(void)state;
	play_fault(PLAYED_POSTGRESQL_IS_SILENT, NULL, -ETIMEDOUT);
	play_fault(PLAYED_POSTGRESQL_BABBLES, NULL, -ENOTCONN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED_TEST(each_statement_fails_once),
		PLAYED_TEST(the_connection_is_lost_in_each_statement),
		PLAYED_TEST(each_statement_is_not_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
