// SPDX-License-Identifier: ISC
/*
 * The database of messages in PostgreSQL: the contract, and what a server can do to a connection.
 *
 * usage: test_record_postgresql CONNINFO     of a superuser, of an empty database
 */
#include "record/postgresql/postgresql.h"
#include "record_contract.h"
#include "test.h"
#include <errno.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMEOUT_MS = 5000 };

static const char *conninfo;
static PGconn *admin;

/* The first value of the result, "" if there is none. */
static const char *sql(const char *text)
{
	static char value[200];
	PGresult *result = PQexec(admin, text);

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", text, PQerrorMessage(admin));
	snprintf(value, sizeof value, "%s", PQntuples(result) > 0 ? PQgetvalue(result, 0, 0) : "");
	PQclear(result);
	return value;
}

static struct record *connect_to(void)
{
	return record_postgresql_new(conninfo, TIMEOUT_MS);
}

static void empty(void)
{
	(void)sql("DROP TABLE IF EXISTS record_meta, attempt, filing, mailbox, part, participant,"
		  " message CASCADE");
}

/* Ends all connections but the administrator's, and waits for that. */
static void lose_connections(void)
{
	(void)sql("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
		  " WHERE pid <> pg_backend_pid() AND datname = current_database()");
}

int main(int argc, char **argv)
{
	static const struct record_contract contract = {
		.connect = connect_to, .empty = empty, .lose_connections = lose_connections};
	int failed;

	if (argc != 2)
		return 64;
	conninfo = argv[1];
	admin = PQconnectdb(conninfo);
	if (PQstatus(admin) != CONNECTION_OK) {
		fprintf(stderr, "%s", PQerrorMessage(admin));
		return 1;
	}
	(void)sql("SET client_min_messages = warning");
	failed = record_contract_run("record_postgresql", &contract);
	PQfinish(admin);
	return failed;
}
