// SPDX-License-Identifier: ISC
/*
 * The database of messages in MariaDB: the contract, and what a server can do to a connection.
 *
 * usage: test_record_mariadb SOCKET USER DATABASE     of an administrator, without a password
 */
#include "record/mariadb/mariadb.h"
#include "record_contract.h"
#include "test.h"
#include <errno.h>
#include <mysql.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct record_mariadb_settings settings = {
	.hosts = "", .password_file = "", .authority = "", .timeout_ms = 5000};
static MYSQL *admin;

/* The first value of the result, "" if there is none. */
static const char *sql(const char *text)
{
	static char value[200];
	MYSQL_RES *result;
	MYSQL_ROW row;

	value[0] = '\0';
	if (mysql_query(admin, text) != 0)
		fail_msg("%s: %s", text, mysql_error(admin));
	result = mysql_store_result(admin);
	if (result == NULL)
		return value;
	row = mysql_fetch_row(result);
	if (row != NULL && row[0] != NULL)
		snprintf(value, sizeof value, "%s", row[0]);
	mysql_free_result(result);
	return value;
}

static struct record *connect_to(void)
{
	return record_mariadb_new(&settings);
}

static void empty(void)
{
	(void)sql("DROP TABLE IF EXISTS record_meta, attempt, filing, mailbox, part, participant,"
		  " message");
}

/* Ends all connections but the administrator's, and waits for that. */
static void lose_connections(void)
{
	char text[40];
	char id[20];

	while (snprintf(id, sizeof id, "%s",
			sql("SELECT id FROM information_schema.processlist WHERE id <>"
			    " CONNECTION_ID() AND db = database() LIMIT "
			    "1")) > 0) {
		snprintf(text, sizeof text, "KILL %s", id);
		(void)mysql_query(admin, text);
	}
}

int main(int argc, char **argv)
{
	static const struct record_contract contract = {
		.connect = connect_to, .empty = empty, .lose_connections = lose_connections};
	int failed;

	if (argc != 4)
		return 64;
	settings.socket = argv[1];
	settings.user = argv[2];
	settings.database = argv[3];
	admin = mysql_init(NULL);
	if (mysql_real_connect(admin, NULL, argv[2], NULL, argv[3], 0, argv[1], 0) == NULL) {
		fprintf(stderr, "%s\n", mysql_error(admin));
		return 1;
	}
	failed = record_contract_run("record_mariadb", &contract);
	mysql_close(admin);
	return failed;
}
