// SPDX-License-Identifier: ISC
#include "ipc/question.h"
#include "os/clock.h"
#include <stdlib.h>

struct ipc_questions {
	const struct ipc_question_kind *kind;
	int64_t patience_us;
	struct ipc_client *client;
	struct os_timer *timer;    /* for the first one that is not late */
	struct ipc_question *open; /* by tag, the oldest first */
	uint32_t last_tag;
};

/* --- deadlines --- */

/* All have the same patience, so the others' deadlines come later. */
static struct ipc_question *find_first_deadline(const struct ipc_questions *questions)
{
	struct ipc_question *question = questions->open;

	while (question != NULL && question->is_late)
		question = question->hh.next;
	return question;
}

static void set_question_timer(struct ipc_questions *questions)
{
	const struct ipc_question *first = find_first_deadline(questions);
	int64_t left_us;

	os_timer_stop(questions->timer);
	if (first == NULL)
		return;
	left_us = first->until_us - os_clock_boot_us();
	os_timer_start(questions->timer, left_us > 0 ? left_us : 0);
}

/* Who is told may ask and cancel others: each is looked for anew. */
static void on_question_deadline(void *context)
{
	struct ipc_questions *questions = context;
	const int64_t now_us = os_clock_boot_us();
	struct ipc_question *question;

	while ((question = find_first_deadline(questions)) != NULL &&
	       question->until_us <= now_us) {
		question->is_late = true;
		questions->kind->late(question);
	}
	set_question_timer(questions);
}

/* --- the connection --- */

static void send_question(const struct ipc_questions *questions,
			  const struct ipc_question *question)
{
	struct buffer body = {0};

	questions->kind->pack(question, &body);
	ipc_channel_send(ipc_client_channel(questions->client), questions->kind->type,
			 question->tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_questions_connected(void *context)
{
	struct ipc_questions *questions = context;

	if (questions->kind->is_secret)
		ipc_channel_set_secret(ipc_client_channel(questions->client));
	for (struct ipc_question *one = questions->open; one != NULL; one = one->hh.next)
		send_question(questions, one);
}

static bool take_answer_of_question(struct ipc_questions *questions,
				    const struct ipc_message *message)
{
	struct ipc_question *question;

	HASH_FIND(hh, questions->open, &message->tag, sizeof message->tag, question);
	return message->tag != 0 && questions->kind->answered(question, message->body);
}

static void on_questions_message(void *context, struct ipc_message *message)
{
	struct ipc_questions *questions = context;
	bool is_good;

	if (message->type == questions->kind->answer_type)
		is_good = take_answer_of_question(questions, message);
	else
		is_good = questions->kind->other != NULL && questions->kind->other(message);
	if (!is_good)
		ipc_channel_refuse(ipc_client_channel(questions->client), message->type);
}

/* They are sent again when there is another one. */
static void on_questions_lost(void *context)
{
	(void)context;
}

/* --- for the owner --- */

struct ipc_questions *ipc_questions_new(struct os_loop *loop, const char *path,
					const struct ipc_question_kind *kind, int64_t patience_us)
{
	static const struct ipc_client_handler handler = {on_questions_connected,
							  on_questions_message, on_questions_lost};
	struct ipc_questions *questions = memory_alloc_zero(1, sizeof *questions);

	questions->kind = kind;
	questions->patience_us = patience_us;
	questions->timer = os_timer_new(loop, on_question_deadline, questions);
	questions->client = ipc_client_new(loop, path, &handler, questions);
	return questions;
}

void ipc_questions_free(struct ipc_questions *questions)
{
	if (questions == NULL)
		return;
	while (questions->open != NULL)
		ipc_question_cancel(questions->open);
	ipc_client_free(questions->client);
	os_timer_free(questions->timer);
	free(questions);
}

struct ipc_client *ipc_questions_client(const struct ipc_questions *questions)
{
	return questions->client;
}

size_t ipc_questions_count(const struct ipc_questions *questions)
{
	return HASH_COUNT(questions->open);
}

struct ipc_question *ipc_questions_first(const struct ipc_questions *questions)
{
	return questions->open;
}

void ipc_question_ask(struct ipc_questions *questions, struct ipc_question *question)
{
	if (++questions->last_tag == 0)
		questions->last_tag = 1;
	question->questions = questions;
	question->tag = questions->last_tag;
	question->is_late = false;
	question->until_us = os_clock_boot_us() + questions->patience_us;
	HASH_ADD(hh, questions->open, tag, sizeof question->tag, question);
	if (ipc_client_channel(questions->client) != NULL)
		send_question(questions, question);
	if (!os_timer_is_running(questions->timer))
		set_question_timer(questions);
}

void ipc_question_cancel(struct ipc_question *question)
{
	struct ipc_questions *questions = question->questions;

	if (questions == NULL)
		return;
	HASH_DEL(questions->open, question);
	question->questions = NULL;
	set_question_timer(questions);
}
