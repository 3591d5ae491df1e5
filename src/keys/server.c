// SPDX-License-Identifier: ISC
#include "keys/server.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "keys/protocol.h"
#include "keys/store.h"
#include "log/event.h"
#include "os/socket.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	USER_CLIENTS_MAX = 256,    /* connections of a user: he takes none of the others' */
	PART_SIZE = 56 * 1024,     /* bytes of a set in one message */
	ANSWERS_MAX = 4 * 1 << 20, /* bytes that a client has not read, besides a set */
};

static const int64_t LOOK_EVERY_US = 3 * SECOND_US;

struct client {
	struct keys_server *server;
	struct ipc_channel *channel;
	uid_t user;
	struct client *next, *previous;
};

struct keys_server {
	struct os_loop *loop;
	struct ipc_listener *listener;
	const struct config *config;
	struct keys_store *store;
	struct buffer packed; /* what the store has to tell */
	struct os_timer *timer;
	uid_t users[KEYS_USERS_MAX];
	size_t user_count;
	struct client *clients;
};

static void client_close(struct client *client)
{
	struct keys_server *server = client->server;

	ipc_channel_close(client->channel);
	DL_DELETE2(server->clients, client, previous, next);
	free(client);
}

static void send_set(const struct client *client)
{
	struct str rest = buffer_view(&client->server->packed);

	while (rest.length > 0) {
		size_t length = rest.length < PART_SIZE ? rest.length : PART_SIZE;

		ipc_channel_send(client->channel, KEYS_SET_PART, 0, str_slice(rest.data, length),
				 NULL, 0);
		rest = str_skip(rest, length);
	}
	ipc_channel_send(client->channel, KEYS_SET_END, 0, STR(""), NULL, 0);
}

static bool is_wanted(struct unpack *unpack, struct tls_signing_request *wanted)
{
	struct str key = unpack_str(unpack);

	wanted->scheme = (enum tls_scheme)unpack_u32(unpack);
	wanted->hash = (enum tls_hash)unpack_u32(unpack);
	wanted->data = unpack_str(unpack);
	if (!unpack_is_whole(unpack) || key.length != sizeof wanted->key)
		return false;
	memcpy(wanted->key, key.data, sizeof wanted->key);
	return true;
}

/* A key that is gone, or a scheme that is not its own, gets no signature: the certificate may just
 * have been replaced. */
static void sign(const struct client *client, uint32_t tag,
		 const struct tls_signing_request *wanted)
{
	const struct tls_private_key *key = keys_store_find(client->server->store, wanted->key);
	uint8_t signature[TLS_SIGNATURE_MAX];
	struct buffer body = {0};
	size_t length = 0;

	if (key == NULL || tls_private_key_sign(key, wanted->scheme, wanted->hash, wanted->data,
						signature, &length) < 0)
		length = 0;
	pack_str(&body, str_slice((const char *)signature, length));
	ipc_channel_send(client->channel, KEYS_SIGNED, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	const struct client *client = context;
	struct unpack unpack = {message->body, false};
	struct tls_signing_request wanted;

	if (message->type != KEYS_SIGN || message->descriptor_count > 0 ||
	    !is_wanted(&unpack, &wanted) ||
	    ipc_channel_backlog(channel) > client->server->packed.length + ANSWERS_MAX)
		ipc_channel_refuse(channel, message->type);
	else
		sign(client, message->tag, &wanted);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)channel;
	client_close(context);
}

static bool has_room(const struct keys_server *server, uid_t user)
{
	const struct client *client;
	size_t count = 0;

	DL_FOREACH2 (server->clients, client, next)
		count += client->user == user;
	return count < USER_CLIENTS_MAX;
}

static bool may_connect(const struct keys_server *server, uid_t user)
{
	for (size_t i = 0; i < server->user_count; i++)
		if (server->users[i] == user)
			return has_room(server, user);
	return false;
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};
	struct keys_server *server = context;
	uid_t user = os_socket_peer_user(socket);
	struct client *client;

	if (!may_connect(server, user)) {
		log_event_rated(EVENT_IPC_REFUSED, log_number("uid", (int64_t)user));
		os_socket_close(socket);
		return;
	}
	client = memory_alloc_zero(1, sizeof *client);
	client->server = server;
	client->user = user;
	client->channel = ipc_channel_new(server->loop, socket, &handler, client);
	DL_APPEND2(server->clients, client, previous, next);
	send_set(client);
}

static void look(void *context)
{
	struct keys_server *server = context;
	struct client *client;

	os_timer_start(server->timer, LOOK_EVERY_US);
	if (!keys_store_refresh(server->store, server->config))
		return;
	if (server->packed.memory != NULL)
		explicit_bzero(server->packed.memory, server->packed.capacity);
	buffer_clear(&server->packed);
	keys_store_pack(server->store, &server->packed);
	DL_FOREACH2 (server->clients, client, next)
		send_set(client);
}

struct keys_server *keys_server_new(struct os_loop *loop, int listening,
				    const struct config *config)
{
	struct keys_server *server = memory_alloc_zero(1, sizeof *server);

	server->loop = loop;
	server->config = config;
	server->store = keys_store_new();
	server->timer = os_timer_new(loop, look, server);
	look(server);
	server->listener = ipc_listener_new(loop, listening, on_connection, server);
	return server;
}

void keys_server_configure(struct keys_server *server, const struct config *config)
{
	server->config = config;
	look(server);
}

void keys_server_set_users(struct keys_server *server, const uid_t *users, size_t count)
{
	if (count > KEYS_USERS_MAX)
		panic("more than %d users of keys", KEYS_USERS_MAX);
	memcpy(server->users, users, count * sizeof *users);
	server->user_count = count;
}

void keys_server_free(struct keys_server *server)
{
	if (server == NULL)
		return;
	ipc_listener_free(server->listener);
	while (server->clients != NULL)
		client_close(server->clients);
	os_timer_free(server->timer);
	keys_store_free(server->store);
	buffer_clear(&server->packed);
	free(server);
}
