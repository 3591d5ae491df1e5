// SPDX-License-Identifier: ISC
/*
 * ipc/listener.h - accepts the connections of other processes of the node.
 */
#ifndef IPC_LISTENER_H
#define IPC_LISTENER_H

#include "os/loop.h"

struct ipc_listener;

/* Calls ACCEPTED with each connection on the socket LISTENING (not owned). If the process has no
 * free descriptor for one, that is logged (os/socket/listener.h). */
struct ipc_listener *ipc_listener_new(struct os_loop *loop, int listening,
				      void (*accepted)(void *context, int socket), void *context);
/* Accepts no more connections. */
void ipc_listener_stop(struct ipc_listener *listener);
/* NULL is allowed. */
void ipc_listener_free(struct ipc_listener *listener);

#endif
