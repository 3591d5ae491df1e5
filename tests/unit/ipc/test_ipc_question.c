// SPDX-License-Identifier: ISC
/* Questions to another process against a model: any order of questions, answers, cancellations,
 * deadlines and lost connections. */
#include "chance.h"
#include "question_scene.h"

enum { TURNS = 40000 };

static void check_model(void)
{
	size_t open = 0;
	bool is_any_in_time = false;

	for (size_t i = 0; i < QUESTIONS; i++) {
		const struct asked *asked = &world.asked[i];

		assert_int_equal(asked->question.questions != NULL, asked->is_open);
		assert_true(!asked->is_open || asked->is_late ||
			    asked->until_us > os_clock_boot_us());
		is_any_in_time |= asked->is_open && !asked->is_late;
		open += asked->is_open;
	}
	assert_int_equal(ipc_questions_count(world.questions), open);
	assert_int_equal(fake_timers(), is_any_in_time);
}

/* All that are open are sent, once, in the order in which they were asked. */
static void connect_or_lose(void)
{
	unsigned sent[QUESTIONS];

	if (fake_ipc.is_connected) {
		lose();
		return;
	}
	for (size_t i = 0; i < QUESTIONS; i++)
		sent[i] = world.asked[i].sent;
	connect_now();
	for (size_t i = 0; i < QUESTIONS; i++)
		assert_int_equal(world.asked[i].sent - sent[i], world.asked[i].is_open);
}

static void hear_something(struct asked *asked)
{
	const unsigned answered = asked->answered;
	const unsigned unknown = world.unknown;
	const bool is_open = asked->is_open;

	if (!fake_ipc.is_connected || asked->tag == 0)
		return;
	fake_ipc.refused = 0;
	if (chance(8) == 0) {
		hear(ANSWER, asked->tag, "no");
		assert_int_equal(fake_ipc.refused, 1);
		assert_int_equal(asked->is_open, is_open);
		return;
	}
	hear(ANSWER, asked->tag, "yes");
	assert_int_equal(fake_ipc.refused, 0);
	assert_int_equal(asked->answered - answered, is_open);
	assert_int_equal(world.unknown - unknown, !is_open);
}

static void ask_one(struct asked *asked)
{
	const unsigned sent = asked->sent;

	if (asked->is_open)
		return;
	asked->ends_late = chance(2) == 0;
	asked->cancels = chance(4) == 0 ? (int)chance(QUESTIONS) : -1;
	asked->asks = chance(4) == 0 ? (int)chance(QUESTIONS) : -1;
	ask(asked);
	assert_int_equal(asked->sent - sent, fake_ipc.is_connected);
}

static void do_something(struct asked *asked)
{
	static const int64_t times_us[] = {1, SECOND_US / 2, SECOND_US, 2 * SECOND_US - 1,
					   2 * SECOND_US};

	switch (chance(12)) {
	case 0:
		connect_or_lose();
		break;
	case 1:
	case 2:
		fake_advance(times_us[chance(COUNT_OF(times_us))]);
		break;
	case 3:
		cancel(asked);
		break;
	case 4:
	case 5:
	case 6:
		hear_something(asked);
		break;
	default:
		ask_one(asked);
	}
}

static void any_order(void **state)
{
	unsigned lates = 0, answered = 0;

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		do_something(&world.asked[chance(QUESTIONS)]);
		check_model();
		buffer_reset(&world.said);
	}
	for (size_t i = 0; i < QUESTIONS; i++) {
		lates += world.asked[i].lates;
		answered += world.asked[i].answered;
	}
	assert_true(lates > 500 && answered > 500 && world.unknown > 500);
}

static void other_messages_are_the_owners(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t tag;
		unsigned refused;
	} rows[] = {{ANSWER, 77, 0}, {ANSWER, 0, 1}, {OTHER, 0, 0}, {ASK, 1, 1}, {99, 1, 1}};

	(void)state;
	connect_now();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		fake_ipc.refused = 0;
		hear(rows[i].type, rows[i].tag, "yes");
		assert_int_equal(fake_ipc.refused, rows[i].refused);
	}
	assert_int_equal(world.others, 3);
	assert_ptr_equal(ipc_questions_client(world.questions), &fake_ipc.client);
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	open_questions();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	close_questions();
	ipc_questions_free(NULL);
	return 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
		CASE(other_messages_are_the_owners),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
