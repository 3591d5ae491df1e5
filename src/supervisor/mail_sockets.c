// SPDX-License-Identifier: ISC
/*
 * While no class of hosts can take another client, the TCP sockets for mail are closed: the system
 * refuses connections, and whoever waits at a socket is disconnected. The supervisor does that,
 * because a process that talks to strangers may not shut down what it shares with others. Such a
 * process says that all is full; the supervisor looks by itself, and then 50 times a second until
 * there is a place. So a process that was killed with its places delays nothing.
 */
#include "log/event.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "supervisor/internal.h"
#include <string.h>
#include <sys/socket.h>

static const int64_t LOOK_EVERY_US = SECOND_US / 50;

static bool is_mail_socket(const struct bound_socket *bound)
{
	return bound->kind == 0 && bound->port != 0 &&
	       (strncmp(bound->name, "listen ", strlen("listen ")) == 0 ||
		strncmp(bound->name, "qmtp ", strlen("qmtp ")) == 0);
}

static void look_for_connection_room(void *context)
{
	struct supervisor *supervisor = context;

	if (!supervisor->is_stopping && limit_is_all_full(supervisor->limits, supervisor->classes))
		os_timer_start(supervisor->mail_sockets, LOOK_EVERY_US);
	else
		supervisor_open_mail_sockets(supervisor);
}

void supervisor_close_mail_sockets(struct supervisor *supervisor)
{
	if (supervisor->mail_sockets == NULL)
		supervisor->mail_sockets =
			os_timer_new(supervisor->loop, look_for_connection_room, supervisor);
	if (supervisor->classes == NULL || supervisor->limits == NULL || supervisor->is_stopping ||
	    os_timer_is_running(supervisor->mail_sockets) ||
	    !limit_is_all_full(supervisor->limits, supervisor->classes))
		return;
	for (size_t i = 0; i < supervisor->socket_count; i++) {
		struct bound_socket *bound = &supervisor->sockets[i];

		if (!is_mail_socket(bound))
			continue;
		os_socket_shut(bound->descriptor);
		bound->is_shut = true;
	}
	log_event_rated(EVENT_LISTEN_CLOSED);
	os_timer_start(supervisor->mail_sockets, LOOK_EVERY_US);
}

/* One that cannot listen again has ended: it is bound anew (supervisor_watch_sockets()). */
void supervisor_open_mail_sockets(struct supervisor *supervisor)
{
	bool was_shut = false;

	if (supervisor->mail_sockets != NULL)
		os_timer_stop(supervisor->mail_sockets);
	for (size_t i = 0; i < supervisor->socket_count; i++) {
		struct bound_socket *bound = &supervisor->sockets[i];
		int error;

		if (!bound->is_shut)
			continue;
		was_shut = true;
		bound->is_shut = false;
		error = os_socket_listen_again(bound->descriptor, SERVE_LISTEN_BACKLOG);
		if (error < 0)
			log_event(EVENT_PROCESS_ERROR, log_string(socket, bound->name),
				  log_error(error));
	}
	if (was_shut)
		log_event_rated(EVENT_LISTEN_OPENED);
}
