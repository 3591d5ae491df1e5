// SPDX-License-Identifier: ISC
#include "ipc/listener.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "log/event.h"
#include "os/socket.h"
#include <errno.h>
#include <stdlib.h>

static const int64_t PAUSE_US = SECOND_US / 5;

struct ipc_listener {
	int listening;
	struct os_watch *watch;
	struct os_timer *pause;
	void (*accepted)(void *context, int socket);
	void *context;
};

static void on_connection(void *context, unsigned events)
{
	struct ipc_listener *listener = context;
	union os_socket_address peer;
	int socket = os_socket_accept(listener->listening, &peer);

	(void)events;
	if (socket >= 0) {
		listener->accepted(listener->context, socket);
		return;
	}
	if (socket == -EAGAIN)
		return;
	log_event(EVENT_IPC_ERROR, log_string("operation", "accept"), log_error(socket));
	os_watch_set(listener->watch, OS_WATCH_NONE);
	os_timer_start(listener->pause, PAUSE_US);
}

static void go_on(void *context)
{
	struct ipc_listener *listener = context;

	os_watch_set(listener->watch, OS_WATCH_READ);
}

struct ipc_listener *ipc_listener_new(struct os_loop *loop, int listening,
				      void (*accepted)(void *context, int socket), void *context)
{
	struct ipc_listener *listener = memory_alloc_zero(1, sizeof *listener);

	listener->listening = listening;
	listener->accepted = accepted;
	listener->context = context;
	listener->pause = os_timer_new(loop, go_on, listener);
	listener->watch = os_watch_new(loop, listening, OS_WATCH_READ, on_connection, listener);
	return listener;
}

void ipc_listener_stop(struct ipc_listener *listener)
{
	os_timer_stop(listener->pause);
	os_watch_set(listener->watch, OS_WATCH_NONE);
}

void ipc_listener_free(struct ipc_listener *listener)
{
	if (listener == NULL)
		return;
	os_watch_free(listener->watch);
	os_timer_free(listener->pause);
	free(listener);
}
