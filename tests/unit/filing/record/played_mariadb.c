// SPDX-License-Identifier: ISC
#include "played_mariadb.h"
#include "base/arena.h"
#include "os/clock.h"
#include "os/socket/limit.h"
#include "os/socket/socket.h"
#include "played_mariadb_internal.h"
#include "record_contract.h"
#include "scratch.h"
#include "test.h"
#include <errmsg.h>
#include <errno.h>
#include <mysqld_error.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECTIONS_MAX = 8, NO_LIMIT = 77 };

struct played_mariadb played_mariadb;
struct record_mariadb_settings played_mariadb_settings;

static struct played_mariadb_connection *connections[CONNECTIONS_MAX];
static struct buffer last[2]; /* words of calls: a statement, and its results */
static int limited;           /* the socket that a limit is for; -1: none yet */

/* --- time --- */

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return played_mariadb.now_us;
}

int __wrap_os_socket_wait(int socket, bool for_writing, int64_t timeout_us);
int __wrap_os_socket_wait(int socket, bool for_writing, int64_t timeout_us)
{
	struct pollfd watched = {.fd = socket, .events = for_writing ? POLLOUT : POLLIN};

	assert_true(socket >= 0 && timeout_us >= 0);
	played_mariadb.waits++;
	if (poll(&watched, 1, 0) == 1)
		return 0;
	played_mariadb.now_us += timeout_us;
	return -ETIMEDOUT;
}

int __wrap_os_socket_limit_new(int64_t until_us, struct os_socket_limit **limit_out);
int __wrap_os_socket_limit_new(int64_t until_us, struct os_socket_limit **limit_out)
{
	if (!played_mariadb.has_limits)
		return -EAGAIN;
	played_mariadb.limits++;
	played_mariadb.limit_us = until_us;
	limited = -1;
	*limit_out = (struct os_socket_limit *)(void *)&limited;
	return 0;
}

int __wrap_os_socket_limit_set(struct os_socket_limit *limit, int socket);
int __wrap_os_socket_limit_set(struct os_socket_limit *limit, int socket)
{
	assert_ptr_equal(limit, &limited);
	limited = socket;
	return 0;
}

void __wrap_os_socket_limit_free(struct os_socket_limit *limit);
void __wrap_os_socket_limit_free(struct os_socket_limit *limit)
{
	if (limit == NULL)
		return;
	assert_ptr_equal(limit, &limited);
	assert_true(played_mariadb.limits-- > 0);
}

/* --- connections --- */

/* The server's side: its transaction and locks end. */
static void end_connection(struct played_mariadb_connection *connection)
{
	if (connection->server < 0)
		return;
	close(connection->server);
	connection->server = -1;
	played_mariadb_release_locks(connection);
	record_tables_disconnect(connection->tables);
	connection->tables = NULL;
	played_mariadb.open--;
}

void played_mariadb_lose_all(void)
{
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (connections[i] != NULL)
			end_connection(connections[i]);
}

int played_mariadb_fail(struct played_mariadb_error *error, unsigned number, const char *words)
{
	error->number = number;
	snprintf(error->words, sizeof error->words, "%s", words);
	return 1;
}

/* Waits for the answer as the library does: false if it does not come. */
static bool wait_for_answer(struct played_mariadb_connection *connection)
{
	char byte;

	if (connection->server >= 0 && !played_mariadb.is_silent)
		assert_int_equal(send(connection->server, "a", 1, MSG_NOSIGNAL), 1);
	if (connection->wait == NULL || connection->wait(connection->socket, 1, -1) != 1)
		return false;
	return recv(connection->socket, &byte, 1, 0) == 1;
}

static bool does_call_fail(const char *words)
{
	static size_t next;

	for (size_t i = 0; i < COUNT_OF(last); i++)
		if (str_equal(str_from(words), buffer_view(&last[i])))
			return false;
	buffer_reset(&last[next % 2]);
	buffer_append_string(&last[next++ % 2], words);
	return ++played_mariadb.calls == played_mariadb.fails_at;
}

int played_mariadb_call(struct played_mariadb_connection *connection, const char *words,
			struct played_mariadb_error *error, bool *is_done_only_out)
{
	bool fails = does_call_fail(words);
	enum played_mariadb_fault fault = fails ? played_mariadb.fault : PLAYED_MARIADB_FINE;

	*is_done_only_out = fault == PLAYED_MARIADB_DOES_IT_LOSES;
	if (fault == PLAYED_MARIADB_REFUSES)
		return played_mariadb_fail(error, played_mariadb.fault_number,
					   played_mariadb.fault_words);
	if (fault == PLAYED_MARIADB_LOSES)
		end_connection(connection);
	if (fault == PLAYED_MARIADB_IS_SILENT)
		played_mariadb.is_silent = true;
	if (!wait_for_answer(connection))
		return played_mariadb_fail(error, CR_SERVER_LOST, "Lost connection to server");
	return 0;
}

int played_mariadb_lose_after(struct played_mariadb_connection *connection,
			      struct played_mariadb_error *error)
{
	end_connection(connection);
	return played_mariadb_fail(error, CR_SERVER_LOST, "Lost connection to server");
}

static struct played_mariadb_connection *connection_of(MYSQL *mysql)
{
	return (struct played_mariadb_connection *)(void *)mysql;
}

int STDCALL mysql_server_init(int count, char **arguments, char **groups)
{
	(void)count, (void)arguments, (void)groups;
	return 0;
}

MYSQL *STDCALL mysql_init(MYSQL *mysql)
{
	struct played_mariadb_connection *connection = calloc(1, sizeof *connection);
	size_t i = 0;

	assert_null(mysql);
	assert_non_null(connection);
	connection->socket = connection->server = -1;
	buffer_reset(&played_mariadb.options);
	while (i < CONNECTIONS_MAX && connections[i] != NULL)
		i++;
	assert_true(i < CONNECTIONS_MAX);
	connections[i] = connection;
	return &connection->mysql;
}

static bool is_number_option(enum mysql_option option)
{
	return option == MYSQL_OPT_CONNECT_TIMEOUT || option == MYSQL_OPT_READ_TIMEOUT ||
	       option == MYSQL_OPT_WRITE_TIMEOUT || option == MYSQL_OPT_PROTOCOL ||
	       option == MYSQL_OPT_LOCAL_INFILE;
}

int STDCALL mysql_options(MYSQL *mysql, enum mysql_option option, const void *value)
{
	struct buffer *out = &played_mariadb.options;

	buffer_append_format(out, "%d=", (int)option);
	if (option == MARIADB_OPT_IO_WAIT)
		memcpy(&connection_of(mysql)->wait, &value, sizeof value);
	else if (is_number_option(option))
		buffer_append_format(out, "%u", *(const unsigned *)value);
	else if (option == MYSQL_OPT_SSL_ENFORCE || option == MYSQL_OPT_SSL_VERIFY_SERVER_CERT)
		buffer_append_format(out, "%d", *(const my_bool *)value);
	else
		buffer_append_string(out, value);
	buffer_append_byte(out, '\n');
	return 0;
}

struct st_mysql_client_plugin *STDCALL mysql_load_plugin(MYSQL *mysql, const char *name, int type,
							 int count, ...)
{
	assert_non_null(mysql);
	assert_int_equal(type, -1);
	assert_int_equal(count, 0);
	buffer_append_format(&played_mariadb.plugins, "%s\n", name);
	return NULL;
}

static int answer_login(struct played_mariadb_connection *connection, const char *host)
{
	bool is_there = played_mariadb.host == NULL ||
			(host != NULL && strcmp(host, played_mariadb.host) == 0);
	bool is_lost;

	if (!is_there)
		return played_mariadb_fail(&connection->error, CR_CONN_HOST_ERROR,
					   "Can't connect to server");
	if (played_mariadb_call(connection, "connect", &connection->error, &is_lost) != 0)
		return 1;
	if (connection->wait != NULL)
		assert_int_equal(limited, connection->socket); /* from the first wait on */
	if (played_mariadb.refuses_login != 0)
		return played_mariadb_fail(&connection->error, played_mariadb.refuses_login,
					   "you are refused");
	return is_lost ? played_mariadb_lose_after(connection, &connection->error) : 0;
}

MYSQL *STDCALL mysql_real_connect(MYSQL *mysql, const char *host, const char *user,
				  const char *password, const char *database, unsigned port,
				  const char *socket, unsigned long flags)
{
	struct played_mariadb_connection *connection = connection_of(mysql);
	int pair[2];

	buffer_reset(&played_mariadb.place);
	buffer_append_format(&played_mariadb.place,
			     "host=%s user=%s password=%s database=%s port=%u socket=%s%s",
			     host != NULL ? host : "NULL", user, password, database, port,
			     socket != NULL ? socket : "NULL",
			     flags == CLIENT_FOUND_ROWS ? " found rows" : "");
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	connection->socket = pair[0];
	connection->server = pair[1];
	connection->tables = record_tables_connect();
	played_mariadb.opened++;
	played_mariadb.open++;
	return answer_login(connection, host) == 0 ? mysql : NULL;
}

void STDCALL mysql_close(MYSQL *mysql)
{
	struct played_mariadb_connection *connection = connection_of(mysql);

	if (mysql == NULL)
		return;
	end_connection(connection);
	if (connection->socket >= 0)
		close(connection->socket);
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (connections[i] == connection)
			connections[i] = NULL;
	played_mariadb_close_statements(connection);
	free(connection);
}

unsigned STDCALL mysql_errno(MYSQL *mysql)
{
	return connection_of(mysql)->error.number;
}

const char *STDCALL mysql_error(MYSQL *mysql)
{
	return connection_of(mysql)->error.words;
}

my_socket STDCALL mysql_get_socket(MYSQL *mysql)
{
	return connection_of(mysql)->socket;
}

int STDCALL mysql_real_query(MYSQL *mysql, const char *text, unsigned long length)
{
	struct played_mariadb_connection *connection = connection_of(mysql);
	bool is_lost;
	int error;

	assert_int_equal(strlen(text), length);
	buffer_append(&played_mariadb.heard, text, length);
	buffer_append_byte(&played_mariadb.heard, '\n');
	if (played_mariadb_call(connection, text, &connection->error, &is_lost) != 0)
		return 1;
	error = played_mariadb_run_text(connection, str_from(text));
	return is_lost ? played_mariadb_lose_after(connection, &connection->error) : error;
}

/* --- for tests --- */

int played_mariadb_set_up(void **state)
{
	(void)state;
	played_mariadb = (struct played_mariadb){.now_us = 1000000, .flush = 1, .has_limits = true};
	played_mariadb_settings =
		(struct record_mariadb_settings){.hosts = "",
						 .socket = "/run/mysqld/mysqld.sock",
						 .database = "mail",
						 .user = "worker",
						 .password_file = "",
						 .authority = "",
						 .certificate = "",
						 .key = "",
						 .timeout_ms = RECORD_CONTRACT_TIMEOUT_MS};
	played_mariadb_lose_locks();
	record_tables_begin();
	return 0;
}

int played_mariadb_tear_down(void **state)
{
	(void)state;
	record_tables_end();
	for (size_t i = 0; i < CONNECTIONS_MAX; i++)
		if (connections[i] != NULL)
			return -1;
	buffer_clear(&played_mariadb.options);
	buffer_clear(&played_mariadb.place);
	buffer_clear(&played_mariadb.heard);
	buffer_clear(&played_mariadb.plugins);
	buffer_clear(&last[0]);
	buffer_clear(&last[1]);
	return played_mariadb.limits > 0 || played_mariadb.open > 0 ? -1 : 0;
}

struct record *played_mariadb_connect(void)
{
	return record_mariadb_new(&played_mariadb_settings);
}

void played_mariadb_empty(void)
{
	assert_int_equal(played_mariadb.open, 0);
	record_tables_empty();
}

void played_mariadb_fail_at(int number)
{
	played_mariadb.is_silent = false;
	played_mariadb.calls = 0;
	played_mariadb.fails_at = (unsigned)number;
}

bool played_mariadb_has_failed(void)
{
	return played_mariadb.fails_at > 0 && played_mariadb.calls >= played_mariadb.fails_at;
}
