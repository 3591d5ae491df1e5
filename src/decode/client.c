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

/* So many wait at "decode", so that it need not wait for us between two. */
enum { ASKED_MAX = 16, ATTEMPTS_MAX = 2 };

/* Longer than "decode" may take by its own clock, which counts only what it does. */
static const int64_t PATIENCE_US = 6 * DECODE_SECONDS_MAX * SECOND_US;

struct decode_question {
	struct decode_client *client;
	const struct ipc_content *content;
	decode_done *done;
	void *context;
	unsigned attempts;
	uint32_t tag; /* of the last attempt */
	struct decode_question *next, *previous;
};

struct decode_client {
	struct ipc_client *client;
	struct os_timer *timer; /* runs while the first question is asked */
	struct buffer token;
	struct decode_question *questions; /* in order */
	size_t asked;                      /* the first ones: they are being answered */
	uint32_t tag;                      /* of the last question that was asked */
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

static uint64_t bytes_by_value(const struct decode_question *question)
{
	return question->content->file >= 0 ? 0 : question->content->size;
}

/* The first question that is not asked, if it may be now. One that was asked before is asked alone:
 * if the connection is lost again, it is known over which message. */
static struct decode_question *next_to_ask(const struct decode_client *client)
{
	struct decode_question *question = client->questions;
	uint64_t bytes = 0;

	for (size_t i = 0; i < client->asked; i++, question = question->next) {
		if (question->attempts > 1)
			return NULL;
		bytes += bytes_by_value(question);
	}
	if (question == NULL || client->asked == 0)
		return question;
	if (client->asked == ASKED_MAX || bytes + bytes_by_value(question) > DECODE_BY_VALUE_MAX)
		return NULL;
	return question;
}

static void ask_one(struct decode_client *client, struct decode_question *question)
{
	struct ipc_channel *channel = ipc_client_channel(client->client);
	bool is_file = question->content->file >= 0;
	struct buffer body = {0};

	question->attempts++;
	question->tag = ++client->tag;
	if (client->asked++ == 0)
		os_timer_start(client->timer, PATIENCE_US);
	pack_u64(&body, question->content->size);
	ipc_channel_send(channel, DECODE_ASK, question->tag, buffer_view(&body),
			 &question->content->file, is_file);
	buffer_clear(&body);
	if (!is_file)
		send_content(channel, question->tag, question->content);
}

static void ask_more(struct decode_client *client)
{
	struct decode_question *question;

	while (ipc_client_channel(client->client) != NULL &&
	       (question = next_to_ask(client)) != NULL)
		ask_one(client, question);
}

/* The first question is not asked any more; the next one may be. */
static void end_asking(struct decode_client *client)
{
	client->asked--;
	os_timer_stop(client->timer);
	if (client->asked > 0)
		os_timer_start(client->timer, PATIENCE_US);
	buffer_reset(&client->answer);
}

static void answer(struct decode_client *client, const struct decode_message *message)
{
	struct decode_question *question = client->questions;

	if (client->asked > 0)
		end_asking(client);
	DL_DELETE2(client->questions, question, previous, next);
	question->done(question->context, message);
	free(question);
	ask_more(client);
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
	if (client->asked == 0 || message->tag != client->questions->tag)
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
	ask_more(client);
}

/* The next connection asks again. */
static void on_lost(void *context)
{
	struct decode_client *client = context;
	bool was_asked = client->asked > 0;

	client->asked = 0;
	os_timer_stop(client->timer);
	buffer_reset(&client->answer);
	if (was_asked && client->questions->attempts >= ATTEMPTS_MAX)
		answer_problem(client, STR("the decoder crashed on it"));
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
	ask_more(client);
	return question;
}

/* What is still answered to it has an old tag. */
void decode_client_cancel(struct decode_question *question)
{
	struct decode_client *client = question->client;
	const struct decode_question *at = client->questions;

	for (size_t i = 0; i < client->asked; i++, at = at->next) {
		if (at != question)
			continue;
		if (i == 0)
			end_asking(client);
		else
			client->asked--;
		break;
	}
	DL_DELETE2(client->questions, question, previous, next);
	free(question);
	ask_more(client);
}
