// SPDX-License-Identifier: ISC
#include "filing/decode/client.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "filing/decode/internal_client.h"
#include <stdlib.h>
#include <utlist.h>

static const int64_t TICK_US = SECOND_US / 4;

enum {
	STUCK_TICKS = 20,    /* five seconds: all processes together */
	WAIT_TICKS = 60,     /* fifteen seconds: one message, and one more */
	WAIT_SIZE = 4 << 20, /* for so many bytes */
};

/* --- whom to ask --- */

/* The connection where least is asked. */
static struct decode_link *choose_link(struct decode_client *client,
				       const struct decode_question *question)
{
	struct decode_link *best = NULL;

	for (size_t i = 0; i < COUNT_OF(client->links); i++) {
		struct decode_link *link = &client->links[i];

		if (decode_link_has_room(link, question) &&
		    (best == NULL || link->asked < best->asked))
			best = link;
	}
	return best;
}

static void ask_more(struct decode_client *client)
{
	struct decode_question *question;
	struct decode_link *link;

	while ((question = client->waiting) != NULL &&
	       (link = choose_link(client, question)) != NULL) {
		DL_DELETE2(client->waiting, question, previous, next);
		decode_link_ask(link, question);
	}
}

/* Behind a question that takes long nothing waits while another process has time. */
static void leave_late_ones(struct decode_client *client)
{
	bool is_any_free = false;

	for (size_t i = 0; i < COUNT_OF(client->links); i++)
		is_any_free = is_any_free || (decode_link_is_usable(&client->links[i]) &&
					      !decode_link_is_late(&client->links[i]));
	for (size_t i = 0; is_any_free && i < COUNT_OF(client->links); i++)
		if (decode_link_is_late(&client->links[i]))
			decode_link_ask_elsewhere(&client->links[i]);
}

/* --- patience --- */

/* The first one of LIST for which somebody has waited too long. */
static struct decode_question *find_late_question(struct decode_question *list, bool is_stuck)
{
	struct decode_question *question;

	DL_FOREACH2 (list, question, next)
		if (question->done != NULL &&
		    (is_stuck || question->ticks > WAIT_TICKS + question->size / WAIT_SIZE))
			return question;
	return NULL;
}

/* A callback may ask and cancel others: looks again after each. */
static void give_up_late_questions(struct decode_client *client, bool is_stuck)
{
	const struct decode_message message = {.subject = STR(""),
					       .problem = STR("no decoder was free in time")};
	struct decode_question *question;

	for (size_t i = 0; i < COUNT_OF(client->links); i++) {
		while ((question = find_late_question(client->links[i].questions, is_stuck)) !=
		       NULL) {
			decode_done *done = question->done;
			void *context = question->context;

			decode_question_forget(question);
			done(context, &message);
		}
	}
	while ((question = find_late_question(client->waiting, is_stuck)) != NULL)
		decode_question_answer(question, &message);
}

static void count_tick(struct decode_question *list)
{
	struct decode_question *question;

	DL_FOREACH2 (list, question, next)
		question->ticks++;
}

static bool is_connected(const struct decode_client *client)
{
	bool is_connected = false;

	for (size_t i = 0; i < COUNT_OF(client->links); i++)
		is_connected = is_connected || decode_link_is_usable(&client->links[i]);
	return is_connected;
}

static bool is_idle(const struct decode_client *client)
{
	bool is_idle = client->waiting == NULL;

	for (size_t i = 0; i < COUNT_OF(client->links); i++)
		is_idle = is_idle && client->links[i].questions == NULL;
	return is_idle;
}

static void on_decode_client_tick(void *context)
{
	struct decode_client *client = context;

	client->ticks++;
	count_tick(client->waiting);
	for (size_t i = 0; i < COUNT_OF(client->links); i++)
		count_tick(client->links[i].questions);
	for (size_t i = 0; i < COUNT_OF(client->links); i++)
		decode_link_tick(&client->links[i]);
	give_up_late_questions(client, client->ticks > STUCK_TICKS);
	leave_late_ones(client);
	ask_more(client);
	if (!is_idle(client))
		os_timer_start(client->timer, TICK_US);
}

/* --- for who asks --- */

struct decode_client *decode_client_new(struct os_loop *loop, const char *run, struct str token,
					void (*replace)(const char *socket))
{
	static const char *const names[DECODE_PROCESSES] = DECODE_SOCKETS;
	struct decode_client *client = memory_alloc_zero(1, sizeof *client);

	buffer_append_str(&client->token, token);
	client->replace = replace;
	client->changed = ask_more;
	client->timer = os_timer_new(loop, on_decode_client_tick, client);
	for (size_t i = 0; i < COUNT_OF(client->links); i++)
		decode_link_init(&client->links[i], loop, client, run, names[i]);
	return client;
}

/* What was cancelled may still be asked. */
static void forget_cancelled(struct decode_link *link)
{
	while (link->questions != NULL && link->questions->done == NULL)
		decode_question_remove(link->questions);
}

void decode_client_free(struct decode_client *client)
{
	if (client == NULL)
		return;
	if (client->waiting != NULL)
		panic("questions are left");
	for (size_t i = 0; i < COUNT_OF(client->links); i++) {
		forget_cancelled(&client->links[i]);
		decode_link_clear(&client->links[i]);
	}
	os_timer_free(client->timer);
	buffer_clear(&client->token);
	free(client);
}

struct decode_question *decode_client_ask(struct decode_client *client,
					  const struct ipc_content *content, decode_done *done,
					  void *context)
{
	struct decode_question *question = memory_alloc_zero(1, sizeof *question);

	if (content->file < 0 && content->size > DECODE_BY_VALUE_MAX)
		panic("a content in memory of more than %d bytes", DECODE_BY_VALUE_MAX);
	*question = (struct decode_question){
		.client = client,
		.content = content,
		.done = done,
		.context = context,
		.size = content->size,
		.is_by_value = content->file < 0,
	};
	if (is_idle(client) && is_connected(client))
		client->ticks = 0; /* otherwise nobody has answered since then */
	DL_APPEND2(client->waiting, question, previous, next);
	if (!os_timer_is_running(client->timer))
		os_timer_start(client->timer, TICK_US);
	ask_more(client);
	return question;
}

/* One that was asked stays, until it is answered or its process has died: otherwise the next one
 * would be blamed. */
void decode_client_cancel(struct decode_question *question)
{
	if (question->link == NULL)
		decode_question_remove(question);
	else
		decode_question_forget(question);
}
