// SPDX-License-Identifier: ISC
/* Makes a connection: the hosts of the connection string are tried in order, each for its share of
 * the time, until one has a database that can be written. */
#include "base/panic.h"
#include "filing/record/postgresql/internal.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* Where the connection string says nothing: libpq would wait for hours for a host that is down, and
 * look for files in a home directory. */
static const char *const DEFAULTS[][2] = {
	{"keepalives_idle", "2"},
	{"keepalives_interval", "1"},
	{"keepalives_count", "3"},
	{"tcp_user_timeout", "5000"},
	{"gssencmode", "disable"},
	{"application_name", "stagepost-mailbox"},
	{"passfile", "/nonexistent/passfile"},
	{"sslcert", "/nonexistent/sslcert"},
	{"sslkey", "/nonexistent/sslkey"},
	{"sslrootcert", "/nonexistent/sslrootcert"},
	{"sslcrl", "/nonexistent/sslcrl"},
};
static const char *const FIXED[][2] = {
	{"client_encoding", "UTF8"},
	{"target_session_attrs", "any"},
	{"replication", ""},
};
/* Lists of which each host has a piece. */
static const char *const PLACES[] = {"host", "hostaddr", "port"};

enum {
	PARAMETERS = COUNT_OF(DEFAULTS) + 1 + COUNT_OF(FIXED) + COUNT_OF(PLACES),
	/* of transactions that nobody ends: their locks are released then */
	IDLE_MS = 60000,
};

struct attempt {
	struct arena *arena;
	const char *names[PARAMETERS + 1];
	const char *values[PARAMETERS + 1];
	size_t count;
};

static void set_connection_parameter(struct attempt *attempt, const char *name, const char *value)
{
	attempt->names[attempt->count] = name;
	attempt->values[attempt->count++] = value;
}

static const char *value_of_conninfo_option(const PQconninfoOption *options, const char *name)
{
	for (; options->keyword != NULL; options++)
		if (strcmp(options->keyword, name) == 0 && options->val != NULL)
			return options->val;
	return "";
}

static size_t count_hosts(const PQconninfoOption *options)
{
	size_t names = str_count_pieces(str_from(value_of_conninfo_option(options, "host")), ',');
	size_t addresses =
		str_count_pieces(str_from(value_of_conninfo_option(options, "hostaddr")), ',');

	return names > addresses ? names : addresses;
}

/* The piece of LIST for the host I; a single one is for all. */
static struct str piece_of(const char *list, size_t i)
{
	struct str rest = str_from(list);
	struct str piece = rest;

	if (str_count_pieces(str_from(list), ',') == 1)
		return rest;
	for (size_t at = 0; at <= i; at++)
		if (!str_split(&rest, ',', &piece))
			return STR("");
	return piece;
}

/* What comes later overrides what came before; DBNAME stands for the whole connection string. */
static void set_all(struct attempt *attempt, const char *conninfo, const PQconninfoOption *options,
		    size_t host)
{
	for (size_t i = 0; i < COUNT_OF(DEFAULTS); i++)
		set_connection_parameter(attempt, DEFAULTS[i][0], DEFAULTS[i][1]);
	set_connection_parameter(attempt, "dbname", conninfo);
	for (size_t i = 0; i < COUNT_OF(FIXED); i++)
		set_connection_parameter(attempt, FIXED[i][0], FIXED[i][1]);
	for (size_t i = 0; i < COUNT_OF(PLACES); i++) {
		struct str piece = piece_of(value_of_conninfo_option(options, PLACES[i]), host);

		if (piece.length > 0)
			set_connection_parameter(attempt, PLACES[i],
						 arena_copy(attempt->arena, piece));
	}
}

static void ignore_notice_of_record(void *context, const PGresult *result)
{
	(void)context;
	(void)result;
}

static int wait_for_connection(struct record_postgresql *postgresql)
{
	PostgresPollingStatusType status = PGRES_POLLING_WRITING;

	while (status != PGRES_POLLING_OK && status != PGRES_POLLING_FAILED) {
		int error = record_postgresql_wait(postgresql, status == PGRES_POLLING_WRITING);

		if (error < 0)
			return record_sql_fail(&postgresql->sql, -ENOTCONN,
					       "%s: no connection in time",
					       PQhost(postgresql->connection));
		status = PQconnectPoll(postgresql->connection);
	}
	if (status == PGRES_POLLING_OK)
		return 0;
	return record_postgresql_refused(postgresql, PQerrorMessage(postgresql->connection));
}

static int open_postgresql_connection(struct record_postgresql *postgresql,
				      const PQconninfoOption *options, size_t host,
				      struct arena *arena)
{
	struct attempt attempt = {.arena = arena};

	set_all(&attempt, postgresql->conninfo, options, host);
	postgresql->connection = PQconnectStartParams(attempt.names, attempt.values, 1);
	if (postgresql->connection == NULL)
		panic("out of memory");
	(void)PQsetErrorVerbosity(postgresql->connection, PQERRORS_VERBOSE);
	(void)PQsetNoticeReceiver(postgresql->connection, ignore_notice_of_record, NULL);
	if (PQstatus(postgresql->connection) == CONNECTION_BAD)
		return record_postgresql_refused(postgresql,
						 PQerrorMessage(postgresql->connection));
	return wait_for_connection(postgresql);
}

struct about {
	bool is_read_only, is_utf8, is_new_enough;
};

static void take_postgresql_settings(void *context, const struct record_value *values, size_t count)
{
	struct about *about = context;

	(void)count;
	about->is_read_only = values[0].number != 0;
	about->is_utf8 = values[1].number != 0;
	about->is_new_enough = values[2].number != 0;
}

/* What was committed must be on disk, whatever the database's defaults are. The server gives up
 * before we do: then the connection is kept. */
static int set_up_postgresql_session(struct record_postgresql *postgresql)
{
	unsigned patience_ms = postgresql->timeout_ms - postgresql->timeout_ms / 10;
	struct about about = {0};
	char text[900];
	int error;

	if (PQsetnonblocking(postgresql->connection, 1) != 0 ||
	    PQenterPipelineMode(postgresql->connection) != 1)
		return record_postgresql_lost(postgresql, -ENOTCONN);
	snprintf(text, sizeof text,
		 "SELECT (pg_is_in_recovery() OR"
		 " current_setting('default_transaction_read_only') = 'on')::int::bigint,"
		 " (SELECT (pg_encoding_to_char(encoding) = 'UTF8')::int::bigint FROM pg_database"
		 "  WHERE datname = current_database()),"
		 " (current_setting('server_version_num')::int >= 130000)::int::bigint,"
		 " set_config('statement_timeout', '%u', false),"
		 " set_config('lock_timeout', '%u', false),"
		 " set_config('idle_in_transaction_session_timeout', '%d', false),"
		 " set_config('default_transaction_isolation', 'read committed', false),"
		 " set_config('synchronous_commit', CASE current_setting('synchronous_commit')"
		 "  WHEN 'off' THEN 'on' ELSE current_setting('synchronous_commit') END, false),"
		 " set_config('plan_cache_mode', 'force_generic_plan', false),"
		 " set_config('jit', 'off', false)",
		 patience_ms, patience_ms, IDLE_MS);
	error = record_postgresql_text(postgresql, text, NULL, 0, take_postgresql_settings, &about);
	if (error == 0 && about.is_read_only)
		return record_sql_fail(&postgresql->sql, -EROFS, "%s: the database is read-only",
				       PQhost(postgresql->connection));
	if (error == 0 && !about.is_new_enough)
		return record_sql_fail(&postgresql->sql, -EPROTO,
				       "PostgreSQL 13 or newer is needed");
	if (error == 0 && !about.is_utf8)
		return record_sql_fail(&postgresql->sql, -EPROTO,
				       "the encoding of the database is not UTF8");
	return error;
}

static int try_postgresql_host(struct record_postgresql *postgresql,
			       const PQconninfoOption *options, size_t host)
{
	struct arena *arena = arena_new();
	int error;

	postgresql->sql.failed = 0;
	record_postgresql_start(postgresql);
	error = open_postgresql_connection(postgresql, options, host, arena);
	if (error == 0)
		error = set_up_postgresql_session(postgresql);
	if (error == 0)
		error = record_sql_prepare(&postgresql->sql);
	if (error < 0)
		record_postgresql_close(postgresql);
	arena_free(arena);
	return error;
}

int record_postgresql_connect(struct record_sql *sql)
{
	struct record_postgresql *postgresql = (struct record_postgresql *)sql;
	PQconninfoOption *options;
	size_t count;
	int error = -ENOTCONN;

	/* an idle server has nothing to say, but that it has closed the connection */
	if (postgresql->connection != NULL &&
	    os_socket_wait(PQsocket(postgresql->connection), false, 0) == 0)
		record_postgresql_close(postgresql);
	if (postgresql->connection != NULL)
		return 0;
	options = PQconninfoParse(postgresql->conninfo, NULL);
	if (options == NULL)
		return record_sql_fail(sql, -EIO, "not a valid connection string");
	count = count_hosts(options);
	postgresql->call_ms = postgresql->timeout_ms / (unsigned)count;
	for (size_t i = 0; i < count && error != 0; i++)
		error = try_postgresql_host(postgresql, options, i);
	postgresql->call_ms = postgresql->timeout_ms;
	PQconninfoFree(options);
	return error;
}
