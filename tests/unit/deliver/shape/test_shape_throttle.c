// SPDX-License-Identifier: ISC
/* How a server that says that it gets too much is slowed down for, and recovers. The clock is the
 * test's. */
#include "base/attributes.h"
#include "base/timestamp.h"
#include "deliver/shape/throttle.h"
#include "test.h"

static const int64_t BEGIN_US = HOUR_US;

/* How many messages can begin in US; *NOW_US moves. */
static unsigned send_for(struct shape_throttle *throttle, int64_t *now_us, int64_t us)
{
	int64_t end_us = *now_us + us;
	unsigned count = 0;

	for (; *now_us < end_us; *now_us += SECOND_US / 100) {
		(void)shape_throttle_recover(throttle, *now_us);
		if (shape_throttle_wait_us(throttle, *now_us) > 0)
			continue;
		shape_throttle_send(throttle, *now_us);
		count++;
	}
	return count;
}

static void it_gets_half(void **state)
{
	static const struct {
		unsigned seen;
		int64_t gap_us;
	} cases[] = {{0, MINUTE_US},          {1, MINUTE_US},      {2, MINUTE_US},
		     {4, 30 * SECOND_US},     {60, 2 * SECOND_US}, {120, SECOND_US},
		     {12000, SECOND_US / 100}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct shape_throttle throttle = {0};

		assert_true(shape_throttle_is_free(&throttle, BEGIN_US));
		assert_int_equal(shape_throttle_wait_us(&throttle, BEGIN_US), 0);
		assert_true(shape_throttle_slow(&throttle, cases[i].seen, 0, BEGIN_US, BEGIN_US));
		assert_false(shape_throttle_is_free(&throttle, BEGIN_US));
		assert_int_equal(throttle.gap_us, cases[i].gap_us);
		assert_int_equal(shape_throttle_wait_us(&throttle, BEGIN_US), cases[i].gap_us);
	}
}

/* What was under way when it was slowed says nothing new; the next does. */
static void check_steps_down(struct shape_throttle *throttle, int64_t *now_us)
{
	int64_t gap_us;

	assert_true(shape_throttle_slow(throttle, 600, 0, *now_us - SECOND_US, *now_us));
	gap_us = throttle->gap_us;
	for (unsigned i = 0; i < 20; i++)
		assert_false(
			shape_throttle_slow(throttle, 600, 0, *now_us - SECOND_US, *now_us + i));
	assert_int_equal(throttle->gap_us, gap_us);
	for (unsigned i = 1; i < 6; i++) {
		*now_us += throttle->gap_us;
		assert_true(shape_throttle_slow(throttle, 1, 0, *now_us, *now_us));
		assert_int_equal(throttle->gap_us, gap_us << i);
	}
	for (unsigned i = 0; i < 2; i++) {
		*now_us += throttle->gap_us;
		assert_true(shape_throttle_slow(throttle, 1, 0, *now_us, *now_us));
		assert_int_equal(throttle->gap_us, 5 * MINUTE_US);
	}
}

/* The same again when it has recovered. */
static void each_step_down_is_one(void **state)
{
	struct shape_throttle throttle = {0};
	int64_t now_us = BEGIN_US;

	(void)state;
	for (unsigned life = 0; life < 3; life++) {
		check_steps_down(&throttle, &now_us);
		now_us += 24 * HOUR_US;
		assert_true(shape_throttle_recover(&throttle, now_us));
		assert_true(shape_throttle_is_free(&throttle, now_us));
	}
}

static void it_recovers_by_steps(void **state)
{
	struct shape_throttle throttle = {0};
	int64_t now_us = BEGIN_US;
	unsigned last = 0;
	unsigned minutes = 0;

	(void)state;
	assert_true(shape_throttle_slow(&throttle, 120, 0, now_us, now_us)); /* to 60 a minute */
	while (!shape_throttle_recover(&throttle, now_us)) {
		unsigned count = send_for(&throttle, &now_us, MINUTE_US);

		assert_in_range(count, last, minutes == 0 ? 61 : last * 8 / 5 + 1);
		last = count;
		assert_in_range(++minutes, 1, 20);
	}
	assert_true(shape_throttle_is_free(&throttle, now_us));
	assert_int_equal(minutes, 4); /* 60, 90, 135, 202, then above 240 */
}

/* It is asked once in five minutes, and each answer counts. */
static void a_probe_shows_whether_it_still_says_so(void **state)
{
	struct shape_throttle throttle = {0};
	int64_t now_us = BEGIN_US;
	unsigned probes = 0;

	(void)state;
	assert_true(shape_throttle_slow(&throttle, 1, 0, now_us, now_us));
	for (int64_t end_us = now_us + HOUR_US; now_us < end_us; now_us += SECOND_US) {
		(void)shape_throttle_recover(&throttle, now_us);
		if (shape_throttle_wait_us(&throttle, now_us) > 0)
			continue;
		shape_throttle_send(&throttle, now_us);
		probes++;
		assert_true(shape_throttle_slow(&throttle, 1, 0, now_us, now_us));
	}
	assert_in_range(probes, 12, 20);
	assert_in_range(send_for(&throttle, &now_us, 5 * MINUTE_US), 1, 1);
	send_for(&throttle, &now_us, 30 * MINUTE_US);
	assert_true(shape_throttle_is_free(&throttle, now_us));
}

/* Also when other replies that do not say how long come after. */
static void it_says_for_how_long(void **state)
{
	struct shape_throttle throttle = {0};
	int64_t now_us = BEGIN_US;

	(void)state;
	assert_true(shape_throttle_slow(&throttle, 6000, 10 * MINUTE_US, now_us, now_us));
	assert_int_equal(shape_throttle_wait_us(&throttle, now_us), 10 * MINUTE_US);
	assert_false(shape_throttle_slow(&throttle, 6000, 0, now_us - 1, now_us + 1));
	assert_false(shape_throttle_slow(&throttle, 6000, MINUTE_US, now_us - 1, now_us + 1));
	assert_int_equal(send_for(&throttle, &now_us, 10 * MINUTE_US), 0);
	assert_in_range(send_for(&throttle, &now_us, MINUTE_US), 500, 3000); /* as it was slowed */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_gets_half),
		cmocka_unit_test(each_step_down_is_one),
		cmocka_unit_test(it_recovers_by_steps),
		cmocka_unit_test(a_probe_shows_whether_it_still_says_so),
		cmocka_unit_test(it_says_for_how_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
