// SPDX-License-Identifier: ISC
/* How many connections a server gets that has refused one. The clock is the test's. */
#include "base/attributes.h"
#include "base/timestamp.h"
#include "deliver/shape/room.h"
#include "test.h"

static void it_gets_those_that_it_took(void **state)
{
	struct shape_room room = {0};

	(void)state;
	assert_true(shape_room_less(&room, 9, HOUR_US));
	assert_int_equal(room.most, 9);
	assert_true(shape_room_less(&room, 3, HOUR_US));
	assert_int_equal(room.most, 3);
	assert_false(shape_room_less(&room, 3, HOUR_US));
	assert_false(shape_room_less(&room, 5, HOUR_US)); /* others may have come meanwhile */
	assert_int_equal(room.most, 3);
	assert_true(shape_room_less(&room, 1, HOUR_US));
	assert_int_equal(room.most, 1);
}

static void it_recovers_by_steps(void **state)
{
	static const uint32_t steps[] = {2, 3, 4, 6, 9, 13, 0};
	struct shape_room room = {0};
	int64_t now_us = HOUR_US;

	(void)state;
	assert_true(shape_room_less(&room, 9, now_us));
	assert_true(shape_room_less(&room, 1, now_us));
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		assert_false(shape_room_recover(&room, now_us + MINUTE_US - 1));
		now_us += MINUTE_US;
		assert_int_equal(shape_room_recover(&room, now_us), steps[i] == 0);
		assert_int_equal(room.most, steps[i]);
	}
	assert_false(shape_room_recover(&room, now_us + HOUR_US));
	assert_true(shape_room_less(&room, 2, now_us));
	assert_int_equal(room.most, 2);
	assert_int_equal(room.free_from, 4);
}

/* A refusal begins the minute anew, also one that changes nothing. */
static void a_refusal_delays_it(void **state)
{
	struct shape_room room = {0};

	(void)state;
	assert_true(shape_room_less(&room, 2, HOUR_US));
	assert_false(shape_room_less(&room, 2, HOUR_US + SECOND_US));
	assert_false(shape_room_recover(&room, HOUR_US + MINUTE_US));
	assert_int_equal(room.most, 2);
	assert_false(shape_room_recover(&room, HOUR_US + MINUTE_US + SECOND_US));
	assert_int_equal(room.most, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_gets_those_that_it_took),
		cmocka_unit_test(it_recovers_by_steps),
		cmocka_unit_test(a_refusal_delays_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
