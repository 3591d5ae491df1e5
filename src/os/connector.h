// SPDX-License-Identifier: ISC
/*
 * os/connector.h - connections that somebody else makes.
 *
 * A process whose sandbox lets it make no socket, and connect none, cannot be made to
 * reach what it has no business with: neither other UNIX sockets of the system nor,
 * over a connection that it accepted and took apart, the network. So it asks who started it
 * for each connection, over a pair of sockets for that only: one packet with a path, answered
 * by one with an error or a connected descriptor. The kernel tells whom it connects to that
 * it is the asker's user (os_connector_connect_as()).
 *
 * Who asks waits for the answer, half a second at most; it is asked only when a connection
 * was lost, or to another server. An answer that comes later is dropped, and nothing is asked for a
 * second.
 */
#ifndef OS_CONNECTOR_H
#define OS_CONNECTOR_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stdint.h>

struct os_process_user;

/* --- who asks --- */

/* From now on os_socket_connect_unix() of this process, and os_socket_connect() to a UNIX socket,
 * asks over SOCKET, which it keeps. */
void os_connector_use(int socket);
/* What os_socket_connect_unix() does then: a connected descriptor; -ETIMEDOUT without an answer,
 * -EACCES when such a connection is not this process's to have, -errno of the connection (-EAGAIN:
 * too many wait there). */
MUST_CHECK int os_connector_connect(const char *path, int kind);
/* Whether os_connector_use() was called. */
bool os_connector_is_used(void);

/* --- who is asked --- */

enum { OS_CONNECTOR_PATH_SIZE = 108 };

struct os_connector_question {
	uint32_t number;
	int32_t kind; /* SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM: whatever he says */
	char path[OS_CONNECTOR_PATH_SIZE];
};

/* The next question at SOCKET: 0, -EAGAIN, -EPIPE when nobody can ask any more, -EBADMSG for
 * what is no question, or another -errno. */
MUST_CHECK int os_connector_hear(int socket, struct os_connector_question *out);
/* RESULT: a descriptor, which stays the caller's, or -errno. Is dropped when there is no room. */
void os_connector_answer(int socket, const struct os_connector_question *question, int result);
/* Connects to the UNIX socket at PATH with USER's rights, as whom the kernel shows this to whom
 * it connects to: a descriptor or -errno. For root, with one thread; or USER is no change. */
MUST_CHECK int os_connector_connect_as(const struct os_process_user *user, const char *path,
				       int kind);

#endif
