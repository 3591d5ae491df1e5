// SPDX-License-Identifier: ISC
#include "directory/wire/transport_acceptor.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/wire/transport_tls.h"
#include "os/clock.h"
#include "os/socket/listener.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <utlist.h>

enum { LINES_MAX = 10 }; /* log lines a second about refused clients */

static const int64_t HANDSHAKE_US = 10 * SECOND_US;

struct handshake {
	struct transport_acceptor *acceptor;
	struct tls_connection *connection;
	struct os_watch *watch;
	struct os_timer *timer;
	char address[OS_SOCKET_TEXT_SIZE];
	struct handshake *previous;
	struct handshake *next;
};

struct transport_acceptor {
	struct os_loop *loop;
	const struct tls_context *tls;
	const struct transport_acceptor_handler *handler;
	void *context;
	struct os_listener *listener;
	struct handshake *handshakes; /* oldest first */
	size_t handshake_count;
	int64_t second; /* in which LINE_COUNT lines were logged */
	unsigned line_count;
	int64_t unsaid_count; /* not logged since the last line */
};

/* Limits the rate, so that a client cannot fill the log. */
static void log_refused_client(struct transport_acceptor *acceptor, const char *address,
			       const char *name, const char *reason)
{
	int64_t second = os_clock_monotonic_us() / SECOND_US;

	if (second != acceptor->second)
		acceptor->line_count = 0;
	acceptor->second = second;
	if (acceptor->line_count >= LINES_MAX) {
		acceptor->unsaid_count++;
		return;
	}
	acceptor->line_count++;
	acceptor->handler->refused(acceptor->context, address, name, reason,
				   acceptor->unsaid_count);
	acceptor->unsaid_count = 0;
}

/* Frees HANDSHAKE and returns its connection. */
static struct tls_connection *end_handshake(struct handshake *handshake)
{
	struct transport_acceptor *acceptor = handshake->acceptor;
	struct tls_connection *connection = handshake->connection;

	DL_DELETE2(acceptor->handshakes, handshake, previous, next);
	acceptor->handshake_count--;
	os_watch_free(handshake->watch);
	os_timer_free(handshake->timer);
	tls_connection_on_resume(connection, NULL, NULL);
	free(handshake);
	return connection;
}

static void refuse_handshake(struct handshake *handshake, const char *name, const char *reason)
{
	log_refused_client(handshake->acceptor, handshake->address, name, reason);
	tls_connection_free(end_handshake(handshake));
}

static void admit_client(struct handshake *handshake)
{
	struct transport_acceptor *acceptor = handshake->acceptor;
	struct directory_transport transport;
	struct buffer peer CLEANUP(buffer_clear) = {0};
	const char *reason = "";
	const char *name =
		acceptor->handler->name(acceptor->context, handshake->connection, &reason);

	if (name == NULL) {
		size_t count;
		const char *const *names = tls_connection_names(handshake->connection, &count);

		refuse_handshake(handshake, count > 0 ? names[0] : "", reason);
		return;
	}
	buffer_append_format(&peer, "%s[%s]", name, handshake->address);
	buffer_append_byte(&peer, '\0');
	directory_transport_tls(end_handshake(handshake), &transport);
	acceptor->handler->accepted(acceptor->context, &transport, name, buffer_data(&peer));
}

static void continue_accepted_handshake(void *context)
{
	struct handshake *handshake = context;
	int result = tls_connection_handshake(handshake->connection);

	if (result == -EAGAIN)
		os_watch_set(handshake->watch, tls_connection_wants(handshake->connection, false));
	else if (result < 0)
		refuse_handshake(handshake, "", tls_connection_reason(handshake->connection));
	else
		admit_client(handshake);
}

static void on_handshake_ready(void *context, unsigned events)
{
	(void)events;
	continue_accepted_handshake(context);
}

static void give_up_handshake(void *context)
{
	refuse_handshake(context, "", "the handshake takes too long");
}

static void begin_handshake(void *context, int socket, const union os_socket_address *peer)
{
	struct transport_acceptor *acceptor = context;
	struct handshake *handshake = memory_alloc_zero(1, sizeof *handshake);

	if (acceptor->handshake_count == TRANSPORT_HANDSHAKES_MAX)
		refuse_handshake(acceptor->handshakes, "",
				 "too many handshakes; this is the oldest");
	os_socket_keep_alive(socket);
	handshake->acceptor = acceptor;
	os_socket_address_format(peer, handshake->address);
	handshake->connection = tls_connection_new(acceptor->tls, socket, NULL);
	tls_connection_on_resume(handshake->connection, continue_accepted_handshake, handshake);
	handshake->watch =
		os_watch_new(acceptor->loop, socket, OS_WATCH_READ, on_handshake_ready, handshake);
	handshake->timer = os_timer_new(acceptor->loop, give_up_handshake, handshake);
	os_timer_start(handshake->timer, HANDSHAKE_US);
	DL_APPEND2(acceptor->handshakes, handshake, previous, next);
	acceptor->handshake_count++;
}

static void on_peer_accept_failed(void *context, int error)
{
	const struct transport_acceptor *acceptor = context;

	acceptor->handler->failed(acceptor->context, error);
}

static const struct os_listener_handler listener_handler = {begin_handshake, on_peer_accept_failed, NULL};

struct transport_acceptor *
transport_acceptor_new(struct os_loop *loop, int listening, const struct tls_context *tls,
		       const struct transport_acceptor_handler *handler, void *context)
{
	struct transport_acceptor *acceptor = memory_alloc_zero(1, sizeof *acceptor);

	acceptor->loop = loop;
	acceptor->tls = tls;
	acceptor->handler = handler;
	acceptor->context = context;
	acceptor->listener = os_listener_new(loop, listening, &listener_handler, acceptor);
	return acceptor;
}

void transport_acceptor_configure(struct transport_acceptor *acceptor,
				  const struct tls_context *tls)
{
	acceptor->tls = tls;
}

void transport_acceptor_free(struct transport_acceptor *acceptor)
{
	if (acceptor == NULL)
		return;
	while (acceptor->handshakes != NULL)
		tls_connection_free(end_handshake(acceptor->handshakes));
	os_listener_free(acceptor->listener);
	free(acceptor);
}
