// SPDX-License-Identifier: ISC
/*
 * The database of messages in PostgreSQL, with a real server.
 *
 * usage: test_record_postgresql CONNINFO DISK     of a superuser, of an empty database
 */
#include "filing/record/postgresql/postgresql.h"
#include "record_contract.h"
#include "test.h"
#include <libpq-fe.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char conninfo[300]; /* of a user without privileges */
static PGconn *admin;

static PGresult *query(const char *text)
{
	PGresult *result = PQexec(admin, text);

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		fail_msg("%s: %s", text, PQerrorMessage(admin));
	return result;
}

static void run(const char *text)
{
	PQclear(query(text));
}

static struct record *connect_to(void)
{
	return record_postgresql_new(conninfo, RECORD_CONTRACT_TIMEOUT_MS);
}

static void empty(void)
{
	run("DROP TABLE IF EXISTS record_meta, decision, attempt, filing, mailbox, part, "
	    "participant,"
	    " message CASCADE");
}

static void lose_connections(void)
{
	run("SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
	    " WHERE usename = 'worker'");
}

static void send_query(const char *text)
{
	assert_int_equal(PQsendQuery(admin, text), 1);
}

static void receive(void)
{
	PGresult *result;

	while ((result = PQgetResult(admin)) != NULL)
		PQclear(result);
}

static void freeze(bool is_frozen)
{
	PGresult *result = query("SELECT pid FROM pg_stat_activity WHERE usename = 'worker'");

	for (int i = 0; i < PQntuples(result); i++)
		assert_int_equal(
			kill(atoi(PQgetvalue(result, i, 0)), is_frozen ? SIGSTOP : SIGCONT), 0);
	PQclear(result);
}

static void set_read_only(bool is_read_only)
{
	run(is_read_only ? "ALTER ROLE worker SET default_transaction_read_only = on"
			 : "ALTER ROLE worker RESET default_transaction_read_only");
}

static void set_full(bool is_full)
{
	run(is_full ? "ALTER ROLE worker CONNECTION LIMIT 1"
		    : "ALTER ROLE worker CONNECTION LIMIT -1");
}

static void set_unserializable(bool is_unserializable)
{
	run(is_unserializable ? "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
				" $$ BEGIN RAISE 'refused' USING ERRCODE = '40001'; END $$;"
				" CREATE TRIGGER refuse BEFORE DELETE ON attempt"
				" FOR EACH ROW EXECUTE FUNCTION refuse()"
			      : "DROP FUNCTION refuse CASCADE");
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
		.set_unserializable = set_unserializable,
	};
	struct record_contract contract = {
		.connect = connect_to, .empty = empty, .run = run, .server = &server};
	int failed;

	if (argc != 3)
		return 64;
	snprintf(conninfo, sizeof conninfo, "%s user=worker", argv[1]);
	contract.disk = argv[2];
	admin = PQconnectdb(argv[1]);
	if (PQstatus(admin) != CONNECTION_OK) {
		fprintf(stderr, "%s", PQerrorMessage(admin));
		return 1;
	}
	PQclear(PQexec(admin, "SET client_min_messages = warning; CREATE ROLE worker LOGIN"));
	PQclear(PQexec(admin, "GRANT CREATE ON SCHEMA public TO worker"));
	/* of two that wait for each other, the other one gives up */
	PQclear(PQexec(admin, "SET deadlock_timeout = '1h'"));
	failed = record_contract_run(&contract);
	PQfinish(admin);
	return failed;
}
