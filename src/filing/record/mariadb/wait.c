// SPDX-License-Identifier: ISC
/* How long a call may take. The library limits each wait of its own, of which a call has many: a
 * server that sends a byte now and then would hold up a thread for ever.
 *
 * A call waits here, and so has an end. While the library connects it makes the socket blocking: if
 * the server's greeting is there at once, TLS begins without a wait that we see, and reads as long
 * as the server likes. Its first wait, for the connection, tells the socket, which a limit shuts
 * down in time. (A UNIX socket is the administrator's, and has no TLS.) */
#include "filing/record/mariadb/internal.h"
#include "os/clock.h"
#include "os/socket/limit.h"
#include "os/socket/socket.h"
#include <errno.h>

/* The library says for which socket it waits, and not for which connection. A thread waits for one
 * at a time. */
static _Thread_local int64_t until_us;
static _Thread_local struct os_socket_limit *limit; /* or NULL: it is not connecting */

/* As poll(): 1, 0 in time, -1 with errno. Under TLS the library would leave all waiting but this to
 * the system, if it could. */
static int wait_for_mariadb_socket(my_socket socket, my_bool for_reading, int timeout_ms)
{
	int64_t left_us = until_us - os_clock_monotonic_us();
	int error = left_us > 0 ? os_socket_wait(socket, !for_reading, left_us) : -ETIMEDOUT;

	(void)timeout_ms;
	os_socket_never_wait(socket);
	if (error == 0 && limit != NULL)
		error = os_socket_limit_set(limit, socket);
	errno = -error;
	if (error == 0)
		return 1;
	return error == -ETIMEDOUT ? 0 : -1;
}

int record_mariadb_limit(struct record_mariadb *mariadb)
{
	(void)mysql_options(mariadb->connection, MARIADB_OPT_IO_WAIT,
			    (const void *)wait_for_mariadb_socket);
	return os_socket_limit_new(until_us, &limit);
}

void record_mariadb_connected(struct record_mariadb *mariadb)
{
	os_socket_limit_free(limit);
	limit = NULL;
	if (mariadb->connection != NULL)
		os_socket_never_wait(mysql_get_socket(mariadb->connection));
}

void record_mariadb_start(const struct record_mariadb *mariadb)
{
	if (!mariadb->is_connecting)
		until_us = os_clock_monotonic_us() + (int64_t)mariadb->timeout_ms * 1000;
}

void record_mariadb_start_connecting(struct record_mariadb *mariadb, size_t hosts)
{
	until_us = os_clock_monotonic_us() + (int64_t)mariadb->timeout_ms * 1000 / (int64_t)hosts;
	mariadb->is_connecting = true;
}
