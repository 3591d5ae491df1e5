// SPDX-License-Identifier: ISC
#include "base/attributes.h"
#include "base/timestamp.h"
#include "manager/wait/schedule.h"
#include "test.h"

static const int64_t BORN_US = INT64_C(1795163591) * SECOND_US;

/* Without a random part: the sources' series, 400 s, 1600 s, 3600 s ... of age. */
static void remote_attempts_follow_the_squares(void **state)
{
	int64_t now_us = BORN_US;

	(void)state;
	for (int64_t n = 1; n <= 38; n++) {
		now_us = schedule_next(BORN_US, now_us, SCHEDULE_SKIP_REMOTE, 0, 0);
		assert_in_range(now_us, BORN_US + n * n * 400 * SECOND_US - SECOND_US,
				BORN_US + n * n * 400 * SECOND_US + SECOND_US);
	}
	/* the 39th would come after the week that a message may wait */
	assert_true(schedule_next(BORN_US, now_us, SCHEDULE_SKIP_REMOTE, 0, 0) - BORN_US >
		    7 * DAY_US - 12 * HOUR_US);
}

static void local_attempts_come_sooner(void **state)
{
	(void)state;
	assert_int_equal(schedule_next(BORN_US, BORN_US, SCHEDULE_SKIP_LOCAL, 0, 0),
			 BORN_US + 100 * SECOND_US);
}

static void a_burst_is_spread_over_a_tenth_of_its_wait(void **state)
{
	int64_t earliest_us = INT64_MAX;
	int64_t latest_us = 0;

	(void)state;
	for (uint64_t i = 0; i < 1000; i++) {
		int64_t next_us = schedule_next(BORN_US, BORN_US, SCHEDULE_SKIP_REMOTE, 0,
						i * UINT64_C(0x9e3779b97f4a7c15));

		assert_in_range(next_us, BORN_US + 360 * SECOND_US, BORN_US + 400 * SECOND_US);
		earliest_us = next_us < earliest_us ? next_us : earliest_us;
		latest_us = next_us > latest_us ? next_us : latest_us;
	}
	assert_true(latest_us - earliest_us > 35 * SECOND_US);
}

/* Whatever the clock does, the next attempt is after now and not for ever away. */
static void a_clock_that_jumps_delays_no_message_for_long(void **state)
{
	static const int64_t jumps_us[] = {-DAY_US, -HOUR_US, -1, 0, 1, HOUR_US, DAY_US};

	(void)state;
	for (size_t i = 0; i < sizeof jumps_us / sizeof jumps_us[0]; i++) {
		int64_t now_us = BORN_US + jumps_us[i];
		int64_t next_us = schedule_next(BORN_US, now_us, SCHEDULE_SKIP_REMOTE, 0, 7);

		assert_true(next_us > now_us);
		assert_true(next_us - now_us < 2 * DAY_US);
	}
}

/* Set back after a message's birth, the waits grow as they would have. */
static void attempts_before_the_birth_are_no_more_than_after_it(void **state)
{
	int64_t now_us = BORN_US - DAY_US;
	unsigned count = 0;

	(void)state;
	for (; now_us < BORN_US; count++)
		now_us = schedule_next(BORN_US, now_us, SCHEDULE_SKIP_REMOTE, count, 0);
	assert_in_range(count, 14, 16);
}

static void what_was_said_at_a_time_to_come_is_due(void **state)
{
	int64_t until_us = BORN_US + HOUR_US;

	(void)state;
	assert_int_equal(schedule_until(BORN_US, until_us, BORN_US), until_us);
	assert_int_equal(schedule_until(BORN_US, until_us, BORN_US + DAY_US), until_us);
	assert_int_equal(schedule_until(BORN_US, until_us, BORN_US - SECOND_US), until_us);
	assert_int_equal(schedule_until(BORN_US, until_us, BORN_US - DAY_US), BORN_US - DAY_US);
}

static void a_wait_by_another_clock_is_known(void **state)
{
	static const struct {
		int64_t noted_us; /* from now, as the next */
		int64_t until_us;
		bool is_other;
	} cases[] = {
		{-HOUR_US, HOUR_US, false},     {MINUTE_US, HOUR_US, false},
		{MINUTE_US + 1, HOUR_US, true}, {HOUR_US, 0, false}, /* it is due all the same */
		{-HOUR_US, DAY_US, false},      {-HOUR_US, DAY_US + 1, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(schedule_is_by_other_clock(BORN_US + cases[i].noted_us,
							    BORN_US + cases[i].until_us, BORN_US,
							    DAY_US),
				 cases[i].is_other);
}

static void what_is_nearly_due_may_join(void **state)
{
	static const struct {
		int64_t now_us; /* of a wait of 400 s since BORN_US */
		bool may_join;
	} cases[] = {
		{0, false},
		{-1, false},
		{350 * SECOND_US - 1, false},
		{350 * SECOND_US, true},
		{400 * SECOND_US - 1, true},
		{400 * SECOND_US, false}, /* it is due by itself */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(schedule_may_join(BORN_US, BORN_US + 400 * SECOND_US,
						   BORN_US + cases[i].now_us),
				 cases[i].may_join);
	/* two that were deferred together, the one as late and the other as early as may be */
	for (int64_t age_us = SECOND_US; age_us < 7 * DAY_US; age_us = 2 * age_us) {
		int64_t now_us = BORN_US + age_us;
		int64_t latest_us = schedule_next(BORN_US, now_us, 20, 1, 0);
		int64_t earliest_us =
			schedule_next(BORN_US, now_us, 20, 1, (uint64_t)(latest_us - now_us) / 10);

		assert_true(schedule_may_join(now_us, latest_us, earliest_us));
	}
}

static void no_wait_is_longer_than_the_longest(void **state)
{
	int64_t longest_us = schedule_longest_us(7 * DAY_US);

	(void)state;
	for (int64_t age_us = 0; age_us <= 7 * DAY_US; age_us += HOUR_US) {
		int64_t now_us = BORN_US + age_us;

		assert_true(schedule_next(BORN_US, now_us, SCHEDULE_SKIP_REMOTE, 0, 0) - now_us <=
			    longest_us);
	}
	assert_in_range(longest_us, 8 * HOUR_US, 9 * HOUR_US);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(remote_attempts_follow_the_squares),
		cmocka_unit_test(local_attempts_come_sooner),
		cmocka_unit_test(a_burst_is_spread_over_a_tenth_of_its_wait),
		cmocka_unit_test(a_clock_that_jumps_delays_no_message_for_long),
		cmocka_unit_test(attempts_before_the_birth_are_no_more_than_after_it),
		cmocka_unit_test(what_was_said_at_a_time_to_come_is_due),
		cmocka_unit_test(a_wait_by_another_clock_is_known),
		cmocka_unit_test(what_is_nearly_due_may_join),
		cmocka_unit_test(no_wait_is_longer_than_the_longest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
