// SPDX-License-Identifier: ISC
/*
 * directory/wire/transport.h - how the bytes of a connection come and go: a UNIX socket, or
 * TLS around TCP. One for both sides of the protocol. What is here is connected; by TLS
 * both sides know by now who the other is.
 */
#ifndef DIRECTORY_WIRE_TRANSPORT_H
#define DIRECTORY_WIRE_TRANSPORT_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct directory_transport {
	/* As os_socket_read() and os_socket_write(). When SIZE bytes were read there may be more
	 * that the descriptor does not tell of: read again before you wait. -EACCES: the peer does
	 * not take us for whom we have to be. */
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

/* ERROR 0 and a TRANSPORT, which belongs to who is called; or -errno, TRANSPORT NULL, and REASON
 * for the log, valid during the call. */
typedef void directory_dialed(void *context, int error, const char *reason,
			      const struct directory_transport *transport);

/* Makes connections; for those of the client that are not UNIX sockets. A dial ends by
 * itself after a bounded time. */
struct directory_dial;
struct directory_dialer {
	/* To "HOST:PORT", whose name is looked up. DIALED is called once, never before this
	 * returns, unless it was cancelled. The dial is no longer valid then. */
	struct directory_dial *(*dial)(void *context, const char *server, directory_dialed *dialed,
				       void *dialed_context);
	void (*cancel)(struct directory_dial *dial);
	void *context;
};

#endif
