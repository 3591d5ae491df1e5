// SPDX-License-Identifier: ISC
#include "directory/server/acceptor.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/server/server.h"
#include "directory/wire/transport_tls.h"
#include "log/event.h"
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
	struct directory_acceptor *acceptor;
	struct tls_connection *connection;
	struct os_watch *watch;
	struct os_timer *timer;
	char address[OS_SOCKET_TEXT_SIZE];
	struct handshake *previous;
	struct handshake *next;
};

struct directory_acceptor {
	struct os_loop *loop;
	const struct tls_context *tls;
	const struct config_directory *config;
	directory_accepted *accepted;
	void *context;
	struct os_listener *listener;
	struct handshake *handshakes; /* oldest first */
	size_t handshake_count;
	int64_t second; /* in which LINE_COUNT lines were logged */
	unsigned line_count;
	int64_t unsaid_count; /* not logged since the last line */
};

/* Limits the rate, so that a client cannot fill the log. */
static void log_refused_client(struct directory_acceptor *acceptor, const char *address,
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
	log_event(EVENT_DIRECTORY_REFUSED, log_string(peer, address), log_string(name, name),
		  log_string(reason, reason), log_number(unsaid, acceptor->unsaid_count));
	acceptor->unsaid_count = 0;
}

/* Frees HANDSHAKE and returns its connection. */
static struct tls_connection *end_handshake(struct handshake *handshake)
{
	struct directory_acceptor *acceptor = handshake->acceptor;
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

static const char *find_name_in_certificate(const struct tls_connection *connection,
					    const char **names, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (tls_connection_has_name(connection, names[i]))
			return names[i];
	return NULL;
}

/* The roles of the peer, and the name in its certificate that grants them. */
static unsigned roles_of_certificate(const struct config_directory *config,
				     const struct tls_connection *connection, const char **name_out)
{
	*name_out = find_name_in_certificate(connection, config->changers, config->changer_count);
	if (*name_out != NULL)
		return DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST | DIRECTORY_ROLE_SECRET |
		       DIRECTORY_ROLE_CHANGE;
	*name_out = find_name_in_certificate(connection, config->readers, config->reader_count);
	return *name_out != NULL ? DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST : 0;
}

static void admit_client(struct handshake *handshake)
{
	struct directory_acceptor *acceptor = handshake->acceptor;
	struct directory_transport transport;
	struct buffer peer = {0};
	const char *name;
	unsigned roles = roles_of_certificate(acceptor->config, handshake->connection, &name);

	if (roles == 0) {
		size_t count;
		const char *const *names = tls_connection_names(handshake->connection, &count);

		refuse_handshake(handshake, count > 0 ? names[0] : "",
				 "no name of the certificate is among readers and changers");
		return;
	}
	buffer_append_format(&peer, "%s[%s]", name, handshake->address);
	buffer_append_byte(&peer, '\0');
	directory_transport_tls(end_handshake(handshake), &transport);
	acceptor->accepted(acceptor->context, &transport, roles, buffer_data(&peer));
	buffer_clear(&peer);
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
	struct directory_acceptor *acceptor = context;
	struct handshake *handshake = memory_alloc_zero(1, sizeof *handshake);

	if (acceptor->handshake_count == DIRECTORY_HANDSHAKES_MAX)
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

static void on_directory_accept_failed(void *context, int error)
{
	(void)context;
	log_event(EVENT_DIRECTORY_ERROR, log_string(operation, "accept"), log_error(error));
}

static const struct os_listener_handler handler = {begin_handshake, on_directory_accept_failed,
						   NULL};

struct directory_acceptor *directory_acceptor_new(struct os_loop *loop, int listening,
						  const struct tls_context *tls,
						  const struct config_directory *config,
						  directory_accepted *accepted, void *context)
{
	struct directory_acceptor *acceptor = memory_alloc_zero(1, sizeof *acceptor);

	acceptor->loop = loop;
	acceptor->tls = tls;
	acceptor->config = config;
	acceptor->accepted = accepted;
	acceptor->context = context;
	acceptor->listener = os_listener_new(loop, listening, &handler, acceptor);
	return acceptor;
}

void directory_acceptor_configure(struct directory_acceptor *acceptor,
				  const struct tls_context *tls,
				  const struct config_directory *config)
{
	acceptor->tls = tls;
	acceptor->config = config;
}

void directory_acceptor_free(struct directory_acceptor *acceptor)
{
	if (acceptor == NULL)
		return;
	while (acceptor->handshakes != NULL)
		tls_connection_free(end_handshake(acceptor->handshakes));
	os_listener_free(acceptor->listener);
	free(acceptor);
}
