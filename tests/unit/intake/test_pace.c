// SPDX-License-Identifier: ISC
#include "base/timestamp.h"
#include "intake/limit/pace.h"
#include "test.h"

enum { TIMEOUT = 100, RATE = 10 };

/* SECONDS of waiting end with COUNT bytes; what is left then, in seconds. */
static int64_t step(struct intake_pace *pace, int64_t *now_us, int64_t seconds, uint64_t count)
{
	intake_pace_wait(pace, *now_us);
	*now_us += seconds * SECOND_US;
	intake_pace_receive(pace, *now_us, count);
	return intake_pace_left_us(pace, TIMEOUT * SECOND_US, RATE) / SECOND_US;
}

static void the_timeout_is_the_most(void **state)
{
	struct intake_pace pace = {0};
	int64_t now_us = SECOND_US;

	(void)state;
	assert_int_equal(intake_pace_left_us(&pace, TIMEOUT * SECOND_US, RATE),
			 TIMEOUT * SECOND_US);
	assert_int_equal(step(&pace, &now_us, 10, 1000000), TIMEOUT);
	assert_int_equal(step(&pace, &now_us, 99, 0), TIMEOUT);
}

static void bytes_in_time_are_not_enough(void **state)
{
	struct intake_pace pace = {0};
	int64_t now_us = SECOND_US;

	(void)state;
	assert_int_equal(step(&pace, &now_us, 60, 1), 40);
	assert_int_equal(step(&pace, &now_us, 30, 99), 20);
	assert_int_equal(step(&pace, &now_us, 20, 0), 0);
	assert_int_equal(step(&pace, &now_us, 1, 0), -1);
}

static void only_waiting_counts(void **state)
{
	struct intake_pace pace = {0};
	int64_t now_us = SECOND_US;

	(void)state;
	assert_int_equal(step(&pace, &now_us, 60, 1), 40);
	now_us += 1000 * SECOND_US;
	assert_int_equal(step(&pace, &now_us, 10, 1), 30);
	intake_pace_wait(&pace, now_us);
	now_us += 5 * SECOND_US;
	assert_int_equal(step(&pace, &now_us, 5, 1), 20);
	intake_pace_reset(&pace);
	assert_int_equal(step(&pace, &now_us, 1, 1), 99);
}

static void any_rate_may_be_allowed(void **state)
{
	struct intake_pace pace = {0};
	int64_t now_us = SECOND_US;

	(void)state;
	step(&pace, &now_us, 1000, 1);
	assert_int_equal(intake_pace_left_us(&pace, TIMEOUT * SECOND_US, 0), TIMEOUT * SECOND_US);
}

static void it_is_over_only_while_waited_for(void **state)
{
	struct intake_pace pace = {0};
	int64_t now_us = SECOND_US;
	int64_t limit_us = 2 * SECOND_US;

	(void)state;
	assert_false(intake_pace_is_over(&pace, limit_us, RATE, now_us + 10 * SECOND_US));
	intake_pace_wait(&pace, now_us);
	assert_false(intake_pace_is_over(&pace, limit_us, RATE, now_us + limit_us - 1));
	assert_true(intake_pace_is_over(&pace, limit_us, RATE, now_us + limit_us));
	intake_pace_receive(&pace, now_us + limit_us, 1);
	assert_false(intake_pace_is_over(&pace, limit_us, RATE, now_us + 10 * SECOND_US));
	now_us += limit_us;
	intake_pace_wait(&pace, now_us);
	assert_true(intake_pace_is_over(&pace, limit_us, RATE, now_us));
	intake_pace_receive(&pace, now_us, (uint64_t)3 * RATE);
	intake_pace_wait(&pace, now_us);
	assert_false(intake_pace_is_over(&pace, limit_us, RATE, now_us + limit_us - 1));
	assert_true(intake_pace_is_over(&pace, limit_us, RATE, now_us + limit_us));
}

/* What a plain list of all events says, for each order of six of them. */
struct plain {
	bool is_waiting;
	int64_t since_us;
	int64_t waited_us;
	uint64_t bytes;
};

static void happen(struct intake_pace *pace, struct plain *plain, size_t event, int64_t now_us)
{
	if (event == 0) {
		intake_pace_wait(pace, now_us);
		if (!plain->is_waiting)
			plain->since_us = now_us;
		plain->is_waiting = true;
	} else if (event == 1) {
		intake_pace_receive(pace, now_us, 3);
		if (plain->is_waiting)
			plain->waited_us += now_us - plain->since_us;
		plain->is_waiting = false;
		plain->bytes += 3;
	} else {
		intake_pace_reset(pace);
		*plain = (struct plain){0};
	}
}

static void compare(const struct intake_pace *pace, const struct plain *plain, int64_t now_us)
{
	const int64_t timeout_us = 2 * SECOND_US;

	for (uint32_t rate = 0; rate < 4; rate++) {
		int64_t earned_us = rate > 0 ? (int64_t)(plain->bytes / rate) * SECOND_US : 0;
		int64_t late_us = rate > 0 ? plain->waited_us - earned_us : 0;
		int64_t left_us = timeout_us - (late_us > 0 ? late_us : 0);

		assert_int_equal(intake_pace_left_us(pace, timeout_us, rate), left_us);
		assert_int_equal(intake_pace_is_over(pace, timeout_us, rate, now_us),
				 plain->is_waiting && now_us - plain->since_us >= left_us);
	}
}

static void it_is_what_its_events_say(void **state)
{
	enum { EVENTS = 7, KINDS = 3 };
	size_t orders = 1;

	(void)state;
	for (size_t i = 0; i < EVENTS; i++)
		orders *= KINDS;
	for (size_t order = 0; order < orders; order++) {
		struct intake_pace pace = {0};
		struct plain plain = {0};
		int64_t now_us = 5 * SECOND_US;

		for (size_t i = 0, rest = order; i < EVENTS; i++, rest /= KINDS) {
			happen(&pace, &plain, rest % KINDS, now_us);
			compare(&pace, &plain, now_us);
			now_us += SECOND_US;
			compare(&pace, &plain, now_us - 1);
			compare(&pace, &plain, now_us);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_timeout_is_the_most),
		cmocka_unit_test(bytes_in_time_are_not_enough),
		cmocka_unit_test(only_waiting_counts),
		cmocka_unit_test(any_rate_may_be_allowed),
		cmocka_unit_test(it_is_over_only_while_waited_for),
		cmocka_unit_test(it_is_what_its_events_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
