// SPDX-License-Identifier: ISC
/*
 * os/socket/connector.h - connections that another process makes for this one.
 *
 * If the sandbox of a process forbids it to create and to connect sockets, an attacker who has
 * taken it over cannot reach other UNIX sockets of the system, nor the network by reusing an
 * accepted connection. So it asks the process that started it for each connection, over a socket
 * pair that serves nothing else: a packet with a path, answered by one with an error or a
 * connected descriptor. To the kernel, the connection's peer is the asker's user
 * (os_connector_connect_as()).
 *
 * The asker waits for the answer, half a second at most; it asks only after a connection was
 * lost, or for another server. Without an answer nothing else is asked for two seconds. One
 * that comes late ends that, and serves the next request for the same path.
 */
#ifndef OS_SOCKET_CONNECTOR_H
#define OS_SOCKET_CONNECTOR_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stdint.h>

struct os_process_user;

/* --- the asker --- */

/* From now on os_socket_connect_unix() of this process, and os_socket_connect() to a UNIX socket,
 * ask over SOCKET, which this module owns. */
void os_connector_use(int socket);
/* What os_socket_connect_unix() then does. Returns a connected descriptor; -ETIMEDOUT: no answer;
 * -EACCES: this process may not have such a connection; or -errno of connecting (-EAGAIN: too many
 * are waiting there). */
MUST_CHECK int os_connector_connect(const char *path, int kind);
/* Whether os_connector_use() was called. */
bool os_connector_is_used(void);

/* --- the process that is asked --- */

enum { OS_CONNECTOR_PATH_SIZE = 108 };

struct os_connector_question {
	uint32_t number;
	int32_t kind; /* SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM; not checked */
	char path[OS_CONNECTOR_PATH_SIZE];
};

/* Reads the next question at SOCKET: 0; -EAGAIN; -EPIPE: the asker has closed it; -EBADMSG: it is
 * malformed; or another -errno. */
MUST_CHECK int os_connector_hear(int socket, struct os_connector_question *out);
/* RESULT: a descriptor, which the caller owns, or -errno. 0, or -errno: it was not sent, the asker
 * asks again. -EAGAIN: there is no room. */
MUST_CHECK int os_connector_answer(int socket, const struct os_connector_question *question,
				   int result);
/* Connects to the UNIX socket at PATH with USER's rights; to the peer, the connection is USER's.
 * Returns a descriptor or -errno. For root, in a process with one thread; or USER is the present
 * user. */
MUST_CHECK int os_connector_connect_as(const struct os_process_user *user, const char *path,
				       int kind);

#endif
