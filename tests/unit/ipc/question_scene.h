// SPDX-License-Identifier: ISC
/*
 * tests/unit/ipc/question_scene.h - questions whose connection, clock and timers are played, and
 * an owner of them that notes what it hears. To include once in a program.
 */
#ifndef TESTS_UNIT_IPC_QUESTION_SCENE_H
#define TESTS_UNIT_IPC_QUESTION_SCENE_H

#include "base/timestamp.h"
#include "fake_ipc_client.h"
#include "fake_loop.h"
#include "ipc/question.h"
#include "os/clock.h"
#include "test.h"
#include <string.h>

enum { QUESTIONS = 8, ASK = 3, ANSWER, OTHER };

static const int64_t PATIENCE_US = 2 * SECOND_US;

/* What the model expects of a question, and what was heard of it. */
struct asked {
	struct ipc_question question;
	bool is_open, is_late;
	int64_t until_us;
	bool ends_late;    /* cancels itself when it is late */
	int cancels, asks; /* another one, when it is answered or late; -1: none */
	unsigned sent, answered, lates;
	uint32_t tag; /* of the last time that it was sent */
};

static struct {
	struct ipc_questions *questions;
	struct asked asked[QUESTIONS];
	unsigned unknown, others; /* answers without a question; other messages */
	struct buffer said;
} world;

static size_t number_of(const struct asked *asked)
{
	return (size_t)(asked - world.asked);
}

static struct asked *asked_of(struct ipc_question *question)
{
	return CONTAINER_OF(question, struct asked, question);
}

/* --- the connection --- */

void ipc_channel_send(struct ipc_channel *channel, uint16_t type, uint32_t tag, struct str body,
		      const int *descriptors, size_t descriptor_count)
{
	struct asked *asked;

	assert_non_null(channel);
	assert_null(descriptors);
	assert_int_equal(descriptor_count, 0);
	assert_int_equal(type, ASK);
	assert_int_equal(body.length, 1);
	assert_true(fake_ipc.is_secret);
	asked = &world.asked[body.data[0] - '0'];
	assert_int_not_equal(tag, 0);
	assert_int_equal(asked->question.tag, tag);
	asked->tag = tag;
	asked->sent++;
	buffer_append_format(&world.said, "%c is sent\n", body.data[0]);
}

static void hear(uint16_t type, uint32_t tag, const char *text)
{
	struct ipc_message message = {.type = type, .tag = tag, .body = str_from(text)};

	fake_ipc.client.handler.message(fake_ipc.client.context, &message);
}

static void connect_now(void)
{
	fake_ipc.is_connected = true;
	fake_ipc.is_secret = false;
	fake_ipc.client.handler.connected(fake_ipc.client.context);
	assert_true(fake_ipc.is_secret);
}

static void lose(void)
{
	fake_ipc.is_connected = false;
	fake_ipc.client.handler.lost(fake_ipc.client.context);
}

/* --- the owner --- */

static void ask(struct asked *asked)
{
	asked->is_open = true;
	asked->is_late = false;
	asked->until_us = os_clock_boot_us() + PATIENCE_US;
	ipc_question_ask(world.questions, &asked->question);
}

static void cancel(struct asked *asked)
{
	asked->is_open = asked->is_late = false;
	ipc_question_cancel(&asked->question);
	assert_null(asked->question.questions);
}

/* What an owner may do while it is told. */
static void do_what_it_does_then(const struct asked *asked)
{
	if (asked->cancels >= 0)
		cancel(&world.asked[asked->cancels]);
	if (asked->asks >= 0 && !world.asked[asked->asks].is_open)
		ask(&world.asked[asked->asks]);
}

static void pack_number(const struct ipc_question *question, struct buffer *body)
{
	const struct asked *asked = CONTAINER_OF(question, const struct asked, question);

	buffer_append_byte(body, (char)('0' + number_of(asked)));
}

static bool on_answered(struct ipc_question *question, struct str body)
{
	struct asked *asked;

	if (!str_equal(body, STR("yes")))
		return false;
	if (question == NULL) {
		world.unknown++;
		return true;
	}
	asked = asked_of(question);
	assert_true(asked->is_open);
	asked->answered++;
	cancel(asked);
	buffer_append_format(&world.said, "%zu is answered\n", number_of(asked));
	do_what_it_does_then(asked);
	return true;
}

static void on_late(struct ipc_question *question)
{
	struct asked *asked = asked_of(question);

	assert_true(asked->is_open && !asked->is_late && question->is_late);
	assert_true(asked->until_us <= os_clock_boot_us());
	asked->is_late = true;
	asked->lates++;
	buffer_append_format(&world.said, "%zu is late\n", number_of(asked));
	if (asked->ends_late)
		cancel(asked);
	do_what_it_does_then(asked);
}

static bool on_other(const struct ipc_message *message)
{
	world.others++;
	return message->type == OTHER;
}

static void open_questions(void)
{
	static const struct ipc_question_kind kind = {ASK,         ANSWER,  true,    pack_number,
						      on_answered, on_late, on_other};

	memset(&fake_ipc, 0, sizeof fake_ipc);
	memset(world.asked, 0, sizeof world.asked);
	for (size_t i = 0; i < QUESTIONS; i++)
		world.asked[i].cancels = world.asked[i].asks = -1;
	world.unknown = world.others = 0;
	world.questions = ipc_questions_new(NULL, "the path", &kind, PATIENCE_US);
}

static void close_questions(void)
{
	ipc_questions_free(world.questions);
	assert_true(fake_ipc.is_freed);
	assert_int_equal(fake_timers(), 0);
	for (size_t i = 0; i < QUESTIONS; i++)
		assert_null(world.asked[i].question.questions);
	buffer_clear(&world.said);
}

#endif
