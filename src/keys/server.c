// SPDX-License-Identifier: ISC
#include "keys/server.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "ipc/pack.h"
#include "ipc/server.h"
#include "keys/passwords.h"
#include "keys/protocol.h"
#include "keys/store.h"
#include "log/event.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum {
	CLIENTS_MAX = 256,         /* connections of a user */
	PART_SIZE = 56 * 1024,     /* bytes of a set in one message */
	ANSWERS_MAX = 4 * 1 << 20, /* bytes that a client has not read, besides a set */
};

static const int64_t LOOK_EVERY_US = 3 * SECOND_US;
static const int64_t LOOK_SOON_US = SECOND_US / 5; /* where a file could not be read just now */

struct keys_server {
	const struct config *config;
	struct keys_store *store;
	struct keys_packed packed; /* what the store has to tell */
	struct os_timer *timer;
	struct ipc_server *clients;
	uid_t sender;                               /* who gets passwords; -1: nobody */
	uid_t acceptors[KEYS_SERVER_ACCEPTORS_MAX]; /* who gets the keys of tickets */
	size_t acceptor_count;
	struct buffer problems;                              /* as TROUBLE was told */
	void (*trouble)(void *context, struct str problems); /* NULL: nobody is told */
	void *context;
};

static void send_set_part(struct ipc_channel *channel, struct str rest)
{
	while (rest.length > 0) {
		size_t length = rest.length < PART_SIZE ? rest.length : PART_SIZE;

		ipc_channel_send(channel, KEYS_SET_PART, 0, str_slice(rest.data, length), NULL, 0);
		rest = str_skip(rest, length);
	}
}

static bool is_acceptor(const struct keys_server *server, uid_t user)
{
	for (size_t i = 0; i < server->acceptor_count; i++)
		if (server->acceptors[i] == user)
			return true;
	return false;
}

static void send_set(void *context, struct ipc_channel *channel)
{
	const struct keys_server *server = context;

	send_set_part(channel, buffer_view(&server->packed.texts));
	if (is_acceptor(server, ipc_channel_user(channel))) {
		ipc_channel_set_secret(channel);
		send_set_part(channel, buffer_view(&server->packed.tickets));
	} else {
		send_set_part(channel, buffer_view(&server->packed.no_tickets));
	}
	ipc_channel_send(channel, KEYS_SET_END, 0, STR(""), NULL, 0);
}

static bool unpack_signing_request(struct unpack *unpack, struct tls_signing_request *wanted)
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
static void sign_for_client(const struct keys_server *server, struct ipc_channel *channel,
			    uint32_t tag, const struct tls_signing_request *wanted)
{
	const struct tls_private_key *key = keys_store_find(server->store, wanted->key);
	uint8_t signature[TLS_SIGNATURE_MAX];
	struct buffer body = {0};
	size_t length = 0;

	if (key == NULL || tls_private_key_sign(key, wanted->scheme, wanted->hash, wanted->data,
						signature, &length) < 0)
		length = 0;
	pack_str(&body, str_slice((const char *)signature, length));
	ipc_channel_send(channel, KEYS_SIGNED, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void tell_password(const struct keys_server *server, struct ipc_channel *channel,
			  const struct ipc_message *message, struct str relay, uint32_t port,
			  struct str user)
{
	struct buffer password = {.is_secret = true};
	struct buffer reason = {0};
	struct buffer body = {.is_secret = true};

	if (keys_password_find(server->config, relay, (uint16_t)port, user, &password, &reason) < 0)
		log_event_rated(EVENT_LOGIN_IMPOSSIBLE, log_str(relay, relay), log_str(user, user),
				log_str(text, buffer_view(&reason)));
	pack_str(&body, buffer_view(&password));
	pack_str(&body, password.length > 0 ? STR("") : buffer_view(&reason));
	ipc_channel_set_secret(channel);
	ipc_channel_send(channel, KEYS_PASSWORD, message->tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	buffer_clear(&password);
	buffer_clear(&reason);
}

static bool on_ask_password(const struct keys_server *server, struct ipc_channel *channel,
			    const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	struct str relay = unpack_str(&unpack);
	uint32_t port = unpack_u32(&unpack);
	struct str user = unpack_str(&unpack);

	if (!unpack_is_whole(&unpack) || port > UINT16_MAX ||
	    ipc_channel_user(channel) != server->sender)
		return false;
	tell_password(server, channel, message, relay, port, user);
	return true;
}

static void *on_keys_client_connected(void *context, struct ipc_channel *channel)
{
	send_set(context, channel);
	return context;
}

static bool on_keys_request(void *context, struct ipc_channel *channel,
			    const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	struct tls_signing_request wanted;

	if (message->type == KEYS_ASK_PASSWORD)
		return on_ask_password(context, channel, message);
	if (message->type != KEYS_SIGN || !unpack_signing_request(&unpack, &wanted))
		return false;
	sign_for_client(context, channel, message->tag, &wanted);
	return true;
}

/* A client is sent a set although it may not have read the one before. */
static void publish_key_set(struct keys_server *server)
{
	keys_packed_clear(&server->packed);
	keys_store_pack(server->store, &server->packed);
	ipc_server_set_backlog_max(server->clients, server->packed.texts.length +
							    server->packed.tickets.length +
							    ANSWERS_MAX);
	ipc_server_each(server->clients, send_set);
}

static void tell_store_problems(struct keys_server *server)
{
	struct buffer problems = {0};

	keys_store_append_problems(server->store, &problems);
	if (!str_equal(buffer_view(&problems), buffer_view(&server->problems)) &&
	    server->trouble != NULL)
		server->trouble(server->context, buffer_view(&problems));
	buffer_clear(&server->problems);
	server->problems = problems;
}

static void look_for_new_keys(void *context)
{
	struct keys_server *server = context;

	if (keys_store_refresh(server->store, server->config))
		publish_key_set(server);
	tell_store_problems(server);
	os_timer_start(server->timer,
		       keys_store_is_unsure(server->store) ? LOOK_SOON_US : LOOK_EVERY_US);
}

struct keys_server *keys_server_new(struct os_loop *loop, int listening,
				    const struct config *config)
{
	static const struct ipc_server_kind kind = {
		CLIENTS_MAX, ANSWERS_MAX, on_keys_client_connected, on_keys_request, NULL};
	struct keys_server *server = memory_alloc_zero(1, sizeof *server);

	server->config = config;
	server->packed.tickets.is_secret = true;
	server->sender = (uid_t)-1;
	server->store = keys_store_new();
	server->timer = os_timer_new(loop, look_for_new_keys, server);
	server->clients = ipc_server_new(loop, listening, &kind, server);
	look_for_new_keys(server);
	return server;
}

void keys_server_configure(struct keys_server *server, const struct config *config)
{
	server->config = config;
	look_for_new_keys(server);
}

void keys_server_set_users(struct keys_server *server, const uid_t *users, size_t count)
{
	ipc_server_set_users(server->clients, users, count);
}

void keys_server_set_sender(struct keys_server *server, uid_t user)
{
	server->sender = user;
}

void keys_server_set_acceptors(struct keys_server *server, const uid_t *users, size_t count)
{
	if (count > KEYS_SERVER_ACCEPTORS_MAX)
		panic("too many users may accept sessions");
	memcpy(server->acceptors, users, count * sizeof *users);
	server->acceptor_count = count;
}

void keys_server_set_trouble(struct keys_server *server,
			     void (*trouble)(void *context, struct str problems), void *context)
{
	server->trouble = trouble;
	server->context = context;
	trouble(context, buffer_view(&server->problems));
}

void keys_server_free(struct keys_server *server)
{
	if (server == NULL)
		return;
	buffer_clear(&server->problems);
	ipc_server_free(server->clients);
	os_timer_free(server->timer);
	keys_store_free(server->store);
	keys_packed_clear(&server->packed);
	free(server);
}
