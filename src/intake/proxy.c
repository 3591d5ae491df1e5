// SPDX-License-Identifier: ISC
#include "intake/proxy.h"
#include "base/panic.h"
#include "log/event.h"
#include "smtp/proxy.h"
#include "tls/connection.h"
#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

_Static_assert((int)SMTP_PROXY_MAX <= (int)TLS_EARLY_MAX, "what came behind a header is not lost");

struct intake_proxy {
	struct intake *intake;
	const struct smtp_service *service;
	const struct intake_security *security;
	struct os_watch *watch;
	struct os_timer *timer;
	int socket;
	union os_socket_address peer;
	size_t length; /* of bytes */
	struct intake_proxy *next, *previous;
	char bytes[SMTP_PROXY_MAX];
};

static void log_proxy_refusal(const union os_socket_address *peer, const char *why)
{
	char address[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format_host(peer, address);
	log_event(EVENT_SESSION_REFUSED, log_string(client, address), log_string(text, why));
}

/* Frees everything but the socket. */
static void proxy_free(struct intake_proxy *proxy)
{
	os_watch_free(proxy->watch);
	os_timer_free(proxy->timer);
	DL_DELETE2(proxy->intake->proxies, proxy, previous, next);
	proxy->intake->session_count--;
	free(proxy);
}

static void refuse_proxy(struct intake_proxy *proxy, const char *why)
{
	struct intake *intake = proxy->intake;

	log_proxy_refusal(&proxy->peer, why);
	os_socket_close(proxy->socket);
	proxy_free(proxy);
	intake->session_ended(intake->context);
}

static void hand_over(struct intake_proxy *proxy, const struct smtp_proxy *header)
{
	struct intake *intake = proxy->intake;
	const struct smtp_service *service = proxy->service;
	const struct intake_security *security = proxy->security;
	union os_socket_address client = proxy->peer;
	bool is_named = header->is_named;
	struct buffer early CLEANUP(buffer_clear) = {0};
	int socket = proxy->socket;

	if (header->is_named && !os_socket_address_parse(header->address, header->port, &client)) {
		refuse_proxy(proxy, "The PROXY header names no address");
		return;
	}
	buffer_append(&early, proxy->bytes + header->length, proxy->length - header->length);
	proxy_free(proxy);
	if (is_named)
		intake_session_new(intake, service, security, socket, &client, buffer_view(&early));
	else
		intake_session_new_stranger(intake, service, security, socket, &client,
					    buffer_view(&early));
}

static void on_proxy_ready(void *context, unsigned events)
{
	struct intake_proxy *proxy = context;
	ssize_t count = os_socket_read(proxy->socket, proxy->bytes + proxy->length,
				       sizeof proxy->bytes - proxy->length);
	struct smtp_proxy header;

	(void)events;
	if (count == -EAGAIN)
		return;
	if (count <= 0) {
		refuse_proxy(proxy, "The connection ended before its PROXY header");
		return;
	}
	proxy->length += (size_t)count;
	switch (smtp_proxy_parse(str_slice(proxy->bytes, proxy->length), &header)) {
	case SMTP_PROXY_MORE:
		return;
	case SMTP_PROXY_DONE:
		hand_over(proxy, &header);
		return;
	case SMTP_PROXY_LONG:
		refuse_proxy(proxy,
			     "The PROXY header is too long: at most 2048 bytes, with extensions");
		return;
	case SMTP_PROXY_WRONG:
		refuse_proxy(proxy, "The connection begins without a right PROXY header");
		return;
	}
}

static void on_proxy_timeout(void *context)
{
	refuse_proxy(context, "The PROXY header did not come in time");
}

void intake_proxy_new(struct intake *intake, const struct smtp_service *service,
		      const struct intake_security *security, int socket,
		      const union os_socket_address *peer)
{
	struct in6_addr mapped = os_socket_address_mapped(peer);
	struct intake_proxy *proxy;

	if (!config_is_proxy(intake->config, &mapped)) {
		log_proxy_refusal(peer, "The address is not in proxy_from");
		os_socket_close(socket);
		return;
	}
	proxy = memory_alloc_zero(1, sizeof *proxy);
	proxy->intake = intake;
	proxy->service = service;
	proxy->security = security;
	proxy->socket = socket;
	proxy->peer = *peer;
	proxy->watch = os_watch_new(intake->loop, socket, OS_WATCH_READ, on_proxy_ready, proxy);
	proxy->timer = os_timer_new(intake->loop, on_proxy_timeout, proxy);
	os_timer_start(proxy->timer, intake->config->proxy_timeout * SECOND_US);
	DL_APPEND2(intake->proxies, proxy, previous, next);
	intake->session_count++;
}

void intake_proxy_stop(struct intake *intake)
{
	struct intake_proxy *proxy;
	struct intake_proxy *next;

	DL_FOREACH_SAFE2 (intake->proxies, proxy, next, next)
		refuse_proxy(proxy, "The service is stopping");
}
