// SPDX-License-Identifier: ISC
#include "directory/client/dialer.h"
#include "base/buffer.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "directory/wire/transport_tls.h"
#include "dns/search.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

static const char NO_CERTIFICATE[] = "there is no certificate of our own that can be used";

static const int64_t SEARCH_US = 10 * SECOND_US;
static const int64_t ATTEMPT_US = 5 * SECOND_US;

enum phase {
	PHASE_BEGIN,  /* nothing done yet; ends at once on an error */
	PHASE_WAIT,   /* for a context */
	PHASE_SEARCH, /* looks up the host's addresses */
	PHASE_CONNECT,
	PHASE_SHAKE, /* the TLS handshake, until the server speaks */
};

struct directory_dial {
	struct directory_tls_dialer *dialer;
	directory_dialed *dialed;
	void *context;
	enum phase phase;
	char host[DNS_NAME_SIZE];
	char name[DNS_NAME_SIZE]; /* that the certificate must have */
	uint16_t port;
	struct dns_search *search;
	union os_socket_address addresses[DNS_SERVERS_MAX];
	size_t address_count;
	size_t next_address; /* to try */
	int socket;
	struct tls_connection *connection; /* owns SOCKET; may be NULL */
	struct os_watch *watch;
	struct os_timer *timer;
	struct os_task task; /* begins, or ends the dial */
	int error;           /* of the last address tried */
	struct buffer reason;
	struct directory_dial *previous;
	struct directory_dial *next;
};

struct directory_tls_dialer {
	struct directory_dialer interface;
	struct os_loop *loop;
	const struct tls_context *tls;
	struct dns_resolver *resolver;
	struct directory_dial *dials;
};

static void try_next_server_address(struct directory_dial *dial);

static void explain_dial_failure(struct directory_dial *dial, int error, const char *reason)
{
	char address[OS_SOCKET_TEXT_SIZE] = "";

	dial->error = error;
	buffer_reset(&dial->reason);
	if (dial->phase >= PHASE_CONNECT) {
		os_socket_address_format_host(&dial->addresses[dial->next_address - 1], address);
		buffer_append_format(&dial->reason, "%s: ", address);
	}
	buffer_append_string(&dial->reason, reason);
	buffer_append_byte(&dial->reason, '\0');
}

static void close_attempt(struct directory_dial *dial)
{
	os_watch_free(dial->watch);
	dial->watch = NULL;
	if (dial->connection != NULL)
		tls_connection_free(dial->connection);
	else
		os_socket_close(dial->socket);
	dial->connection = NULL;
	dial->socket = -1;
}

static void free_dial(struct directory_dial *dial)
{
	struct directory_tls_dialer *dialer = dial->dialer;

	DL_DELETE2(dialer->dials, dial, previous, next);
	os_task_cancel(dialer->loop, &dial->task);
	close_attempt(dial);
	dns_search_free(dial->search);
	os_timer_free(dial->timer);
	buffer_clear(&dial->reason);
	free(dial);
}

/* Nothing may use DIAL after this, as the callback may dial again. */
static void fail_dial(struct directory_dial *dial)
{
	directory_dialed *dialed = dial->dialed;
	void *context = dial->context;
	struct buffer reason = dial->reason;
	int error = dial->error;

	dial->reason = (struct buffer){0};
	free_dial(dial);
	dialed(context, error, buffer_data(&reason), NULL);
	buffer_clear(&reason);
}

static void succeed_dial(struct directory_dial *dial)
{
	directory_dialed *dialed = dial->dialed;
	void *context = dial->context;
	struct directory_transport transport;

	tls_connection_on_resume(dial->connection, NULL, NULL);
	directory_transport_tls(dial->connection, &transport);
	os_watch_free(dial->watch);
	dial->watch = NULL;
	dial->connection = NULL;
	dial->socket = -1;
	free_dial(dial);
	dialed(context, 0, "", &transport);
}

static void fail_attempt(struct directory_dial *dial, int error, const char *reason)
{
	explain_dial_failure(dial, error, reason);
	close_attempt(dial);
	try_next_server_address(dial);
}

static void shake_hands_with_server(void *context)
{
	struct directory_dial *dial = context;
	int result = tls_connection_peek(dial->connection);

	if (result == -EAGAIN)
		os_watch_set(dial->watch, tls_connection_wants(dial->connection, false));
	else if (result > 0)
		succeed_dial(dial);
	else if (result == 0)
		fail_attempt(dial, -EACCES,
			     "the server has closed the connection: perhaps it does "
			     "not know the name of our certificate");
	else
		fail_attempt(dial, result, tls_connection_reason(dial->connection));
}

static void on_dial_event(void *context, unsigned events)
{
	struct directory_dial *dial = context;
	int error;

	(void)events;
	if (dial->phase == PHASE_SHAKE) {
		shake_hands_with_server(dial);
		return;
	}
	error = os_socket_error(dial->socket);
	if (error < 0) {
		fail_attempt(dial, error, strerror(-error));
		return;
	}
	if (dial->dialer->tls == NULL) { /* a reload has taken it away */
		fail_attempt(dial, -EACCES, NO_CERTIFICATE);
		return;
	}
	dial->phase = PHASE_SHAKE;
	dial->connection = tls_connection_new(dial->dialer->tls, dial->socket, dial->name);
	tls_connection_on_resume(dial->connection, shake_hands_with_server, dial);
	shake_hands_with_server(dial);
}

static void give_up_dial(struct directory_dial *dial, int error, const char *reason)
{
	explain_dial_failure(dial, error, reason);
	fail_dial(dial);
}

static void on_dial_timeout(void *context)
{
	struct directory_dial *dial = context;

	if (dial->phase == PHASE_CONNECT)
		fail_attempt(dial, -ETIMEDOUT, "no connection in time");
	else if (dial->phase == PHASE_SHAKE)
		fail_attempt(dial, -ETIMEDOUT, "the server does not speak in time");
	else if (dial->phase == PHASE_WAIT)
		give_up_dial(dial, -EACCES, NO_CERTIFICATE);
	else
		give_up_dial(dial, -ETIMEDOUT, "the name is not found in time");
}

/* Tries the next address, or fails. */
static void try_next_server_address(struct directory_dial *dial)
{
	while (dial->next_address < dial->address_count) {
		dial->phase = PHASE_CONNECT;
		dial->socket = os_socket_connect(&dial->addresses[dial->next_address++]);
		if (dial->socket >= 0) {
			os_socket_keep_alive(dial->socket);
			dial->watch = os_watch_new(dial->dialer->loop, dial->socket, OS_WATCH_WRITE,
						   on_dial_event, dial);
			os_timer_start(dial->timer, ATTEMPT_US);
			return;
		}
		explain_dial_failure(dial, dial->socket, strerror(-dial->socket));
	}
	fail_dial(dial);
}

static void on_servers_resolved(void *context, const struct dns_servers *servers)
{
	struct directory_dial *dial = context;

	for (size_t i = 0; i < servers->count; i++)
		dial->addresses[dial->address_count++] = servers->list[i].address;
	if (dial->address_count == 0)
		explain_dial_failure(dial, -EHOSTUNREACH, servers->verdict.text);
	dns_search_free(dial->search);
	dial->search = NULL;
	try_next_server_address(dial);
}

static void begin_dial(void *context)
{
	struct directory_dial *dial = context;

	if (dial->error < 0) {
		fail_dial(dial);
	} else if (dial->dialer->tls == NULL) {
		dial->phase = PHASE_WAIT;
		os_timer_start(dial->timer, ATTEMPT_US);
	} else if (dial->address_count > 0) {
		try_next_server_address(dial);
	} else if (dial->dialer->resolver == NULL) {
		give_up_dial(dial, -EHOSTUNREACH, "names cannot be looked up here");
	} else {
		dial->phase = PHASE_SEARCH;
		os_timer_start(dial->timer, SEARCH_US);
		dial->search = dns_search_relay(dial->dialer->resolver, dial->host, dial->port,
						on_servers_resolved, dial);
	}
}

/* "HOST:PORT", "[IPV6]:PORT" */
static bool parse_dialed_server(struct directory_dial *dial, struct str server)
{
	ptrdiff_t colon = str_find_last(server, ':');
	struct str host = str_slice(server.data, colon > 0 ? (size_t)colon : 0);
	uint64_t port;

	if (host.length > 2 && host.data[0] == '[' && host.data[host.length - 1] == ']')
		host = str_slice(host.data + 1, host.length - 2);
	if (host.length == 0 || host.length >= sizeof dial->host ||
	    !str_to_u64(str_skip(server, (size_t)colon + 1), &port) || port == 0 ||
	    port > UINT16_MAX)
		return false;
	memcpy(dial->host, host.data, host.length);
	dial->port = (uint16_t)port;
	if (os_socket_address_parse(dial->host, dial->port, &dial->addresses[0]))
		dial->address_count = 1;
	return true;
}

static struct directory_dial *dial_directory_server(void *context, const char *server,
						    const char *name, directory_dialed *dialed, void *dialed_context)
{
	struct directory_tls_dialer *dialer = context;
	struct directory_dial *new = memory_alloc_zero(1, sizeof *new);

	new->dialer = dialer;
	new->dialed = dialed;
	new->context = dialed_context;
	new->socket = -1;
	new->timer = os_timer_new(dialer->loop, on_dial_timeout, new);
	if (!parse_dialed_server(new, str_from(server)))
		explain_dial_failure(new, -EINVAL, "no HOST:PORT");
	snprintf(new->name, sizeof new->name, "%s", name != NULL ? name : new->host);
	new->task = (struct os_task){.call = begin_dial, .context = new};
	os_loop_defer(dialer->loop, &new->task);
	DL_APPEND2(dialer->dials, new, previous, next);
	return new;
}

struct directory_tls_dialer *directory_tls_dialer_new(struct os_loop *loop,
						      const struct tls_context *tls,
						      struct dns_resolver *resolver)
{
	struct directory_tls_dialer *dialer = memory_alloc_zero(1, sizeof *dialer);

	dialer->interface = (struct directory_dialer){dial_directory_server, free_dial, dialer};
	dialer->loop = loop;
	dialer->tls = tls;
	dialer->resolver = resolver;
	return dialer;
}

const struct directory_dialer *directory_tls_dialer(struct directory_tls_dialer *dialer)
{
	return &dialer->interface;
}

void directory_tls_dialer_configure(struct directory_tls_dialer *dialer,
				    const struct tls_context *tls)
{
	struct directory_dial *each;

	dialer->tls = tls;
	DL_FOREACH2 (dialer->dials, each, next) {
		if (each->phase != PHASE_WAIT)
			continue;
		os_timer_stop(each->timer);
		each->phase = PHASE_BEGIN;
		os_loop_defer(dialer->loop, &each->task);
	}
}

void directory_tls_dialer_free(struct directory_tls_dialer *dialer)
{
	free(dialer);
}
