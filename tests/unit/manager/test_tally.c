// SPDX-License-Identifier: ISC
/* How often something has happened, against a list of all times. */
#include "base/timestamp.h"
#include "manager/tally.h"
#include "test.h"
#include <stdlib.h>

enum { TIMES = 400, ROUNDS = 300 };

/* Those in the slot of NOW_US and in the eleven before it. */
static uint64_t plain_count(const int64_t *times, size_t count, int64_t now_us)
{
	int64_t slot_us = TALLY_SLOT_SECONDS * (int64_t)SECOND_US;
	int64_t from_us = (now_us / slot_us - TALLY_SLOTS + 1) * slot_us;
	uint64_t found = 0;

	for (size_t i = 0; i < count; i++)
		found += times[i] >= from_us;
	return found;
}

static void a_minute_is_counted(void **state)
{
	(void)state;
	srandom(1);
	for (unsigned round = 0; round < ROUNDS; round++) {
		struct tally tally = {0};
		int64_t times[TIMES];
		int64_t now_us = random() % (100 * SECOND_US);
		/* from many in a slot to slots without any, and minutes */
		int64_t most_us = (int64_t)SECOND_US << (random() % 8);

		for (size_t count = 0; count < TIMES; count++) {
			now_us += random() % most_us;
			assert_int_equal(tally_last_minute(&tally, now_us),
					 plain_count(times, count, now_us));
			assert_int_equal(tally.total, count);
			times[count] = now_us;
			tally_add(&tally, now_us);
			assert_int_equal(tally_last_minute(&tally, now_us),
					 plain_count(times, count + 1, now_us));
		}
		assert_int_equal(tally_last_minute(&tally, now_us + MINUTE_US), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_minute_is_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
