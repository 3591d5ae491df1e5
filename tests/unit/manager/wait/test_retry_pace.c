// SPDX-License-Identifier: ISC
/* How many retries a second are woken while new mail comes, and what may be in memory. */
#include "base/timestamp.h"
#include "manager/wait/pace.h"
#include "manager/wait/share.h"
#include "test.h"

enum { MAPPING = SHARE_UNITS / 4 };

static const int64_t BEGIN_US = 1000 * SECOND_US;

/* How many are woken in US, one looked for each millisecond, while new mail comes. */
static unsigned take(struct pace *pace, int64_t *now_us, int64_t us)
{
	int64_t end_us = *now_us + us;
	unsigned count = 0;

	for (; *now_us < end_us; *now_us += 1000) {
		pace_new_mail(pace, *now_us);
		while (count < 1000000 && pace_take(pace, *now_us))
			count++;
	}
	return count;
}

static void without_new_mail_there_is_no_limit(void **state)
{
	struct pace pace = {0};
	int64_t now_us = BEGIN_US;

	(void)state;
	assert_true(pace_is_quiet(&pace, now_us));
	for (unsigned i = 0; i < 10000; i++)
		assert_true(pace_take(&pace, now_us));
	assert_int_equal(pace_wait_us(&pace, now_us), 0);
	pace_new_mail(&pace, now_us);
	assert_false(pace_is_quiet(&pace, now_us + SECOND_US));
	assert_false(pace_take(&pace, now_us));
	assert_true(pace_is_quiet(&pace, now_us + SECOND_US + 1));
	assert_true(pace_take(&pace, now_us + SECOND_US + 1));
}

static void the_floor_is_always_granted(void **state)
{
	struct pace pace = {0};
	int64_t now_us = BEGIN_US;

	(void)state;
	assert_in_range(take(&pace, &now_us, SECOND_US), PACE_FLOOR - 2, PACE_FLOOR + 1);
	for (unsigned i = 0; i < 10; i++)
		pace_load(&pace, now_us, 1000, 1000);
	assert_in_range(take(&pace, &now_us, SECOND_US), PACE_FLOOR - 2, PACE_FLOOR + 1);
}

/* What is not used is saved, for a tenth of a second and no longer. */
static void little_is_saved(void **state)
{
	struct pace pace = {0};
	int64_t now_us = BEGIN_US;
	unsigned count = 0;

	(void)state;
	pace_new_mail(&pace, now_us);
	now_us += SECOND_US;
	while (pace_take(&pace, now_us))
		count++;
	assert_int_equal(count, PACE_FLOOR / 10);
}

static void the_rate_follows_the_load(void **state)
{
	static const struct {
		unsigned processors, disk;
		bool is_short;
		double before, after;
	} cases[] = {
		{0, 0, true, 1000, 1251},
		{0, 0, false, 1000, 1000},
		{850, 850, true, 1000, 1251},
		{851, 0, true, 1000, 600},
		{0, 851, true, 1000, 600},
		{0, 851, false, 1000, 600},
		{1000, 1000, true, 300, 250},
		{0, 0, true, 99000, PACE_CEILING},
		{0, 1000, true, PACE_CEILING, 60000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct pace pace = {.rate = cases[i].before, .was_short = cases[i].is_short};

		pace_load(&pace, BEGIN_US, cases[i].processors, cases[i].disk);
		assert_true(pace.rate > cases[i].after - 1 && pace.rate < cases[i].after + 1);
		assert_false(pace.was_short);
		assert_false(pace_wants_load(&pace, BEGIN_US + PACE_STEP_US - 1));
		assert_true(pace_wants_load(&pace, BEGIN_US + PACE_STEP_US));
	}
}

/* Only who had to wait makes it grow. */
static void it_grows_while_somebody_waits(void **state)
{
	struct pace pace = {0};
	int64_t now_us = BEGIN_US;

	(void)state;
	take(&pace, &now_us, SECOND_US);
	assert_true(pace.was_short);
	pace_load(&pace, now_us, 100, 100);
	assert_true(pace.rate > PACE_FLOOR);
	now_us += SECOND_US / 10;
	assert_true(pace_take(&pace, now_us));
	assert_false(pace.was_short);
}

/* What a machine without new mail could do says nothing of what it can do with it. */
static void new_mail_begins_anew(void **state)
{
	struct pace pace = {0};
	int64_t now_us = BEGIN_US;

	(void)state;
	pace_new_mail(&pace, now_us);
	pace.rate = 5000;
	pace.credit = 500;
	pace_new_mail(&pace, now_us + SECOND_US);
	assert_true(pace.rate > 4999);
	now_us += 3 * SECOND_US;
	pace_new_mail(&pace, now_us);
	assert_false(pace_take(&pace, now_us));
	assert_false(pace_wants_load(&pace, now_us));
	assert_true(pace.rate < PACE_FLOOR + 1);
}

static void it_is_told_when_to_ask_again(void **state)
{
	struct pace pace = {0};
	int64_t now_us = BEGIN_US;
	int64_t wait_us;

	(void)state;
	pace_new_mail(&pace, now_us);
	assert_false(pace_take(&pace, now_us));
	wait_us = pace_wait_us(&pace, now_us);
	assert_in_range(wait_us, SECOND_US / PACE_FLOOR, SECOND_US / PACE_FLOOR + 1);
	assert_false(pace_take(&pace, now_us + wait_us - 2));
	assert_true(pace_take(&pace, now_us + wait_us));
}

/* --- memory --- */

static void what_may_be_mapped_is_bounded(void **state)
{
	static const struct {
		size_t used, mapping;
		bool is_new;
		bool may;
	} cases[] = {
		{0, 0, true, true},
		{0, 0, false, true},
		{MAPPING, MAPPING - 1, true, true},
		{MAPPING, MAPPING, true, false},
		{MAPPING, MAPPING / 2 - 1, false, true},
		{MAPPING, MAPPING / 2, false, false},
		{MAPPING, MAPPING / 2, true, true},
		{SHARE_UNITS - 1, 1, true, true},
		{SHARE_UNITS, 1, true, false},
		{SHARE_UNITS, 0, true, true}, /* who is alone is let in */
		{SHARE_UNITS, 0, false, true},
		{2 * SHARE_UNITS, 0, false, true},
		{2 * SHARE_UNITS, 9, false, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct share share = {SHARE_UNITS, cases[i].used, cases[i].mapping};

		assert_int_equal(share_may_map(&share, cases[i].is_new), cases[i].may);
		assert_int_equal(share_free(&share),
				 cases[i].used < SHARE_UNITS ? SHARE_UNITS - cases[i].used : 0);
	}
	assert_int_equal(share_of_message(0), SHARE_UNITS_MESSAGE);
	assert_int_equal(share_of_message(100), SHARE_UNITS_MESSAGE + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_new_mail_there_is_no_limit),
		cmocka_unit_test(the_floor_is_always_granted),
		cmocka_unit_test(little_is_saved),
		cmocka_unit_test(the_rate_follows_the_load),
		cmocka_unit_test(it_grows_while_somebody_waits),
		cmocka_unit_test(new_mail_begins_anew),
		cmocka_unit_test(it_is_told_when_to_ask_again),
		cmocka_unit_test(what_may_be_mapped_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
