// SPDX-License-Identifier: ISC
/* Each life of a question to another process after each other one: it must go as if it were the
 * first. */
#include "pairs.h"
#include "question_scene.h"

enum { LIVES = 11 };

/* --- lives: each begins and ends without a connection --- */

static struct asked *const one = &world.asked[1];
static struct asked *const two = &world.asked[2];

static void answer(const struct asked *asked)
{
	hear(ANSWER, asked->tag, "yes");
}

static void is_answered(void)
{
	connect_now();
	ask(one);
	answer(one);
}

static void waits_for_the_connection(void)
{
	ask(one);
	connect_now();
	answer(one);
}

static void is_sent_again(void)
{
	connect_now();
	ask(one);
	lose();
	connect_now();
	answer(one);
}

static void is_late_and_ends(void)
{
	one->ends_late = true;
	ask(one);
	fake_advance(PATIENCE_US);
	connect_now();
}

static void is_late_and_answered(void)
{
	connect_now();
	ask(one);
	fake_advance(PATIENCE_US);
	lose();
	connect_now();
	fake_advance(PATIENCE_US);
	answer(one);
}

static void is_cancelled(void)
{
	connect_now();
	ask(one);
	cancel(one);
	answer(one);
}

static void is_cancelled_by_another(void)
{
	one->cancels = 2;
	connect_now();
	ask(one);
	ask(two);
	answer(one);
	answer(two);
	fake_advance(PATIENCE_US);
}

static void asks_another_when_it_is_late(void)
{
	one->asks = 2;
	connect_now();
	ask(one);
	fake_advance(PATIENCE_US);
	fake_advance(PATIENCE_US - 1);
	answer(one);
	cancel(two);
}

static void is_asked_again_when_it_ends(void)
{
	one->asks = 1;
	connect_now();
	ask(one);
	answer(one);
	one->asks = -1;
	fake_advance(PATIENCE_US);
	answer(one);
}

static void answers_overtake(void)
{
	connect_now();
	ask(one);
	fake_advance(1);
	ask(two);
	answer(two);
	fake_advance(PATIENCE_US - 2);
	answer(one);
}

static void has_a_malformed_answer(void)
{
	connect_now();
	ask(one);
	hear(ANSWER, one->tag, "maybe");
	lose();
	connect_now();
	answer(one);
}

static const struct {
	const char *name;
	void (*play)(void);
} lives[] = {
	{"is answered", is_answered},
	{"waits for the connection", waits_for_the_connection},
	{"is sent again", is_sent_again},
	{"is late and ends", is_late_and_ends},
	{"is late and answered", is_late_and_answered},
	{"is cancelled", is_cancelled},
	{"is cancelled by another", is_cancelled_by_another},
	{"asks another when it is late", asks_another_when_it_is_late},
	{"is asked again when it ends", is_asked_again_when_it_ends},
	{"answers overtake", answers_overtake},
	{"has a malformed answer", has_a_malformed_answer},
};

_Static_assert(COUNT_OF(lives) == LIVES, "as many as there is room for");

static const char *name_of_life(size_t number)
{
	return lives[number].name;
}

static void play_life(size_t number)
{
	const unsigned unknown = world.unknown;

	buffer_reset(&world.said);
	one->ends_late = two->ends_late = false;
	one->cancels = one->asks = two->cancels = two->asks = -1;
	lives[number].play();
	lose();
	buffer_append_format(&world.said, "%zu open, %u unknown, %u timers\n",
			     ipc_questions_count(world.questions), world.unknown - unknown,
			     fake_timers());
}

static void each_life_after_each_other_one(void **state)
{
	static const struct pairs pairs = {LIVES,     name_of_life,    open_questions,
					   play_life, close_questions, &world.said};

	(void)state;
	check_pairs(&pairs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_life_after_each_other_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
