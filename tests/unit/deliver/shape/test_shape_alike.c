// SPDX-License-Identifier: ISC
/* What a server tells different senders: refusals and messages taken in any order, against a list
 * of all that was; and as many as are kept. */
#include "base/attributes.h"
#include "base/timestamp.h"
#include "deliver/shape/alike.h"
#include "test.h"
#include <string.h>

enum { STEPS = 9, PLAYS = 40000, KEPT = 4 };

/* All that was, the latest last. */
static struct {
	struct {
		struct shape_told told;
		int64_t at_us;
		bool is_over;
	} all[STEPS];
	size_t count;
} model;

/* By the last KEPT of five minutes. */
static enum shape_told_whom ask_model(const struct shape_told *told, int64_t now_us)
{
	enum shape_told_whom result = SHAPE_TOLD_ONE;

	for (size_t i = 0; i < KEPT && i < model.count; i++) {
		size_t at = model.count - 1 - i;
		const struct shape_told *before = &model.all[at].told;
		bool is_same_reply = before->reply == told->reply;

		if (now_us - model.all[at].at_us >= 300 * SECOND_US || !is_same_reply)
			continue;
		if (!model.all[at].is_over && before->sender != told->sender &&
		    (told->recipient == 0 || before->recipient != told->recipient))
			return SHAPE_TOLD_OTHERS;
		if (model.all[at].is_over && before->sender == told->sender)
			result = SHAPE_TOLD_ONLY;
	}
	return result;
}

static uint64_t random_state = 1;

static uint32_t random_below(uint32_t bound)
{
	random_state = random_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((random_state >> 33) % bound);
}

static void note_taken(struct shape_alike *alike)
{
	shape_alike_taken(alike);
	for (size_t i = 0; i < model.count; i++)
		model.all[i].is_over = true;
}

static void note_refused(struct shape_alike *alike, const struct shape_told *told, int64_t now_us)
{
	assert_int_equal(ask_model(told, now_us), shape_alike_refused(alike, told, now_us));
	model.all[model.count].told = *told;
	model.all[model.count].is_over = false;
	model.all[model.count++].at_us = now_us;
	assert_true(alike->count <= KEPT);
}

static void it_is_as_if_all_were_remembered(void **state)
{
	static const int64_t pauses_us[] = {
		0, 0, 1, 60 * SECOND_US, 299 * SECOND_US, 300 * SECOND_US - 1, 300 * SECOND_US};

	(void)state;
	for (size_t i = 0; i < PLAYS; i++) {
		struct shape_alike alike = {0};
		int64_t now_us = 5;

		model.count = 0;
		for (size_t j = 0; j < STEPS; j++) {
			const struct shape_told told = {.reply = random_below(2),
							.sender = random_below(3),
							.recipient = random_below(3)};

			now_us += pauses_us[random_below(COUNT_OF(pauses_us))];
			if (random_below(5) == 0)
				note_taken(&alike);
			else
				note_refused(&alike, &told, now_us);
		}
	}
}

/* The refusal of another sender with the same reply, and then so many with other replies. */
static enum shape_told_whom told_after(size_t others)
{
	struct shape_alike alike = {0};
	struct shape_told told = {.reply = 1, .sender = 1, .recipient = 1};

	assert_int_equal(shape_alike_refused(&alike, &told, 0), SHAPE_TOLD_ONE);
	for (size_t i = 0; i < others; i++) {
		told = (struct shape_told){.reply = 9 + i, .sender = 1, .recipient = 1};
		assert_int_equal(shape_alike_refused(&alike, &told, 0), SHAPE_TOLD_ONE);
	}
	told = (struct shape_told){.reply = 1, .sender = 2, .recipient = 2};
	return shape_alike_refused(&alike, &told, 0);
}

static void the_last_few_are_kept(void **state)
{
	(void)state;
	assert_int_equal(SHAPE_ALIKE_MAX, KEPT);
	assert_int_equal(told_after(SHAPE_ALIKE_MAX - 1), SHAPE_TOLD_OTHERS);
	assert_int_equal(told_after(SHAPE_ALIKE_MAX), SHAPE_TOLD_ONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_as_if_all_were_remembered),
		cmocka_unit_test(the_last_few_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
