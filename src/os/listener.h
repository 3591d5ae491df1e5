// SPDX-License-Identifier: ISC
/*
 * os/listener.h - takes connections from a listening socket.
 *
 * In one turn of the loop it takes a few, so that those who have one are not kept waiting. When
 * none can be taken, because descriptors or memory are lacking or the socket was shut down, or
 * because there is no room, it tries again after OS_LISTENER_PAUSE_US: a listening socket stays
 * ready, and would keep the processor busy.
 */
#ifndef OS_LISTENER_H
#define OS_LISTENER_H

#include "os/loop.h"
#include "os/socket.h"

#define OS_LISTENER_PAUSE_US (SECOND_US / 10)

struct os_listener;

struct os_listener_handler {
	/* SOCKET is whoever is called's. The listener must not be freed. */
	void (*accepted)(void *context, int socket, const union os_socket_address *peer);
	/* What accept(2) said, -errno; a pause follows. */
	void (*failed)(void *context, int error);
	/* Whether there is room for one more; NULL: always. */
	bool (*has_room)(void *context);
};

/* LISTENING stays the caller's. */
struct os_listener *os_listener_new(struct os_loop *loop, int listening,
				    const struct os_listener_handler *handler, void *context);
/* There is room again: ends a pause. */
void os_listener_go_on(struct os_listener *listener);
/* Takes no more. */
void os_listener_stop(struct os_listener *listener);
/* NULL is allowed. */
void os_listener_free(struct os_listener *listener);

#endif
