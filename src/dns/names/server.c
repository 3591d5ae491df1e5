// SPDX-License-Identifier: ISC
#include "dns/names/server.h"
#include "base/panic.h"
#include "dns/names/protocol.h"
#include "dns/reverse.h"
#include "ipc/pack.h"
#include "ipc/server.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	CLIENTS_MAX = 256,                 /* connections of a user */
	SEARCHES_MAX = 4 * NAMES_OPEN_MAX, /* of all connections of a user */
	BACKLOG_MAX = 1 << 20,             /* bytes of answers that a client has not read */
};

struct client;

struct search {
	struct client *client;
	uint32_t tag;
	struct in6_addr address;
	struct dns_reverse *reverse;
	struct search *next, *previous;
};

struct client {
	struct names_server *server;
	struct ipc_channel *channel;
	uid_t user;
	struct search *searches;
	size_t search_count;
	struct client *next, *previous;
};

struct names_server {
	struct dns_resolver *resolver;
	struct ipc_server *listener;
	struct client *clients;
};

static void search_free(struct search *search)
{
	dns_reverse_free(search->reverse);
	DL_DELETE2(search->client->searches, search, previous, next);
	search->client->search_count--;
	free(search);
}

static void answer_names_client(struct client *client, uint32_t tag, const struct in6_addr *address,
				const struct dns_reverse_answer *found)
{
	struct buffer body = {0};

	pack_str(&body, str_slice((const char *)address->s6_addr, NAMES_ADDRESS_SIZE));
	pack_u32(&body, found->is_temporary);
	pack_u32(&body, found->ttl);
	pack_str(&body, str_from(found->name));
	ipc_channel_send(client->channel, NAMES_ANSWER, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_reverse_name_found(void *context, const struct dns_reverse_answer *found)
{
	struct search *search = context;

	answer_names_client(search->client, search->tag, &search->address, found);
	search_free(search);
}

/* Those of one user must not keep others from theirs. */
static size_t count_searches(const struct names_server *server, uid_t user)
{
	const struct client *client;
	size_t count = 0;

	DL_FOREACH2 (server->clients, client, next)
		if (client->user == user)
			count += client->search_count;
	return count;
}

static void ask_for_reverse_name(struct client *client, uint32_t tag,
				 const struct in6_addr *address)
{
	static const struct dns_reverse_answer later = {"", true, 0};
	struct search *search;

	if (client->search_count >= NAMES_OPEN_MAX ||
	    count_searches(client->server, client->user) >= SEARCHES_MAX) {
		answer_names_client(client, tag, address, &later);
		return;
	}
	search = memory_alloc_zero(1, sizeof *search);
	search->client = client;
	search->tag = tag;
	search->address = *address;
	DL_APPEND2(client->searches, search, previous, next);
	client->search_count++;
	search->reverse =
		dns_reverse_new(client->server->resolver, address, on_reverse_name_found, search);
}

static void *on_names_client_connected(void *context, struct ipc_channel *channel)
{
	struct client *client = memory_alloc_zero(1, sizeof *client);

	client->server = context;
	client->channel = channel;
	client->user = ipc_channel_user(channel);
	DL_APPEND2(client->server->clients, client, previous, next);
	return client;
}

static bool on_names_request(void *context, struct ipc_channel *channel,
			     const struct ipc_message *message)
{
	struct client *client = context;
	struct unpack unpack = {message->body, false};
	struct str text = unpack_str(&unpack);
	struct in6_addr address;

	(void)channel;
	if (message->type != NAMES_ASK || !unpack_is_whole(&unpack) ||
	    text.length != NAMES_ADDRESS_SIZE)
		return false;
	memcpy(address.s6_addr, text.data, sizeof address.s6_addr);
	ask_for_reverse_name(client, message->tag, &address);
	return true;
}

static void on_names_client_lost(void *context)
{
	struct client *client = context;

	while (client->searches != NULL)
		search_free(client->searches);
	DL_DELETE2(client->server->clients, client, previous, next);
	free(client);
}

struct names_server *names_server_new(struct os_loop *loop, int listening,
				      struct dns_resolver *resolver, uid_t user)
{
	static const struct ipc_server_kind kind = {CLIENTS_MAX, BACKLOG_MAX,
						    on_names_client_connected, on_names_request,
						    on_names_client_lost};
	struct names_server *server = memory_alloc_zero(1, sizeof *server);

	server->resolver = resolver;
	server->listener = ipc_server_new(loop, listening, &kind, server);
	names_server_set_users(server, &user, 1);
	return server;
}

void names_server_set_users(struct names_server *server, const uid_t *users, size_t count)
{
	ipc_server_set_users(server->listener, users, count);
}

void names_server_free(struct names_server *server)
{
	if (server == NULL)
		return;
	ipc_server_free(server->listener);
	free(server);
}
