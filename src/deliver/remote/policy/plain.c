// SPDX-License-Identifier: ISC
#include "deliver/remote/policy/plain.h"
#include "base/table.h"
#include "base/timestamp.h"
#include "deliver/remote/route/peer.h"
#include "log/event.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>

enum { FAILED_MAX = 1000, SECURED_MAX = 10000 };

static const int64_t FAILED_US = 15 * MINUTE_US;
static const int64_t SECURED_US = DAY_US;

struct server {
	char address[OS_SOCKET_TEXT_SIZE]; /* with the port; zeroes after its end */
	int64_t until_us;                  /* monotonic */
	UT_hash_handle hh;
};

/* Oldest first. */
struct remote_plain {
	struct server *failed;
	struct server *secured;
};

struct remote_plain *remote_plain_new(void)
{
	return memory_alloc_zero(1, sizeof(struct remote_plain));
}

static void drop(struct server **table, struct server *server)
{
	HASH_DEL(*table, server);
	free(server);
}

void remote_plain_free(struct remote_plain *plain)
{
	if (plain == NULL)
		return;
	while (plain->failed != NULL)
		drop(&plain->failed, plain->failed);
	while (plain->secured != NULL)
		drop(&plain->secured, plain->secured);
	free(plain);
}

static struct server *find(const struct server *table, const union os_socket_address *address)
{
	char text[OS_SOCKET_TEXT_SIZE] = {0};
	struct server *server;

	os_socket_address_format(address, text);
	HASH_FIND(hh, table, text, strlen(text), server);
	return server;
}

/* As the latest of at most MAX. */
static void add(struct server **table, unsigned max, const union os_socket_address *address,
		int64_t kept_us)
{
	struct server *server = find(*table, address);

	if (server != NULL)
		drop(table, server);
	if (HASH_COUNT(*table) >= max)
		drop(table, *table);
	server = memory_alloc_zero(1, sizeof *server);
	os_socket_address_format(address, server->address);
	server->until_us = os_clock_monotonic_us() + kept_us;
	HASH_ADD(hh, *table, address, strlen(server->address), server);
}

static bool has(struct server **table, const union os_socket_address *address)
{
	struct server *server = *table != NULL ? find(*table, address) : NULL;

	if (server == NULL || server->until_us > os_clock_monotonic_us())
		return server != NULL;
	drop(table, server);
	return false;
}

static void log_plain(enum log_name event, const struct dns_server *server, const char *reason)
{
	char peer[REMOTE_PEER_SIZE];

	remote_peer_format(server, peer);
	log_event_rated(event, log_string("host", peer), log_string("text", reason));
}

void remote_plain_add(struct remote_plain *plain, const struct dns_server *server,
		      const char *reason)
{
	log_plain(EVENT_TLS_PLAIN, server, reason);
	add(&plain->failed, FAILED_MAX, &server->address, FAILED_US);
}

bool remote_plain_has(struct remote_plain *plain, const union os_socket_address *address)
{
	return has(&plain->failed, address);
}

void remote_plain_learn(struct remote_plain *plain, const struct dns_server *server,
			bool is_secured, bool is_refused)
{
	if (is_secured)
		add(&plain->secured, SECURED_MAX, &server->address, SECURED_US);
	else if (is_refused)
		log_plain(EVENT_TLS_WITHDRAWN, server, "STARTTLS is offered, and refused");
	else if (has(&plain->secured, &server->address))
		log_plain(EVENT_TLS_WITHDRAWN, server, "STARTTLS is not offered any more");
}
