// SPDX-License-Identifier: ISC
#include "os/socket/listener.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include <errno.h>
#include <stdlib.h>

enum { ACCEPTS_A_TURN = 16 };

struct os_listener {
	int listening;
	const struct os_listener_handler *handler;
	void *context;
	struct os_watch *watch;
	struct os_timer *pause;
	bool is_stopped;
};

static void begin_pause(struct os_listener *listener)
{
	os_watch_set(listener->watch, OS_WATCH_NONE);
	os_timer_start(listener->pause, OS_LISTENER_PAUSE_US);
}

/* Whether a connection was accepted. */
static bool accept_connection(struct os_listener *listener)
{
	const struct os_listener_handler *handler = listener->handler;
	union os_socket_address peer;
	int socket;

	if (handler->has_room != NULL && !handler->has_room(listener->context)) {
		begin_pause(listener);
		return false;
	}
	socket = os_socket_accept(listener->listening, &peer);
	if (socket >= 0) {
		handler->accepted(listener->context, socket, &peer);
		return true;
	}
	if (socket != -EAGAIN) {
		begin_pause(listener);
		handler->failed(listener->context, socket);
	}
	return false;
}

static void on_listener_connection(void *context, unsigned events)
{
	struct os_listener *listener = context;

	(void)events;
	for (unsigned i = 0; i < ACCEPTS_A_TURN && !listener->is_stopped; i++)
		if (!accept_connection(listener))
			return;
}

static void end_listener_pause(void *context)
{
	struct os_listener *listener = context;

	os_watch_set(listener->watch, OS_WATCH_READ);
}

struct os_listener *os_listener_new(struct os_loop *loop, int listening,
				    const struct os_listener_handler *handler, void *context)
{
	struct os_listener *listener = memory_alloc_zero(1, sizeof *listener);

	listener->listening = listening;
	listener->handler = handler;
	listener->context = context;
	listener->pause = os_timer_new(loop, end_listener_pause, listener);
	listener->watch =
		os_watch_new(loop, listening, OS_WATCH_READ, on_listener_connection, listener);
	return listener;
}

void os_listener_go_on(struct os_listener *listener)
{
	if (listener->is_stopped || !os_timer_is_running(listener->pause))
		return;
	os_timer_stop(listener->pause);
	end_listener_pause(listener);
}

void os_listener_stop(struct os_listener *listener)
{
	listener->is_stopped = true;
	os_timer_stop(listener->pause);
	os_watch_set(listener->watch, OS_WATCH_NONE);
}

void os_listener_free(struct os_listener *listener)
{
	if (listener == NULL)
		return;
	os_watch_free(listener->watch);
	os_timer_free(listener->pause);
	free(listener);
}
