// SPDX-License-Identifier: ISC
#include "deliver/remote/policy/plain.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/policy/memory.h"
#include "deliver/remote/route/peer.h"
#include "log/event.h"
#include <stdlib.h>

enum { FAILED_MAX = 1000, SECURED_MAX = 10000 };

static const int64_t FAILED_US = 15 * MINUTE_US;
static const int64_t BROKEN_US = 60 * MINUTE_US;
static const int64_t SECURED_US = DAY_US;

/* Breaks are counted for a day: a message is tried again after hours. */
struct remote_plain {
	struct remote_memory *failed;  /* in the handshake */
	struct remote_memory *broken;  /* inside TLS, so often that it is left out */
	struct remote_memory *breaks;  /* inside TLS, in a row */
	struct remote_memory *secured; /* whose TLS has worked */
};

struct remote_plain *remote_plain_new(void)
{
	struct remote_plain *plain = memory_alloc_zero(1, sizeof *plain);

	plain->failed = remote_memory_new(FAILED_MAX);
	plain->broken = remote_memory_new(FAILED_MAX);
	plain->breaks = remote_memory_new(FAILED_MAX);
	plain->secured = remote_memory_new(SECURED_MAX);
	return plain;
}

void remote_plain_free(struct remote_plain *plain)
{
	if (plain == NULL)
		return;
	remote_memory_free(plain->failed);
	remote_memory_free(plain->broken);
	remote_memory_free(plain->breaks);
	remote_memory_free(plain->secured);
	free(plain);
}

static void log_plain(enum log_name event, const struct dns_server *server, const char *reason)
{
	char peer[REMOTE_PEER_SIZE];

	remote_peer_format(server, peer);
	log_event_like(log_write_rated, event, EVENT_TLS_PLAIN, log_string(host, peer),
		       log_string(text, reason));
}

void remote_plain_add(struct remote_plain *plain, const struct dns_server *server,
		      const char *reason)
{
	char key[OS_SOCKET_TEXT_SIZE];

	log_plain(EVENT_TLS_PLAIN, server, reason);
	os_socket_address_format(&server->address, key);
	(void)remote_memory_keep(plain->failed, key, FAILED_US);
}

bool remote_plain_has(struct remote_plain *plain, const union os_socket_address *address,
		      bool has_login)
{
	char key[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(address, key);
	return remote_memory_find(plain->failed, key) != NULL ||
	       (!has_login && remote_memory_find(plain->broken, key) != NULL);
}

void remote_plain_broke(struct remote_plain *plain, const struct dns_server *server, bool is_tls,
			const char *reason)
{
	char key[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(&server->address, key);
	if (!is_tls) {
		remote_memory_drop(plain->broken, key);
		return;
	}
	if (++remote_memory_keep(plain->breaks, key, DAY_US)->count < REMOTE_PLAIN_BREAKS)
		return;
	remote_memory_drop(plain->breaks, key);
	(void)remote_memory_keep(plain->broken, key, BROKEN_US);
	log_plain(EVENT_TLS_BREAKS, server, reason);
}

void remote_plain_held(struct remote_plain *plain, const struct dns_server *server)
{
	char key[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(&server->address, key);
	remote_memory_drop(plain->breaks, key);
}

void remote_plain_learn(struct remote_plain *plain, const struct dns_server *server,
			bool is_secured, bool is_refused)
{
	char key[OS_SOCKET_TEXT_SIZE];

	os_socket_address_format(&server->address, key);
	if (is_secured)
		(void)remote_memory_keep(plain->secured, key, SECURED_US);
	else if (is_refused)
		log_plain(EVENT_TLS_WITHDRAWN, server, "STARTTLS is offered, and refused");
	else if (remote_memory_find(plain->secured, key) != NULL)
		log_plain(EVENT_TLS_WITHDRAWN, server, "STARTTLS is not offered any more");
}
