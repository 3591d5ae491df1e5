// SPDX-License-Identifier: ISC
#include "ipc/listener.h"
#include "base/panic.h"
#include "log/event.h"
#include "os/socket/listener.h"
#include <stdlib.h>

struct ipc_listener {
	struct os_listener *listener;
	void (*accepted)(void *context, int socket);
	void *context;
};

static void on_ipc_socket_accepted(void *context, int socket, const union os_socket_address *peer)
{
	const struct ipc_listener *listener = context;

	(void)peer;
	listener->accepted(listener->context, socket);
}

static void on_ipc_accept_failed(void *context, int error)
{
	(void)context;
	log_event(EVENT_IPC_ERROR, log_string(operation, "accept"), log_error(error));
}

static const struct os_listener_handler listener_handler = {on_ipc_socket_accepted,
							    on_ipc_accept_failed, NULL};

struct ipc_listener *ipc_listener_new(struct os_loop *loop, int listening,
				      void (*accepted)(void *context, int socket), void *context)
{
	struct ipc_listener *listener = memory_alloc_zero(1, sizeof *listener);

	listener->accepted = accepted;
	listener->context = context;
	listener->listener = os_listener_new(loop, listening, &listener_handler, listener);
	return listener;
}

void ipc_listener_stop(struct ipc_listener *listener)
{
	os_listener_stop(listener->listener);
}

void ipc_listener_free(struct ipc_listener *listener)
{
	if (listener == NULL)
		return;
	os_listener_free(listener->listener);
	free(listener);
}
