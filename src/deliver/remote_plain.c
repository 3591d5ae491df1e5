// SPDX-License-Identifier: ISC
#include "deliver/remote_plain.h"
#include "base/table.h"
#include "base/timestamp.h"
#include "deliver/remote_peer.h"
#include "log/event.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>

enum { SERVERS_MAX = 1000 };

static const int64_t KEPT_US = 15 * MINUTE_US;

struct server {
	char address[OS_SOCKET_TEXT_SIZE]; /* with the port; zeroes after its end */
	int64_t until_us;                  /* monotonic */
	UT_hash_handle hh;
};

struct remote_plain {
	struct server *table; /* oldest first */
};

struct remote_plain *remote_plain_new(void)
{
	return memory_alloc_zero(1, sizeof(struct remote_plain));
}

static void drop(struct remote_plain *plain, struct server *server)
{
	HASH_DEL(plain->table, server);
	free(server);
}

void remote_plain_free(struct remote_plain *plain)
{
	if (plain == NULL)
		return;
	while (plain->table != NULL)
		drop(plain, plain->table);
	free(plain);
}

static struct server *find(const struct remote_plain *plain, const union os_socket_address *address)
{
	char text[OS_SOCKET_TEXT_SIZE] = {0};
	struct server *server;

	os_socket_address_format(address, text);
	HASH_FIND(hh, plain->table, text, strlen(text), server);
	return server;
}

static void log_added(const struct dns_server *server, const char *reason)
{
	char peer[REMOTE_PEER_SIZE];

	remote_peer_format(server, peer);
	log_event_rated(EVENT_TLS_PLAIN, log_string("host", peer), log_string("text", reason));
}

void remote_plain_add(struct remote_plain *plain, const struct dns_server *which,
		      const char *reason)
{
	const union os_socket_address *address = &which->address;
	struct server *server = find(plain, address);

	log_added(which, reason);
	if (server != NULL)
		drop(plain, server);
	if (HASH_COUNT(plain->table) >= SERVERS_MAX)
		drop(plain, plain->table);
	server = memory_alloc_zero(1, sizeof *server);
	os_socket_address_format(address, server->address);
	server->until_us = os_clock_monotonic_us() + KEPT_US;
	HASH_ADD(hh, plain->table, address, strlen(server->address), server);
}

bool remote_plain_has(struct remote_plain *plain, const union os_socket_address *address)
{
	struct server *server;

	if (plain->table == NULL)
		return false;
	server = find(plain, address);
	if (server == NULL || server->until_us > os_clock_monotonic_us())
		return server != NULL;
	drop(plain, server);
	return false;
}
