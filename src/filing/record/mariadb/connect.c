// SPDX-License-Identifier: ISC
/* Makes a connection: the hosts are tried in order, each for its share of the time, until one has a
 * database that can be written. */
#include "base/panic.h"
#include "filing/record/mariadb/internal.h"
#include "os/file/secret.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>

enum {
	PORT = 3306,
	IDLE_S = 60, /* of clients that are gone: their transactions and locks end then */
};

/* ---- settings ---- */

/* A string, ended by a NUL: empty without a file. */
static int read_mariadb_password(struct record_mariadb *mariadb, struct buffer *password)
{
	int error = 0;

	if (*mariadb->password_file != '\0')
		error = os_secret_read(mariadb->password_file, password);
	buffer_append_byte(password, '\0');
	return error == 0
		       ? 0
		       : record_sql_fail(&mariadb->sql, -EACCES, "%s: %s", mariadb->password_file,
					 error == -ENODATA ? "its first line is empty"
							   : strerror(-error));
}

/* A server may ask for any way to log in, and for the password itself: not from us. Who can listen
 * or answer in its place gets the password by caching_sha2_password, too. */
#define PROOFS  "mysql_native_password,client_ed25519"
#define SECRETS PROOFS ",caching_sha2_password"

const char *const record_mariadb_plugins[] = {"client_ed25519", "caching_sha2_password", NULL};

static void set_mariadb_tls(struct record_mariadb *mariadb)
{
	MYSQL *connection = mariadb->connection;
	const my_bool yes = 1;

	(void)mysql_options(connection, MYSQL_OPT_SSL_CA, mariadb->authority);
	(void)mysql_options(connection, MYSQL_OPT_SSL_ENFORCE, &yes);
	(void)mysql_options(connection, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
	(void)mysql_options(connection, MARIADB_OPT_TLS_VERSION, "TLSv1.2,TLSv1.3");
	if (*mariadb->certificate == '\0')
		return;
	(void)mysql_options(connection, MYSQL_OPT_SSL_CERT, mariadb->certificate);
	(void)mysql_options(connection, MYSQL_OPT_SSL_KEY, mariadb->key);
}

static void set_mariadb_options(struct record_mariadb *mariadb, size_t hosts, bool is_local)
{
	bool is_private = is_local || *mariadb->authority != '\0';
	MYSQL *connection = mariadb->connection;
	/* libmariadb counts seconds */
	unsigned call_s = (mariadb->timeout_ms + 999) / 1000;
	unsigned connect_s = (unsigned)(mariadb->timeout_ms / hosts + 999) / 1000;
	/* else it would look for "localhost" at a UNIX socket */
	const unsigned protocol = is_local ? MYSQL_PROTOCOL_SOCKET : MYSQL_PROTOCOL_TCP;
	const unsigned no = 0;

	(void)mysql_options(connection, MYSQL_OPT_CONNECT_TIMEOUT, &connect_s);
	(void)mysql_options(connection, MYSQL_OPT_READ_TIMEOUT, &call_s);
	(void)mysql_options(connection, MYSQL_OPT_WRITE_TIMEOUT, &call_s);
	(void)mysql_options(connection, MYSQL_OPT_PROTOCOL, &protocol);
	(void)mysql_options(connection, MYSQL_OPT_LOCAL_INFILE, &no);
	(void)mysql_options(connection, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	(void)mysql_options(connection, MARIADB_OPT_RESTRICTED_AUTH, is_private ? SECRETS : PROOFS);
	if (*mariadb->authority != '\0')
		set_mariadb_tls(mariadb);
}

/* "NAME", "NAME:PORT", "[ADDRESS]:PORT" */
static struct str parse_mariadb_host(struct str text, unsigned *port_out)
{
	bool has_brackets = text.length > 0 && text.data[0] == '[';
	ptrdiff_t end = has_brackets ? str_find(text, ']') : str_find_last(text, ':');
	struct str rest;
	uint64_t port;

	*port_out = PORT;
	if (end < 0 || (!has_brackets && str_find(text, ':') != end))
		return text;
	rest = str_skip(text, (size_t)end + (has_brackets ? 1 : 0));
	if (str_to_u64(str_skip(rest, 1), &port) && port <= UINT16_MAX)
		*port_out = (unsigned)port;
	return has_brackets ? str_slice(text.data + 1, (size_t)end - 1)
			    : str_slice(text.data, (size_t)end);
}

/* ---- a connection ---- */

struct about {
	int64_t is_read_only, flush;
};

static void take_mariadb_variables(void *context, const struct record_value *values, size_t count)
{
	struct about *about = context;

	(void)count;
	about->is_read_only = values[0].number;
	about->flush = values[1].number;
}

/* The server gives up before we do: then the connection is kept. */
static int set_up_mariadb_session(struct record_mariadb *mariadb)
{
	struct about about = {0};
	unsigned patience_ms = mariadb->timeout_ms - mariadb->timeout_ms / 10;
	char text[400];
	int error;

	snprintf(text, sizeof text,
		 "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION',"
		 " SESSION max_statement_time = %u.%03u, SESSION lock_wait_timeout = %u,"
		 " SESSION innodb_lock_wait_timeout = %u,"
		 " SESSION idle_transaction_timeout = %d, SESSION wait_timeout = %d,"
		 " SESSION autocommit = 1",
		 patience_ms / 1000, patience_ms % 1000, patience_ms / 1000 + 1,
		 patience_ms / 1000 + 1, IDLE_S, IDLE_S);
	error = record_mariadb_text(mariadb, text);
	if (error == 0)
		error = record_mariadb_text(
			mariadb, "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED");
	if (error == 0)
		error = record_mariadb_ask(
			mariadb, "SELECT @@global.read_only, @@innodb_flush_log_at_trx_commit",
			NULL, 0, take_mariadb_variables, &about);
	if (error == 0 && about.is_read_only != 0)
		return record_sql_fail(&mariadb->sql, -EROFS, "the database is read-only");
	if (error == 0 && about.flush != 1 && about.flush != 3)
		return record_sql_fail(&mariadb->sql, -EPROTO,
				       "innodb_flush_log_at_trx_commit is %lld, with which commits "
				       "are not durable; it has to be 1",
				       (long long)about.flush);
	return error;
}

static int connect_to_mariadb(struct record_mariadb *mariadb, const char *host, unsigned port,
			      const char *password)
{
	bool is_local = *host == '\0';
	int error = record_mariadb_limit(mariadb);

	if (error < 0)
		return record_sql_fail(&mariadb->sql, error, "a thread: %s", strerror(-error));
	if (mysql_real_connect(mariadb->connection, is_local ? NULL : host, mariadb->user, password,
			       mariadb->database, is_local ? 0 : port,
			       is_local ? mariadb->socket : NULL, CLIENT_FOUND_ROWS) == NULL)
		error = record_mariadb_fail(mariadb, mysql_errno(mariadb->connection),
					    mysql_error(mariadb->connection));
	record_mariadb_connected(mariadb);
	return error;
}

static int open_mariadb_connection(struct record_mariadb *mariadb, struct str host, size_t hosts)
{
	struct buffer password CLEANUP(buffer_clear) = {0};
	struct arena *arena = arena_new();
	unsigned port;
	const char *name = arena_copy(arena, parse_mariadb_host(host, &port));
	int error = read_mariadb_password(mariadb, &password);

	mariadb->connection = mysql_init(NULL);
	if (mariadb->connection == NULL)
		panic("out of memory");
	set_mariadb_options(mariadb, hosts, *name == '\0');
	if (error == 0)
		error = connect_to_mariadb(mariadb, name, port, buffer_data(&password));
	arena_free(arena);
	return error;
}

static int try_mariadb_host(struct record_mariadb *mariadb, struct str host, size_t hosts)
{
	int error;

	mariadb->sql.failed = 0;
	record_mariadb_start_connecting(mariadb, hosts);
	error = open_mariadb_connection(mariadb, host, hosts);
	if (error == 0)
		error = set_up_mariadb_session(mariadb);
	mariadb->is_connecting = false;
	if (error == 0)
		error = record_sql_prepare(&mariadb->sql);
	if (error < 0)
		record_mariadb_close(mariadb);
	return error;
}

int record_mariadb_connect(struct record_sql *sql)
{
	struct record_mariadb *mariadb = (struct record_mariadb *)sql;
	struct str rest = str_from(mariadb->hosts);
	size_t hosts = str_count_pieces(str_from(mariadb->hosts), ',');
	struct str host;
	int error = -ENOTCONN;

	/* an idle server has nothing to say, but that it has closed the connection */
	if (mariadb->connection != NULL &&
	    os_socket_wait(mysql_get_socket(mariadb->connection), false, 0) == 0)
		record_mariadb_close(mariadb);
	if (mariadb->connection != NULL)
		return 0;
	while (error < 0 && str_split(&rest, ',', &host))
		error = try_mariadb_host(mariadb, str_trim(host), hosts);
	return error;
}
