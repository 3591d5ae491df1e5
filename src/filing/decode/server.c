// SPDX-License-Identifier: ISC
#include "filing/decode/server.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/decode/mime.h"
#include "filing/decode/protocol.h"
#include "filing/decode/wire.h"
#include "ipc/pack.h"
#include "ipc/server.h"
#include "os/watchdog.h"
#include <stdlib.h>

enum { CLIENTS_MAX = 64 };

struct decode_server {
	const struct ipc_tokens *tokens;
	struct ipc_server *listener;
	struct os_watchdog *watchdog;
	struct arena *arena;         /* for one message */
	struct ipc_channel *channel; /* that asked for it, */
	uint32_t tag;                /* by this number */
};

struct client {
	struct decode_server *server;
	bool is_known;
	bool is_asking; /* the content is coming */
	uint32_t tag;
	uint64_t size; /* of that content */
	struct buffer content;
};

static void *on_decode_client_connected(void *context, struct ipc_channel *channel)
{
	struct client *client = memory_alloc_zero(1, sizeof *client);

	(void)channel;
	client->server = context;
	return client;
}

static void on_decode_client_lost(void *context)
{
	struct client *client = context;

	buffer_clear(&client->content);
	free(client);
}

/* LAST: the type of the last packet. */
static void send_decoded_answer(struct ipc_channel *channel, uint32_t tag, struct str answer,
				uint16_t last)
{
	while (answer.length > IPC_BODY_MAX) {
		ipc_channel_send(channel, DECODE_PART, tag, str_slice(answer.data, IPC_BODY_MAX),
				 NULL, 0);
		answer = str_skip(answer, IPC_BODY_MAX);
	}
	ipc_channel_send(channel, last, tag, answer, NULL, 0);
}

/* In the thread of the watchdog: the other one uses the channel again only after the watchdog's
 * end. So who asked knows which message it was, and asks no second time. */
static void on_decoding_late(void *context)
{
	const struct decode_message message = {.subject = STR(""),
					       .problem = STR("it takes too long to decode")};
	struct decode_server *server = context;
	struct buffer answer CLEANUP(buffer_clear) = {0};

	decode_wire_append(&answer, &message);
	send_decoded_answer(server->channel, server->tag, buffer_view(&answer), DECODE_LAST);
}

static void decode_content(struct client *client, struct ipc_channel *channel,
			   const struct ipc_content *content)
{
	struct decode_server *server = client->server;
	struct buffer answer CLEANUP(buffer_clear) = {0};
	struct decode_message message;

	server->channel = channel;
	server->tag = client->tag;
	os_watchdog_begin(server->watchdog,
			  (int64_t)(content->size / DECODE_SECOND_SIZE) * SECOND_US);
	decode_mime(content, server->arena, &message);
	os_watchdog_end(server->watchdog);
	decode_wire_append(&answer, &message);
	send_decoded_answer(channel, client->tag, buffer_view(&answer), DECODE_END);
	arena_reset(server->arena);
}

static bool on_decode_hello(struct client *client, const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	struct str token = unpack_str(&unpack);

	if (client->is_known || !unpack_is_whole(&unpack) ||
	    !ipc_tokens_match(client->server->tokens, "mailbox", token))
		return false;
	client->is_known = true;
	return true;
}

static bool on_ask(struct client *client, struct ipc_channel *channel,
		   const struct ipc_message *message)
{
	struct unpack unpack = {message->body, false};
	struct ipc_content content = {.bytes = STR(""), .file = -1};

	content.size = unpack_u64(&unpack);
	if (client->is_asking || !unpack_is_whole(&unpack) || content.size > INT64_MAX ||
	    message->descriptor_count > 1)
		return false;
	client->tag = message->tag;
	client->size = content.size;
	if (message->descriptor_count == 1)
		content.file = message->descriptors[0];
	else if (content.size > DECODE_BY_VALUE_MAX)
		return false;
	if (content.file >= 0 || content.size == 0)
		decode_content(client, channel, &content);
	else
		client->is_asking = true;
	return true;
}

static bool on_decode_content(struct client *client, struct ipc_channel *channel,
			      const struct ipc_message *message)
{
	struct ipc_content content = {.file = -1, .size = client->size};

	if (!client->is_asking || message->tag != client->tag ||
	    message->body.length > client->size - client->content.length)
		return false;
	buffer_append_str(&client->content, message->body);
	if (client->content.length < client->size)
		return true;
	client->is_asking = false;
	content.bytes = buffer_view(&client->content);
	decode_content(client, channel, &content);
	buffer_reset(&client->content);
	return true;
}

static bool on_decode_request(void *context, struct ipc_channel *channel,
			      const struct ipc_message *message)
{
	struct client *client = context;

	if (message->type != DECODE_HELLO && !client->is_known)
		return false;
	if (message->type != DECODE_ASK && message->descriptor_count > 0)
		return false;
	switch (message->type) {
	case DECODE_HELLO:
		return on_decode_hello(client, message);
	case DECODE_ASK:
		return on_ask(client, channel, message);
	case DECODE_CONTENT:
		return on_decode_content(client, channel, message);
	default:
		return false;
	}
}

int decode_server_new(struct os_loop *loop, int listening, const struct ipc_tokens *tokens,
		      struct decode_server **server_out)
{
	static const struct ipc_server_kind kind = {.clients_max = CLIENTS_MAX,
						    .backlog_max = DECODE_WIRE_MAX,
						    .takes_descriptors = true,
						    .connected = on_decode_client_connected,
						    .message = on_decode_request,
						    .lost = on_decode_client_lost};
	struct decode_server *server = memory_alloc_zero(1, sizeof *server);
	int error = os_watchdog_new(DECODE_SECONDS_MAX * SECOND_US, on_decoding_late, server,
				    &server->watchdog);

	if (error < 0) {
		free(server);
		return error;
	}
	server->tokens = tokens;
	server->arena = arena_new();
	server->listener = ipc_server_new(loop, listening, &kind, server);
	*server_out = server;
	return 0;
}

void decode_server_set_user(struct decode_server *server, uid_t user)
{
	ipc_server_set_users(server->listener, &user, 1);
}

void decode_server_free(struct decode_server *server)
{
	if (server == NULL)
		return;
	ipc_server_free(server->listener);
	os_watchdog_free(server->watchdog);
	arena_free(server->arena);
	free(server);
}
