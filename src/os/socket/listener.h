// SPDX-License-Identifier: ISC
/*
 * os/socket/listener.h - accepts connections at a listening socket.
 *
 * It accepts a few in one turn of the loop, so that existing connections do not have to wait. If it
 * cannot accept, because descriptors or memory are exhausted, the socket was shut down, or the
 * owner has no room, it tries again after OS_LISTENER_PAUSE_US: a listening socket stays
 * readable, and would keep the processor busy.
 */
#ifndef OS_SOCKET_LISTENER_H
#define OS_SOCKET_LISTENER_H

#include "os/loop.h"
#include "os/socket/socket.h"

#define OS_LISTENER_PAUSE_US (SECOND_US / 10)

struct os_listener;

struct os_listener_handler {
	/* The callback owns SOCKET. It must not free the listener. */
	void (*accepted)(void *context, int socket, const union os_socket_address *peer);
	/* accept(2) has failed with -errno; a pause follows. */
	void (*failed)(void *context, int error);
	/* Whether there is room for one more; NULL: always. */
	bool (*has_room)(void *context);
};

/* The caller owns LISTENING. */
struct os_listener *os_listener_new(struct os_loop *loop, int listening,
				    const struct os_listener_handler *handler, void *context);
/* Ends a pause, as there is room again. */
void os_listener_go_on(struct os_listener *listener);
/* Accepts no more. */
void os_listener_stop(struct os_listener *listener);
/* NULL is allowed. */
void os_listener_free(struct os_listener *listener);

#endif
