// SPDX-License-Identifier: ISC
/* In no interval is there more than the limit, and not less than could be. */
#include "base/attributes.h"
#include "base/timestamp.h"
#include "chance.h"
#include "deliver/shape/meter.h"
#include "test.h"

enum { EVENTS = 20000 };

/* Against the times of all events. */
static void no_interval_has_more(void **state)
{
	static const int64_t intervals_us[] = {SECOND_US, MINUTE_US, HOUR_US + 7};
	static int64_t times[EVENTS];
	static uint64_t sums[EVENTS + 1];

	(void)state;
	for (size_t round = 0; round < 30; round++) {
		struct shape_meter meter = {0};
		int64_t interval_us = intervals_us[round % COUNT_OF(intervals_us)];
		uint64_t limit = 1 + chance(200);
		int64_t now_us = 1 + (int64_t)chance(1000) * SECOND_US;
		size_t count = 0;
		size_t oldest = 0;

		while (count < EVENTS) {
			uint32_t amount = 1 + (uint32_t)chance(limit);
			int64_t wait_us =
				shape_meter_wait_us(&meter, limit, 0, amount, interval_us, now_us);

			if (wait_us > 0) {
				assert_true(wait_us <= interval_us + interval_us / 50 + 2);
				assert_true(shape_meter_wait_us(&meter, limit, 0, amount,
								interval_us,
								now_us + wait_us - 1) > 0);
				now_us += wait_us;
				assert_int_equal(shape_meter_wait_us(&meter, limit, 0, amount,
								     interval_us, now_us),
						 0);
			}
			shape_meter_add(&meter, interval_us, now_us, amount);
			times[count] = now_us;
			sums[count + 1] = sums[count] + amount;
			count++;
			while (times[oldest] <= now_us - interval_us)
				oldest++;
			assert_true(sums[count] - sums[oldest] <= limit);
			now_us += (int64_t)chance(3) * (int64_t)chance((uint64_t)interval_us / 10);
		}
	}
}

static void one_that_is_too_large_goes_alone(void **state)
{
	struct shape_meter meter = {0};

	(void)state;
	assert_int_equal(shape_meter_wait_us(&meter, 5, 0, 100, MINUTE_US, SECOND_US), 0);
	shape_meter_add(&meter, MINUTE_US, SECOND_US, 100);
	assert_true(shape_meter_wait_us(&meter, 5, 0, 1, MINUTE_US, SECOND_US) > 59 * SECOND_US);
	assert_int_equal(shape_meter_wait_us(&meter, 5, 0, 100, MINUTE_US, 62 * SECOND_US), 0);
}

/* What is under way counts as if it came now; all of it ends before more may come. */
static void what_is_under_way_counts(void **state)
{
	struct shape_meter meter = {0};

	(void)state;
	shape_meter_add(&meter, MINUTE_US, SECOND_US, 3);
	assert_int_equal(shape_meter_wait_us(&meter, 5, 1, 1, MINUTE_US, SECOND_US), 0);
	assert_int_equal(shape_meter_wait_us(&meter, 5, 2, 1, MINUTE_US, 31 * SECOND_US),
			 31 * SECOND_US);
	assert_int_equal(shape_meter_wait_us(&meter, 5, 5, 1, MINUTE_US, 31 * SECOND_US),
			 61 * SECOND_US);
	assert_int_equal(shape_meter_wait_us(&meter, 5, 9, 9, MINUTE_US, 31 * SECOND_US),
			 61 * SECOND_US);
}

/* A new interval begins anew. */
static void the_interval_may_change(void **state)
{
	struct shape_meter meter = {0};

	(void)state;
	shape_meter_add(&meter, MINUTE_US, SECOND_US, 5);
	assert_int_equal(shape_meter_count(&meter, MINUTE_US, SECOND_US), 5);
	assert_int_equal(shape_meter_count(&meter, HOUR_US, SECOND_US), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_interval_has_more),
		cmocka_unit_test(one_that_is_too_large_goes_alone),
		cmocka_unit_test(what_is_under_way_counts),
		cmocka_unit_test(the_interval_may_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
