// SPDX-License-Identifier: ISC
/*
 * The database of messages in MariaDB, with a real server.
 *
 * usage: test_record_mariadb SOCKET DISK PROCESS     root has no password, PROCESS is the server's
 */
#include "filing/record/mariadb/mariadb.h"
#include "filing/record/sql.h"
#include "record_contract.h"
#include "test.h"
#include <errno.h>
#include <glob.h>
#include <mysql.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct record_mariadb_settings settings = {.hosts = "",
						  .database = "mail",
						  .user = "worker",
						  .password_file = "",
						  .authority = "",
						  .certificate = "",
						  .key = "",
						  .timeout_ms = RECORD_CONTRACT_TIMEOUT_MS};
static MYSQL *admin;
static pid_t process;

static void receive(void)
{
	if (mysql_read_query_result(admin) == 0)
		mysql_free_result(mysql_store_result(admin));
}

static void run(const char *text)
{
	if (mysql_query(admin, text) != 0)
		fail_msg("%s: %s", text, mysql_error(admin));
	mysql_free_result(mysql_store_result(admin));
}

static void send_query(const char *text)
{
	assert_int_equal(mysql_send_query(admin, text, strlen(text)), 0);
}

static struct record *connect_to(void)
{
	return record_mariadb_new(&settings);
}

static void empty(void)
{
	run("DROP TABLE IF EXISTS record_meta, decision, attempt, filing, mailbox, part, "
	    "participant,"
	    " message");
}

static bool has_connections(void)
{
	MYSQL_RES *result;
	bool has;

	assert_int_equal(mysql_query(admin, "SELECT id FROM information_schema.processlist"
					    " WHERE user = 'worker'"),
			 0);
	result = mysql_store_result(admin);
	has = mysql_num_rows(result) > 0;
	mysql_free_result(result);
	return has;
}

static void lose_connections(void)
{
	while (has_connections())
		run("KILL USER worker");
}

/* All threads: the signal reaches one after the other. */
static bool has_stopped(void)
{
	char pattern[60];
	glob_t tasks;
	bool all = true;

	snprintf(pattern, sizeof pattern, "/proc/%d/task/*/stat", (int)process);
	assert_int_equal(glob(pattern, 0, NULL, &tasks), 0);
	for (size_t i = 0; i < tasks.gl_pathc; i++) {
		FILE *file = fopen(tasks.gl_pathv[i], "r");
		char state = 'T';

		if (file == NULL)
			continue;
		all = all && (fscanf(file, "%*d (%*[^)]) %c", &state) != 1 || state == 'T');
		fclose(file);
	}
	globfree(&tasks);
	return all;
}

static void freeze(bool is_frozen)
{
	assert_int_equal(kill(process, is_frozen ? SIGSTOP : SIGCONT), 0);
	while (is_frozen && !has_stopped())
		;
}

static void set_read_only(bool is_read_only)
{
	run(is_read_only ? "SET GLOBAL read_only = 1" : "SET GLOBAL read_only = 0");
}

/* The server counts those that are made since there is a limit: this is the last that may be. */
static void set_full(bool is_full)
{
	static MYSQL *last;

	run(is_full ? "ALTER USER worker@localhost WITH MAX_USER_CONNECTIONS 1"
		    : "ALTER USER worker@localhost WITH MAX_USER_CONNECTIONS 0");
	if (!is_full) {
		mysql_close(last);
		return;
	}
	last = mysql_init(NULL);
	assert_non_null(mysql_real_connect(last, NULL, settings.user, NULL, settings.database, 0,
					   settings.socket, 0));
}

/* As if somebody between us and the server had another connection of it by now. */
static void a_lock_that_is_gone_is_a_turn_that_was_lost(void **state)
{
	struct record *record = connect_to();
	struct record_sql *sql = (struct record_sql *)record;
	struct lock_name name;

	(void)state;
	lock_name_make(STR("<1@example.com>"), &name);
	for (int with_check = 0; with_check < 2; with_check++) {
		struct record_call call = {.statement = RECORD_STATEMENTS,
					   .text = "SELECT RELEASE_ALL_LOCKS()",
					   .rows = 1};

		assert_int_equal(record_begin(record), 0);
		assert_int_equal(record_lock(record, &name), 0);
		assert_int_equal(sql->driver->run(sql, &call), 0);
		if (with_check == 1)
			assert_int_equal(record_check(record), -ENOTCONN);
		assert_int_equal(record_commit(record), -ENOTCONN);
		assert_non_null(strstr(record_error(record), "lock"));
		record_rollback(record);
	}
	assert_int_equal(record_begin(record), 0);
	record_rollback(record);
	record_free(record);
}

static void commits_that_are_not_durable_are_refused(void **state)
{
	struct record *record = connect_to();

	(void)state;
	run("SET GLOBAL innodb_flush_log_at_trx_commit = 2");
	assert_int_equal(record_begin(record), -EPROTO);
	run("SET GLOBAL innodb_flush_log_at_trx_commit = 1");
	record_rollback(record);
	assert_int_equal(record_begin(record), 0);
	record_rollback(record);
	record_free(record);
}

static int test_own(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lock_that_is_gone_is_a_turn_that_was_lost),
		cmocka_unit_test(commits_that_are_not_durable_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

int main(int argc, char **argv)
{
	static const struct record_contract_server server = {
		.lose_connections = lose_connections,
		.send = send_query,
		.receive = receive,
		.freeze = freeze,
		.set_read_only = set_read_only,
		.set_full = set_full,
	};
	struct record_contract contract = {
		.connect = connect_to, .empty = empty, .run = run, .server = &server};
	int failed;

	if (argc != 4)
		return 64;
	settings.socket = argv[1];
	contract.disk = argv[2];
	process = atoi(argv[3]);
	admin = mysql_init(NULL);
	if (mysql_real_connect(admin, NULL, "root", NULL, NULL, 0, argv[1], 0) == NULL) {
		fprintf(stderr, "%s\n", mysql_error(admin));
		return 1;
	}
	run("CREATE DATABASE IF NOT EXISTS mail");
	run("CREATE USER IF NOT EXISTS worker@localhost");
	run("GRANT ALL ON mail.* TO worker@localhost");
	run("USE mail");
	failed = record_contract_run(&contract) + test_own();
	mysql_close(admin);
	return failed;
}
