// SPDX-License-Identifier: ISC
/* The database of messages in MariaDB: how it is connected to, with a played server. */
#include "played_mariadb.h"
#include "record_contract.h"
#include "record_tables.h"
#include "scratch.h"
#include "test.h"
#include <errmsg.h>
#include <errno.h>
#include <mysql.h>
#include <mysqld_error.h>
#include <stdio.h>
#include <unistd.h>

static struct record *open_record(void)
{
	struct record *record = played_mariadb_connect();

	record_tables_empty();
	assert_int_equal(record_begin(record), 0);
	return record;
}

static bool is_said(const struct buffer *all, const char *words)
{
	return memmem(buffer_data(all), all->length, words, strlen(words)) != NULL;
}

/* --- connecting --- */

/* The error of a first connection, whose words begin so. */
static void check_begin(int error, const char *words)
{
	struct record *record = played_mariadb_connect();
	int result = record_begin(record);

	if (result != error ||
	    (error != 0 && strncmp(record_error(record), words, strlen(words)) != 0))
		fail_msg("%d \"%s\": %d \"%s\"", error, words, result, record_error(record));
	record_free(record);
	assert_int_equal(played_mariadb.open + played_mariadb.limits, 0);
}

static void a_login_is_refused(void **state)
{
	(void)state;
	played_mariadb.refuses_login = ER_ACCESS_DENIED_ERROR;
	check_begin(-EACCES, "you are refused, error 1045");
	played_mariadb.refuses_login = ER_CON_COUNT_ERROR;
	check_begin(-EUSERS, "you are refused, error 1040");
	played_mariadb.refuses_login = CR_PLUGIN_NOT_ALLOWED;
	check_begin(-EACCES, "the server asks for an authentication method");
	played_mariadb.refuses_login = 0;
	check_begin(0, "");
	played_mariadb.has_limits = false;
	check_begin(-EAGAIN, "a thread: Resource temporarily unavailable");
}

static void a_database_is_not_as_it_has_to_be(void **state)
{
	(void)state;
	played_mariadb.is_read_only = true;
	check_begin(-EROFS, "the database is read-only");
	played_mariadb.is_read_only = false;
	for (int flush = 0; flush <= 3; flush++) {
		char words[80];

		played_mariadb.flush = flush;
		snprintf(words, sizeof words, "innodb_flush_log_at_trx_commit is %d, with", flush);
		check_begin(flush == 1 || flush == 3 ? 0 : -EPROTO, words);
	}
}

/* Each call of a first connection, with tables that are made. */
static void each_call_of_the_beginning_fails(void **state)
{
	int call = 0;
	bool has_failed;

	(void)state;
	played_mariadb.fault = PLAYED_MARIADB_REFUSES;
	played_mariadb.fault_number = ER_UNKNOWN_ERROR;
	played_mariadb.fault_words = "no";
	do {
		struct record *record = played_mariadb_connect();
		int error;

		record_tables_empty();
		played_mariadb_lose_locks();
		played_mariadb_fail_at(++call);
		error = record_begin(record);
		has_failed = played_mariadb_has_failed();
		assert_int_equal(error, has_failed ? -EIO : 0);
		assert_int_equal(played_mariadb.open, has_failed ? 0 : 1);
		played_mariadb_fail_at(0);
		assert_int_equal(record_begin(record), 0);
		record_free(record);
	} while (has_failed);
	assert_true(call > 25);
	/* one at a time makes the tables */
	record_tables_empty();
	played_mariadb.lock_fails = true;
	check_begin(-ETIMEDOUT, "another one makes the tables");
}

static void hosts_are_tried_in_their_order(void **state)
{
	static const struct {
		const char *hosts, *host;
		const char *place; /* NULL: none is there */
	} rows[] = {
		{"a", "a", "host=a user=worker password= database=mail port=3306 socket=NULL"},
		{"a,b", "b", "host=b user=worker password= database=mail port=3306 socket=NULL"},
		{"a, b:17 ,c", "b",
		 "host=b user=worker password= database=mail port=17 socket=NULL"},
		{"a:65535", "a",
		 "host=a user=worker password= database=mail port=65535 socket=NULL"},
		{"a:65536", "a",
		 "host=a user=worker password= database=mail port=3306 socket=NULL"},
		{"::1", "::1",
		 "host=::1 user=worker password= database=mail port=3306 socket=NULL"},
		{"[::1]", "::1",
		 "host=::1 user=worker password= database=mail port=3306 socket=NULL"},
		{"[::1]:9", "::1",
		 "host=::1 user=worker password= database=mail port=9 socket=NULL"},
		{"a,b", "c", NULL},
		{"", NULL,
		 "host=NULL user=worker password= database=mail port=0 "
		 "socket=/run/mysqld/mysqld.sock"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char wanted[200];

		played_mariadb_settings.hosts = rows[i].hosts;
		played_mariadb.host = rows[i].host;
		check_begin(rows[i].place != NULL ? 0 : -ENOTCONN,
			    "Can't connect to server, error");
		snprintf(wanted, sizeof wanted, "%s found rows",
			 rows[i].place != NULL ? rows[i].place : "host=b");
		if (rows[i].place != NULL &&
		    !str_equal(buffer_view(&played_mariadb.place), str_from(wanted)))
			fail_msg("%s: " STR_FORMAT, rows[i].hosts,
				 STR_ARGUMENTS(buffer_view(&played_mariadb.place)));
	}
	/* one that can be written comes before none */
	played_mariadb.host = NULL;
	played_mariadb.is_read_only = true;
	played_mariadb_settings.hosts = "a,b,c";
	played_mariadb.opened = 0;
	check_begin(-EROFS, "the database is read-only");
	assert_int_equal(played_mariadb.opened, 3);
}

/* Each host has its share of the time, and a call all of it. */
static void time_is_limited(void **state)
{
	struct record *record;
	int64_t begun_us = played_mariadb.now_us;

	(void)state;
	played_mariadb_settings.hosts = "a,b,c";
	played_mariadb.is_silent = true;
	check_begin(-ENOTCONN, "Lost connection to server");
	assert_int_equal(played_mariadb.now_us - begun_us, 3000000);
	assert_int_equal(played_mariadb.limit_us, played_mariadb.now_us);
	played_mariadb.is_silent = false;
	record = open_record();
	begun_us = played_mariadb.now_us;
	played_mariadb.is_silent = true;
	assert_int_equal(record_check(record), -ENOTCONN);
	assert_int_equal(played_mariadb.now_us - begun_us, 3000000);
	record_free(record);
	/* what the connection is asked for first is of that share */
	for (int call = 1; call <= 4; call++) {
		begun_us = played_mariadb.now_us;
		played_mariadb_settings.hosts = "a,b,c";
		record = played_mariadb_connect();
		played_mariadb.fault = PLAYED_MARIADB_IS_SILENT;
		played_mariadb_fail_at(call);
		assert_int_equal(record_begin(record), -ENOTCONN);
		assert_int_equal(played_mariadb.now_us - begun_us, 3000000);
		record_free(record);
		played_mariadb_fail_at(0);
	}
}

static void append_options(struct buffer *out, unsigned connect_s, unsigned protocol,
			   const char *plugins)
{
	buffer_append_format(out, "%d=%u\n%d=%u\n%d=%u\n%d=%u\n%d=0\n%d=utf8mb4\n%d=%s\n",
			     MYSQL_OPT_CONNECT_TIMEOUT, connect_s, MYSQL_OPT_READ_TIMEOUT, 4,
			     MYSQL_OPT_WRITE_TIMEOUT, 4, MYSQL_OPT_PROTOCOL, protocol,
			     MYSQL_OPT_LOCAL_INFILE, MYSQL_SET_CHARSET_NAME,
			     MARIADB_OPT_RESTRICTED_AUTH, plugins);
}

static void append_tls(struct buffer *out)
{
	buffer_append_format(out, "%d=ca.pem\n%d=1\n%d=1\n%d=TLSv1.2,TLSv1.3\n", MYSQL_OPT_SSL_CA,
			     MYSQL_OPT_SSL_ENFORCE, MYSQL_OPT_SSL_VERIFY_SERVER_CERT,
			     MARIADB_OPT_TLS_VERSION);
}

static void check_options(struct buffer *wanted)
{
	check_begin(0, "");
	buffer_append_format(wanted, "%d=\n", MARIADB_OPT_IO_WAIT);
	if (!str_equal(buffer_view(wanted), buffer_view(&played_mariadb.options)))
		fail_msg(STR_FORMAT "instead of\n" STR_FORMAT,
			 STR_ARGUMENTS(buffer_view(&played_mariadb.options)),
			 STR_ARGUMENTS(buffer_view(wanted)));
	buffer_reset(wanted);
}

/* Who can listen gets no password, only proofs of it. */
static void a_connection_has_its_options(void **state)
{
	static const char proofs[] = "mysql_native_password,client_ed25519";
	static const char secrets[] = "mysql_native_password,client_ed25519,caching_sha2_password";
	struct buffer wanted CLEANUP(buffer_clear) = {0};

	(void)state;
	played_mariadb_settings.timeout_ms = 3001;
	append_options(&wanted, 4, MYSQL_PROTOCOL_SOCKET, secrets);
	check_options(&wanted);
	played_mariadb_settings.hosts = "a,b,c";
	append_options(&wanted, 1, MYSQL_PROTOCOL_TCP, proofs);
	check_options(&wanted);
	played_mariadb_settings.hosts = "a";
	played_mariadb_settings.authority = "ca.pem";
	append_options(&wanted, 4, MYSQL_PROTOCOL_TCP, secrets);
	append_tls(&wanted);
	check_options(&wanted);
	played_mariadb_settings.certificate = "our.pem";
	played_mariadb_settings.key = "our.key";
	append_options(&wanted, 4, MYSQL_PROTOCOL_TCP, secrets);
	append_tls(&wanted);
	buffer_append_format(&wanted, "%d=our.pem\n%d=our.key\n", MYSQL_OPT_SSL_CERT,
			     MYSQL_OPT_SSL_KEY);
	check_options(&wanted);
	/* the server gives up before we do */
	assert_true(is_said(&played_mariadb.heard,
			    " SESSION max_statement_time = 2.701, SESSION lock_wait_timeout = 3,"
			    " SESSION innodb_lock_wait_timeout = 3,"
			    " SESSION idle_transaction_timeout = 60, SESSION wait_timeout = 60,"
			    " SESSION autocommit = 1\n"
			    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED\n"));
}

static void a_password_is_the_first_line_of_its_file(void **state)
{
	char folder[SCRATCH_SIZE], path[SCRATCH_SIZE + 20], words[SCRATCH_SIZE + 80];
	FILE *file;

	(void)state;
	assert_int_equal(scratch_make(folder), 0);
	snprintf(path, sizeof path, "%s/password", folder);
	played_mariadb_settings.password_file = path;
	snprintf(words, sizeof words, "%s: No such file or directory", path);
	check_begin(-EACCES, words);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	snprintf(words, sizeof words, "%s: its first line is empty", path);
	check_begin(-EACCES, words);
	file = fopen(path, "w");
	assert_non_null(file);
	assert_true(fputs("sesame\nstreet\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	check_begin(0, "");
	assert_true(is_said(&played_mariadb.place, " password=sesame database="));
	assert_int_equal(scratch_remove(folder), 0);
}

static void what_the_library_needs_is_loaded(void **state)
{
	(void)state;
	record_mariadb_prepare();
	assert_true(str_equal(buffer_view(&played_mariadb.plugins),
			      STR("client_ed25519\ncaching_sha2_password\n")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PLAYED_TEST(a_login_is_refused),
		PLAYED_TEST(a_database_is_not_as_it_has_to_be),
		PLAYED_TEST(each_call_of_the_beginning_fails),
		PLAYED_TEST(hosts_are_tried_in_their_order),
		PLAYED_TEST(time_is_limited),
		PLAYED_TEST(a_connection_has_its_options),
		PLAYED_TEST(a_password_is_the_first_line_of_its_file),
		PLAYED_TEST(what_the_library_needs_is_loaded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
