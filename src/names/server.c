// SPDX-License-Identifier: ISC
#include "names/server.h"
#include "base/panic.h"
#include "dns/reverse.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "log/event.h"
#include "names/protocol.h"
#include "os/socket.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	CLIENTS_MAX = 256,                 /* connections */
	SEARCHES_MAX = 4 * NAMES_OPEN_MAX, /* of all connections */
	BACKLOG_MAX = 1 << 20,             /* bytes of answers that a client has not read */
};

struct client;

struct search {
	struct client *client;
	struct in6_addr address;
	struct dns_reverse *reverse;
	struct search *next, *previous;
};

struct client {
	struct names_server *server;
	struct ipc_channel *channel;
	struct search *searches;
	size_t search_count;
	struct client *next, *previous;
};

struct names_server {
	struct os_loop *loop;
	struct dns_resolver *resolver;
	struct ipc_listener *listener;
	uid_t users[NAMES_USERS_MAX];
	size_t user_count;
	struct client *clients;
	size_t client_count;
	size_t search_count;
};

static void search_free(struct search *search)
{
	dns_reverse_free(search->reverse);
	DL_DELETE2(search->client->searches, search, previous, next);
	search->client->search_count--;
	search->client->server->search_count--;
	free(search);
}

static void client_close(struct client *client)
{
	struct names_server *server = client->server;

	while (client->searches != NULL)
		search_free(client->searches);
	ipc_channel_close(client->channel);
	DL_DELETE2(server->clients, client, previous, next);
	server->client_count--;
	free(client);
}

static void answer(struct client *client, const struct in6_addr *address,
		   const struct dns_reverse_answer *found)
{
	struct buffer body = {0};

	pack_str(&body, str_slice((const char *)address->s6_addr, NAMES_ADDRESS_SIZE));
	pack_u32(&body, found->is_temporary);
	pack_u32(&body, found->ttl);
	pack_str(&body, str_from(found->name));
	ipc_channel_send(client->channel, NAMES_ANSWER, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_found(void *context, const struct dns_reverse_answer *found)
{
	struct search *search = context;

	answer(search->client, &search->address, found);
	search_free(search);
}

static void ask(struct client *client, const struct in6_addr *address)
{
	static const struct dns_reverse_answer later = {"", true, 0};
	struct search *search;

	if (client->search_count >= NAMES_OPEN_MAX ||
	    client->server->search_count >= SEARCHES_MAX) {
		answer(client, address, &later);
		return;
	}
	search = memory_alloc_zero(1, sizeof *search);
	search->client = client;
	search->address = *address;
	DL_APPEND2(client->searches, search, previous, next);
	client->search_count++;
	client->server->search_count++;
	search->reverse = dns_reverse_new(client->server->resolver, address, on_found, search);
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	struct client *client = context;
	struct unpack unpack = {message->body, false};
	struct str text = unpack_str(&unpack);
	struct in6_addr address;

	if (message->type != NAMES_ASK || !unpack_is_whole(&unpack) ||
	    text.length != NAMES_ADDRESS_SIZE || message->descriptor_count > 0 ||
	    ipc_channel_backlog(channel) > BACKLOG_MAX) {
		ipc_channel_refuse(channel, message->type);
		return;
	}
	memcpy(address.s6_addr, text.data, sizeof address.s6_addr);
	ask(client, &address);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	client_close(context);
}

static bool may_connect(const struct names_server *server, uid_t user)
{
	for (size_t i = 0; i < server->user_count; i++)
		if (server->users[i] == user)
			return true;
	return false;
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};
	struct names_server *server = context;
	uid_t user = os_socket_peer_user(socket);
	struct client *client;

	if (!may_connect(server, user) || server->client_count >= CLIENTS_MAX) {
		log_event_rated(EVENT_IPC_REFUSED, log_number("uid", (int64_t)user));
		os_socket_close(socket);
		return;
	}
	client = memory_alloc_zero(1, sizeof *client);
	client->server = server;
	client->channel = ipc_channel_new(server->loop, socket, &handler, client);
	DL_APPEND2(server->clients, client, previous, next);
	server->client_count++;
}

struct names_server *names_server_new(struct os_loop *loop, int listening,
				      struct dns_resolver *resolver, uid_t user)
{
	struct names_server *server = memory_alloc_zero(1, sizeof *server);

	server->loop = loop;
	server->resolver = resolver;
	names_server_set_users(server, &user, 1);
	server->listener = ipc_listener_new(loop, listening, on_connection, server);
	return server;
}

void names_server_set_users(struct names_server *server, const uid_t *users, size_t count)
{
	if (count > NAMES_USERS_MAX)
		panic("more than %d users of names", NAMES_USERS_MAX);
	memcpy(server->users, users, count * sizeof *users);
	server->user_count = count;
}

void names_server_free(struct names_server *server)
{
	if (server == NULL)
		return;
	ipc_listener_free(server->listener);
	while (server->clients != NULL)
		client_close(server->clients);
	free(server);
}
