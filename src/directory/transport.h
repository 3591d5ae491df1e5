// SPDX-License-Identifier: ISC
/*
 * directory/transport.h - how the bytes of a connection come and go: a UNIX socket, or
 * TLS around TCP. One for both sides of the protocol.
 */
#ifndef DIRECTORY_TRANSPORT_H
#define DIRECTORY_TRANSPORT_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct directory_transport {
	/* As os_socket_read() and os_socket_write(). While a connection or handshake is being
	 * made: -EAGAIN; it has failed: -errno, -EACCES for a peer who is not whom he has to be. */
	ssize_t (*read)(void *state, void *data, size_t size);
	ssize_t (*write)(void *state, const void *data, size_t size);
	/* Frees STATE and closes the descriptor. */
	void (*close)(void *state);
	/* Events (enum os_watch_events) to wait for, after -EAGAIN from what was tried last. */
	unsigned (*wants)(void *state, bool has_output);
	int descriptor;
	void *state;
};

/* Around SOCKET, which it owns from now on. */
void directory_transport_plain(int socket, struct directory_transport *transport_out);

/* Begins connections; for those of the client that are not UNIX sockets. */
struct directory_dialer {
	/* To "HOST:PORT": 0; or -errno when it cannot be begun. */
	int (*dial)(void *context, const char *server, struct directory_transport *transport_out);
	void *context;
};

#endif
