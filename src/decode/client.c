// SPDX-License-Identifier: ISC
#include "decode/client.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "decode/protocol.h"
#include "decode/wire.h"
#include "ipc/channel.h"
#include "ipc/pack.h"
#include <stdlib.h>
#include <utlist.h>

enum { ATTEMPTS_MAX = 2 };

/* Longer than "decode" may take by its own clock, which counts only what it does. */
static const int64_t PATIENCE_US = 6 * DECODE_SECONDS_MAX * SECOND_US;

struct decode_question {
	struct decode_client *client;
	const struct ipc_content *content;
	decode_done *done;
	void *context;
	unsigned attempts;
	struct decode_question *next, *previous;
};

struct decode_client {
	struct ipc_client *client;
	struct os_timer *timer; /* runs while a question is asked */
	struct buffer token;
	struct decode_question *questions; /* in order; the first may be asked */
	bool is_asked;
	uint32_t tag; /* of the last question that was asked */
	struct buffer answer;
};

static void send_content(struct ipc_channel *channel, uint32_t tag,
			 const struct ipc_content *content)
{
	struct str rest = content->bytes;

	if (content->size > DECODE_BY_VALUE_MAX)
		panic("a content in memory of more than %d bytes", DECODE_BY_VALUE_MAX);
	while (rest.length > 0) {
		struct str part = rest;

		if (part.length > IPC_BODY_MAX)
			part.length = IPC_BODY_MAX;
		ipc_channel_send(channel, DECODE_CONTENT, tag, part, NULL, 0);
		rest = str_skip(rest, part.length);
	}
}

/* Asks the first question, if none is asked. */
static void ask_next(struct decode_client *client)
{
	struct ipc_channel *channel = ipc_client_channel(client->client);
	struct decode_question *question = client->questions;
	struct buffer body = {0};
	bool is_file;

	if (client->is_asked || question == NULL || channel == NULL)
		return;
	is_file = question->content->file >= 0;
	question->attempts++;
	client->is_asked = true;
	client->tag++;
	buffer_reset(&client->answer);
	pack_u64(&body, question->content->size);
	ipc_channel_send(channel, DECODE_ASK, client->tag, buffer_view(&body),
			 &question->content->file, is_file);
	buffer_clear(&body);
	if (!is_file)
		send_content(channel, client->tag, question->content);
	os_timer_start(client->timer, PATIENCE_US);
}

/* The first question is not asked any more. */
static void end_asking(struct decode_client *client)
{
	client->is_asked = false;
	os_timer_stop(client->timer);
	buffer_reset(&client->answer);
}

static void answer(struct decode_client *client, const struct decode_message *message)
{
	struct decode_question *question = client->questions;

	end_asking(client);
	DL_DELETE2(client->questions, question, previous, next);
	question->done(question->context, message);
	free(question);
	ask_next(client);
}

static void answer_problem(struct decode_client *client, struct str problem)
{
	const struct decode_message message = {.subject = STR(""), .problem = problem};

	answer(client, &message);
}

/* An answer that comes after all is one to an old tag. */
static void on_timer(void *context)
{
	answer_problem(context, STR("it was not decoded in time"));
}

static void refuse(struct decode_client *client, const struct ipc_message *message)
{
	ipc_channel_refuse(ipc_client_channel(client->client), message->type);
}

static void on_message(void *context, struct ipc_message *message)
{
	struct decode_client *client = context;
	struct decode_message decoded;
	struct arena *arena;

	if ((message->type != DECODE_PART && message->type != DECODE_END) ||
	    client->answer.length + message->body.length > DECODE_WIRE_MAX) {
		refuse(client, message);
		return;
	}
	if (!client->is_asked || message->tag != client->tag)
		return; /* it was cancelled, or took too long */
	buffer_append_str(&client->answer, message->body);
	if (message->type == DECODE_PART)
		return;
	arena = arena_new();
	if (decode_wire_read(buffer_view(&client->answer), arena, &decoded))
		answer(client, &decoded);
	else
		refuse(client, message);
	arena_free(arena);
}

static void on_connected(void *context)
{
	struct decode_client *client = context;
	struct buffer body = {0};

	pack_str(&body, buffer_view(&client->token));
	ipc_channel_send(ipc_client_channel(client->client), DECODE_HELLO, 0, buffer_view(&body),
			 NULL, 0);
	buffer_clear(&body);
	ask_next(client);
}

/* The next connection asks again. */
static void on_lost(void *context)
{
	struct decode_client *client = context;
	bool was_asked = client->is_asked;

	end_asking(client);
	if (was_asked && client->questions->attempts >= ATTEMPTS_MAX)
		answer_problem(client, STR("the decoder died over it"));
}

struct decode_client *decode_client_new(struct os_loop *loop, const char *path, struct str token)
{
	static const struct ipc_client_handler handler = {on_connected, on_message, on_lost};
	struct decode_client *client = memory_alloc_zero(1, sizeof *client);

	buffer_append_str(&client->token, token);
	client->timer = os_timer_new(loop, on_timer, client);
	client->client = ipc_client_new(loop, path, &handler, client);
	return client;
}

void decode_client_free(struct decode_client *client)
{
	if (client == NULL)
		return;
	if (client->questions != NULL)
		panic("questions are left");
	ipc_client_free(client->client);
	os_timer_free(client->timer);
	buffer_clear(&client->token);
	buffer_clear(&client->answer);
	free(client);
}

struct decode_question *decode_client_ask(struct decode_client *client,
					  const struct ipc_content *content, decode_done *done,
					  void *context)
{
	struct decode_question *question = memory_alloc_zero(1, sizeof *question);

	question->client = client;
	question->content = content;
	question->done = done;
	question->context = context;
	DL_APPEND2(client->questions, question, previous, next);
	ask_next(client);
	return question;
}

void decode_client_cancel(struct decode_question *question)
{
	struct decode_client *client = question->client;

	if (question == client->questions && client->is_asked)
		end_asking(client);
	DL_DELETE2(client->questions, question, previous, next);
	free(question);
	ask_next(client);
}
