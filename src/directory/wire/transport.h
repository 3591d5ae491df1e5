// SPDX-License-Identifier: ISC
/*
 * directory/wire/transport.h - the byte stream of a connection, over a UNIX socket or over TLS
 * and TCP, for both sides of the protocol. It is connected; with TLS, both sides have
 * authenticated each other.
 */
#ifndef DIRECTORY_WIRE_TRANSPORT_H
#define DIRECTORY_WIRE_TRANSPORT_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct directory_transport {
	/* As os_socket_read() and os_socket_write(). After a read of SIZE bytes more may be
	 * buffered that poll does not report: read again before waiting. -EACCES: the peer does not
	 * accept our certificate. */
	ssize_t (*read)(void *state, void *data, size_t size);
	ssize_t (*write)(void *state, const void *data, size_t size);
	/* Frees STATE and closes the descriptor. */
	void (*close)(void *state);
	/* The events (enum os_watch_events) to wait for after -EAGAIN from the last call. */
	unsigned (*wants)(void *state, bool has_output);
	int descriptor;
	void *state;
};

/* Wraps SOCKET, and owns it from now on. */
void directory_transport_plain(int socket, struct directory_transport *transport_out);

/* ERROR 0 and a TRANSPORT, which the callback then owns; or -errno, TRANSPORT NULL, and a REASON
 * for the log, valid during the call. */
typedef void directory_dialed(void *context, int error, const char *reason,
			      const struct directory_transport *transport);

/* Makes connections to servers that are not UNIX sockets. A dial always ends, after a bounded
 * time. */
struct directory_dial;
struct directory_dialer {
	/* Connects to "HOST:PORT", looking up the name. The server's certificate must have NAME, or
	 * if that is NULL the host. Calls DIALED once, never before returning, unless the dial is
	 * cancelled. The dial is invalid after that. */
	struct directory_dial *(*dial)(void *context, const char *server, const char *name,
				       directory_dialed *dialed, void *dialed_context);
	void (*cancel)(struct directory_dial *dial);
	void *context;
};

#endif
