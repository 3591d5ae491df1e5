// SPDX-License-Identifier: ISC
/* A connection to a process "decode" (filing/decode/internal_client.h): what was asked there, and
 * who is blamed when it ends. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/decode/internal_client.h"
#include "filing/decode/wire.h"
#include "ipc/pack.h"
#include <stdio.h>
#include <utlist.h>

enum {
	ASKED_MAX = 16, /* so many wait there, so that it need not wait for us between two */
	DEATHS_MAX = 2,
	LATE_TICKS = 4,        /* a second */
	SILENT_TICKS = 12,     /* three seconds, and one more */
	SILENT_SIZE = 4 << 20, /* for so many bytes */
};

static struct ipc_channel *channel_of(const struct decode_link *link)
{
	return ipc_client_channel(link->ipc);
}

/* --- questions --- */

static uint64_t bytes_asked(const struct decode_link *link)
{
	const struct decode_question *question;
	uint64_t bytes = 0;

	DL_FOREACH2 (link->questions, question, next)
		bytes += question->is_by_value ? question->size : 0;
	return bytes;
}

bool decode_link_is_usable(const struct decode_link *link)
{
	return channel_of(link) != NULL && !link->is_silent && !link->is_ending;
}

bool decode_link_is_late(const struct decode_link *link)
{
	return link->questions != NULL && link->ticks > LATE_TICKS;
}

/* One over which a process has died is asked alone: if the next one dies, too, it was that. */
bool decode_link_has_room(const struct decode_link *link, const struct decode_question *question)
{
	if (!decode_link_is_usable(link) || decode_link_is_late(link))
		return false;
	if (link->questions == NULL)
		return true;
	return question->deaths == 0 && link->questions->deaths == 0 && link->asked < ASKED_MAX &&
	       (!question->is_by_value ||
		bytes_asked(link) + question->size <= DECODE_BY_VALUE_MAX);
}

static void send_content(struct ipc_channel *channel, uint32_t tag, struct str rest)
{
	while (rest.length > 0) {
		struct str part = rest;

		if (part.length > IPC_BODY_MAX)
			part.length = IPC_BODY_MAX;
		ipc_channel_send(channel, DECODE_CONTENT, tag, part, NULL, 0);
		rest = str_skip(rest, part.length);
	}
}

void decode_link_ask(struct decode_link *link, struct decode_question *question)
{
	struct ipc_channel *channel = channel_of(link);
	struct buffer body = {0};

	if (link->asked++ == 0)
		link->ticks = 0;
	question->link = link;
	question->tag = ++link->client->tag;
	DL_APPEND2(link->questions, question, previous, next);
	pack_u64(&body, question->size);
	ipc_channel_send(channel, DECODE_ASK, question->tag, buffer_view(&body),
			 &question->content->file, !question->is_by_value);
	buffer_clear(&body);
	if (question->is_by_value)
		send_content(channel, question->tag, question->content->bytes);
}

/* Nothing is asked there any more: all of it waits again, before what waits, without blame. */
static void take_back_questions(struct decode_link *link)
{
	struct decode_client *client = link->client;
	struct decode_question *question;

	while (link->questions != NULL) {
		question = link->questions->previous; /* the last one */
		if (question->done == NULL) {
			decode_question_problem(question, STR(""));
			continue;
		}
		DL_DELETE2(link->questions, question, previous, next);
		link->asked--;
		question->link = NULL;
		DL_PREPEND2(client->waiting, question, previous, next);
	}
}

void decode_link_ask_elsewhere(struct decode_link *link)
{
	struct decode_question *question = link->questions->previous; /* the last one */

	while (question != link->questions) {
		struct decode_question *before = question->previous;

		if (question->done != NULL)
			decode_question_ask_again(question);
		question = before;
	}
}

/* --- the process --- */

/* It may have been taken over: only another one can be trusted to go on. */
static void replace_process(struct decode_link *link)
{
	link->is_silent = true;
	if (link->client->replace != NULL)
		link->client->replace(link->name);
}

void decode_link_tick(struct decode_link *link)
{
	struct decode_question *first = link->questions;

	if (first == NULL || ++link->ticks <= SILENT_TICKS + first->size / SILENT_SIZE)
		return;
	replace_process(link);
	decode_question_problem(first, STR("it was not decoded in time"));
	take_back_questions(link);
}

static void on_answer_of_decoder(struct decode_link *link, const struct ipc_message *message)
{
	struct arena *arena = arena_new();
	struct decode_message decoded;

	if (decode_wire_read(buffer_view(&link->answer), arena, &decoded)) {
		link->is_ending = message->type == DECODE_LAST;
		link->ticks = 0;
		link->client->ticks = 0;
		buffer_reset(&link->answer);
		decode_question_answer(link->questions, &decoded);
		if (link->is_ending)
			take_back_questions(link);
	} else {
		ipc_channel_refuse(channel_of(link), message->type);
		replace_process(link);
	}
	arena_free(arena);
}

/* An answer to another tag is to one that was given up. */
static void on_decoder_message(void *context, struct ipc_message *message)
{
	struct decode_link *link = context;
	bool is_part = message->type == DECODE_PART;

	if ((!is_part && message->type != DECODE_END && message->type != DECODE_LAST) ||
	    link->answer.length + message->body.length > DECODE_WIRE_MAX) {
		ipc_channel_refuse(channel_of(link), message->type);
		replace_process(link);
		return;
	}
	if (link->questions == NULL || message->tag != link->questions->tag)
		return;
	buffer_append_str(&link->answer, message->body);
	if (is_part)
		return;
	on_answer_of_decoder(link, message);
	link->client->changed(link->client);
}

static void on_decoder_connected(void *context)
{
	struct decode_link *link = context;
	struct buffer body = {0};

	link->is_silent = false;
	link->is_ending = false;
	link->client->ticks = 0;
	pack_str(&body, buffer_view(&link->client->token));
	ipc_channel_send(channel_of(link), DECODE_HELLO, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
	link->client->changed(link->client);
}

/* The first one was being decoded. It waits behind all others, so that it costs them nothing. */
static void blame_question(struct decode_question *question)
{
	struct decode_client *client = question->client;

	if (question->done == NULL || ++question->deaths >= DEATHS_MAX) {
		decode_question_problem(question, STR("the decoder crashed on it"));
		return;
	}
	DL_DELETE2(question->link->questions, question, previous, next);
	question->link->asked--;
	question->link = NULL;
	DL_APPEND2(client->waiting, question, previous, next);
}

static void on_decoder_lost(void *context)
{
	struct decode_link *link = context;

	buffer_reset(&link->answer);
	if (link->questions != NULL)
		blame_question(link->questions);
	take_back_questions(link);
	link->client->changed(link->client);
}

void decode_link_init(struct decode_link *link, struct os_loop *loop, struct decode_client *client,
		      const char *run, const char *name)
{
	static const struct ipc_client_handler handler = {on_decoder_connected, on_decoder_message,
							  on_decoder_lost};
	char path[108];
	int length = snprintf(path, sizeof path, "%s/%s", run, name);

	if (length < 0 || length >= (int)sizeof path)
		panic("the run directory's path is too long for a socket");
	link->client = client;
	link->name = name;
	link->ipc = ipc_client_new(loop, path, &handler, link);
}

void decode_link_clear(struct decode_link *link)
{
	if (link->questions != NULL)
		panic("questions are left");
	ipc_client_free(link->ipc);
	buffer_clear(&link->answer);
}
