// SPDX-License-Identifier: ISC
/* The database of messages in PostgreSQL: how it is connected to, and what its errors mean, with a
 * played server. */
#include "filing/record/postgresql/internal.h"
#include "filing/record/postgresql/postgresql.h"
#include "record_contract.h"
#include "record_postgresql_scene.h"
#include "record_tables.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>

/* --- what an error means --- */

static struct record *open_record(void)
{
	struct record *record = record_postgresql_scene_connect();

	record_tables_empty();
	assert_int_equal(record_begin(record), 0);
	return record;
}

static void check_meaning(const char *fault_state, int error)
{
	struct record *record = open_record();
	char words[100];

	snprintf(words, sizeof words, "it is refused, SQLSTATE %s", fault_state);
	played_postgresql.fault = PLAYED_POSTGRESQL_REFUSES;
	played_postgresql.fault_state = fault_state;
	record_postgresql_scene_fail_at(1);
	if (record_check(record) != error)
		fail_msg("%s: %s", fault_state, record_error(record));
	assert_string_equal(record_error(record), words);
	record_postgresql_scene_fail_at(0);
	assert_int_equal(record_check(record), error);
	record_rollback(record);
	record_postgresql_scene_settle();
	/* one that is lost is closed */
	assert_int_equal(played_postgresql.open, error == -ENOTCONN ? 0 : 1);
	record_free(record);
	record_postgresql_scene_settle();
}

static void each_error_has_its_meaning(void **state)
{
	static const struct {
		const char *state;
		int error;
	} rows[] = {
		{"40001", -EDEADLK},   {"40P01", -EDEADLK},   {"40003", -EDEADLK},
		{"23505", -EDEADLK},   {"23503", -EDEADLK},   {"53100", -ENOSPC},
		{"53300", -EUSERS},    {"25006", -EROFS},     {"25P03", -ENOTCONN},
		{"57014", -ETIMEDOUT}, {"55P03", -ETIMEDOUT}, {"57P01", -ENOTCONN},
		{"57P03", -ENOTCONN},  {"08006", -ENOTCONN},  {"28P01", -EACCES},
		{"42501", -EACCES},    {"3D000", -EACCES},    {"42P01", -EPROTO},
		{"42703", -EPROTO},    {"42601", -EIO},       {"53200", -EIO},
		{"25001", -EIO},       {"22012", -EIO},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check_meaning(rows[i].state, rows[i].error);
}

/* --- connecting --- */

static bool is_said(const struct buffer *all, const char *words)
{
	return memmem(buffer_data(all), all->length, words, strlen(words)) != NULL;
}

/* The error of a first connection, and its words. */
static int begin_with(const char *to, char words[200])
{
	struct record *record = record_postgresql_new(to, RECORD_CONTRACT_TIMEOUT_MS);
	int error = record_begin(record);

	snprintf(words, 200, "%s", error != 0 ? record_error(record) : "");
	record_free(record);
	record_postgresql_scene_settle();
	assert_int_equal(played_postgresql.open, 0);
	return error;
}

static void check_refusal(int error, const char *words)
{
	char said[200];

	if (begin_with(record_postgresql_scene_conninfo, said) != error ||
	    strstr(said, words) == NULL)
		fail_msg("%d %s: %s", error, words, said);
}

static void a_login_is_refused(void **state)
{
	static const struct {
		const char *state;
		int error;
	} rows[] = {{"53300", -EUSERS}, {"28P01", -EACCES},   {"28000", -EACCES},
		    {"3D000", -EACCES}, {"57P03", -ENOTCONN}, {"XX000", -ENOTCONN}};
	char words[40];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		snprintf(words, sizeof words, "%s: you are refused", rows[i].state);
		played_postgresql.refuses_login = rows[i].state;
		check_refusal(rows[i].error, words);
	}
	played_postgresql.refuses_login = NULL;
	check_refusal(0, "");
}

static void a_database_is_not_as_it_has_to_be(void **state)
{
	struct record_postgresql_scene *scene = &record_postgresql_scene;

	(void)state;
	scene->is_read_only = true;
	check_refusal(-EROFS, "the database is read-only");
	scene->is_read_only = false;
	scene->is_old = true;
	check_refusal(-EPROTO, "PostgreSQL 13 or newer is needed");
	scene->is_old = false;
	scene->is_latin = true;
	check_refusal(-EPROTO, "the encoding of the database is not UTF8");
	scene->is_latin = false;
	check_refusal(0, "");
}

/* Each statement of a first connection, with tables that are made. */
static void each_statement_of_the_beginning_fails(void **state)
{
	char words[200];
	int statement = 0, error = 0;

	(void)state;
	played_postgresql.fault = PLAYED_POSTGRESQL_REFUSES;
	played_postgresql.fault_state = "42601";
	do {
		record_tables_empty();
		record_postgresql_scene_fail_at(++statement);
		error = begin_with(record_postgresql_scene_conninfo, words);
		assert_int_equal(error, record_postgresql_scene_has_failed() ? -EIO : 0);
		record_postgresql_scene_fail_at(0);
		assert_int_equal(begin_with(record_postgresql_scene_conninfo, words), 0);
	} while (error != 0);
	assert_true(statement > 20);
}

static int64_t time_to_fail(const char *to, const char *words)
{
	int64_t begun_us = record_postgresql_scene.now_us;
	char said[200];

	assert_int_equal(begin_with(to, said), -ENOTCONN);
	if (strstr(said, words) == NULL)
		fail_msg("%s", said);
	return record_postgresql_scene.now_us - begun_us;
}

/* Each host has its share of the time. */
static void hosts_are_tried_in_their_order(void **state)
{
	char words[200], several[700];
	const char *host = record_postgresql_scene_conninfo + strlen("host=");
	int length = (int)strcspn(host, " ");

	(void)state;
	snprintf(several, sizeof several, "host=/nonexistent,%.*s port=1,5432 dbname=mail user=a",
		 length, host);
	assert_int_equal(begin_with(several, words), 0);
	assert_true(is_said(&played_postgresql.startup, "user=a\ndatabase=mail\n"));
	snprintf(several, sizeof several, "host=%.*s,/nonexistent port=5432,1 user=a", length,
		 host);
	assert_int_equal(begin_with(several, words), 0);
	/* one port is that of all */
	snprintf(several, sizeof several, "host=/nonexistent,%.*s port=5432 user=a", length, host);
	assert_int_equal(begin_with(several, words), 0);
	snprintf(several, sizeof several, "host=/nonexistent,%.*s port=5432,1 user=a", length,
		 host);
	assert_int_equal(time_to_fail(several, ".s.PGSQL.1"), 0);
	played_postgresql.is_silent = true;
	assert_int_equal(time_to_fail(record_postgresql_scene_conninfo, "no connection in time"),
			 3000000);
	snprintf(several, sizeof several, "host=%.*s,/nonexistent,%.*s user=a", length, host,
		 length, host);
	assert_int_equal(time_to_fail(several, "no connection in time"), 2000000);
	played_postgresql.is_silent = false;
	assert_int_equal(begin_with("host = = 'x", words), -EIO);
	assert_string_equal(words, "not a valid connection string");
}

/* A call has all of the time again. */
static void a_call_has_its_time(void **state)
{
	struct record *record;
	char several[700];
	int64_t begun_us;

	(void)state;
	snprintf(several, sizeof several, "host=/nonexistent,%.*s user=a",
		 (int)strcspn(record_postgresql_scene_conninfo + 5, " "),
		 record_postgresql_scene_conninfo + 5);
	record = record_postgresql_new(several, 3000);
	assert_int_equal(record_begin(record), 0);
	begun_us = record_postgresql_scene.now_us;
	played_postgresql.is_silent = true;
	assert_int_equal(record_check(record), -ETIMEDOUT);
	assert_int_equal(record_postgresql_scene.now_us - begun_us, 3000000);
	assert_string_equal(record_error(record), "no answer in time");
	record_rollback(record);
	assert_int_equal(record_begin(record), -ENOTCONN);
	played_postgresql.is_silent = false;
	assert_int_equal(record_begin(record), 0);
	record_free(record);
	record_postgresql_scene_settle();
}

/* What the connection string does not say, and what it cannot. */
static void a_connection_has_our_parameters(void **state)
{
	static const char *const wanted[] = {
		"keepalives_idle=2",
		"keepalives_interval=1",
		"keepalives_count=3",
		"tcp_user_timeout=5000",
		"gssencmode=disable",
		"application_name=ours",
		"passfile=/nonexistent/passfile",
		"sslcert=/nonexistent/sslcert",
		"sslkey=/nonexistent/sslkey",
		"sslrootcert=/nonexistent/sslrootcert",
		"sslcrl=/nonexistent/sslcrl",
		"client_encoding=UTF8",
		"target_session_attrs=any",
		"replication=",
		"port=5432",
	};
	struct record_postgresql *postgresql;
	struct record *record;
	PQconninfoOption *options;

	(void)state;
	snprintf(record_postgresql_scene_conninfo + strlen(record_postgresql_scene_conninfo),
		 sizeof record_postgresql_scene_conninfo - strlen(record_postgresql_scene_conninfo),
		 " application_name=ours client_encoding=LATIN1 port=5432");
	record = open_record();
	postgresql = (struct record_postgresql *)(void *)record;
	options = PQconninfo(postgresql->connection);
	for (size_t i = 0; i < COUNT_OF(wanted); i++) {
		size_t length = strcspn(wanted[i], "=");
		PQconninfoOption *option = options;

		while (strncmp(option->keyword, wanted[i], length) != 0 ||
		       option->keyword[length] != '\0')
			option++;
		assert_string_equal(option->val != NULL ? option->val : "", wanted[i] + length + 1);
	}
	PQconninfoFree(options);
	/* the server gives up before we do */
	assert_true(is_said(&played_postgresql.heard,
			    " set_config('statement_timeout', '2700', false),"
			    " set_config('lock_timeout', '2700', false),"
			    " set_config('idle_in_transaction_session_timeout', '60000', false),"
			    " set_config('default_transaction_isolation', 'read committed', "
			    "false),"));
	record_free(record);
	record_postgresql_scene_settle();
}

/* Notices are nobody's. */
static void who_lost_the_connection_connects_again(void **state)
{
	struct record *record = open_record();
	unsigned accepted = played_postgresql.accepted;

	(void)state;
	assert_int_equal(record_commit(record), 0);
	assert_int_equal(record_begin(record), 0);
	played_postgresql_notice("hear, hear");
	assert_int_equal(record_check(record), 0);
	assert_int_equal(record_commit(record), 0);
	assert_int_equal(played_postgresql.accepted, accepted);
	for (int with_words = 0; with_words < 2; with_words++) {
		played_postgresql_lose_all(with_words);
		assert_int_equal(record_begin(record), 0);
		assert_int_equal(played_postgresql.accepted, ++accepted);
		assert_int_equal(record_check(record), 0);
		played_postgresql_lose_all(with_words);
		assert_int_equal(record_check(record), -ENOTCONN);
		assert_non_null(strstr(record_error(record),
				       with_words ? "an administrator's command, SQLSTATE 57P01"
						  : "closed the connection unexpectedly"));
		record_rollback(record);
		accepted++;
		assert_int_equal(record_begin(record), 0);
		assert_int_equal(record_commit(record), 0);
	}
	record_free(record);
	record_postgresql_scene_settle();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED_TEST(each_error_has_its_meaning),
		PLAYED_TEST(a_login_is_refused),
		PLAYED_TEST(a_database_is_not_as_it_has_to_be),
		PLAYED_TEST(each_statement_of_the_beginning_fails),
		PLAYED_TEST(hosts_are_tried_in_their_order),
		PLAYED_TEST(a_call_has_its_time),
		PLAYED_TEST(a_connection_has_our_parameters),
		PLAYED_TEST(who_lost_the_connection_connects_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
