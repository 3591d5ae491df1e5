// SPDX-License-Identifier: ISC
#include "manager/wait/sleeper.h"
#include "test.h"
#include <stdbool.h>
#include <stdlib.h>

/* Numbers as inodes are: dense, with gaps. */
static uint64_t number_of(uint64_t i)
{
	return 1000 + i * 2;
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *seed >> 33;
}

static void what_is_due_first_comes_first(void **state)
{
	enum { COUNT = 5000 };
	struct sleepers sleepers = {0};
	uint64_t seed = 1;
	int64_t last_us = 0;

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		sleepers_add(&sleepers, number_of(i), (int64_t)(next_random(&seed) % 1000));
	for (uint64_t i = 0; i < COUNT; i += 3)
		sleepers_set_due(&sleepers, sleepers_find(&sleepers, number_of(i)),
				 (int64_t)(next_random(&seed) % 1000));
	for (unsigned i = 0; i < COUNT; i++) {
		struct sleeper *first = sleepers_due_first(&sleepers);

		assert_non_null(first);
		assert_true(first->due_us >= last_us);
		last_us = first->due_us;
		sleepers_remove(&sleepers, first);
	}
	assert_null(sleepers_due_first(&sleepers));
	sleepers_clear(&sleepers);
}

/* Against an array that says which of them sleep. */
static void each_is_found_by_its_number(void **state)
{
	enum { COUNT = 4000, STEPS = 60000 };
	static bool sleeps[COUNT];
	struct sleepers sleepers = {0};
	uint64_t seed = 2;
	size_t count = 0;

	(void)state;
	for (unsigned i = 0; i < STEPS; i++) {
		uint64_t which = next_random(&seed) % COUNT;
		struct sleeper *found = sleepers_find(&sleepers, number_of(which));

		assert_int_equal(found != NULL, sleeps[which]);
		if (found != NULL)
			assert_int_equal(found->number, number_of(which));
		if (found != NULL)
			sleepers_remove(&sleepers, found);
		else
			sleepers_add(&sleepers, number_of(which), (int64_t)which);
		count += found != NULL ? (size_t)-1 : 1;
		sleeps[which] = !sleeps[which];
		assert_int_equal(sleepers.count, count);
	}
	sleepers_clear(&sleepers);
}

static void at_no_time_is_never_due(void **state)
{
	struct sleepers sleepers = {0};
	struct sleeper *sleeper = sleepers_add(&sleepers, 7, INT64_MAX);

	(void)state;
	assert_null(sleepers_due_first(&sleepers));
	sleepers_set_due(&sleepers, sleeper, 5);
	assert_ptr_equal(sleepers_due_first(&sleepers), sleeper);
	sleepers_set_due(&sleepers, sleeper, INT64_MAX);
	assert_null(sleepers_due_first(&sleepers));
	sleepers_clear(&sleepers);
}

static void waiters_come_in_their_order(void **state)
{
	struct sleepers sleepers = {0};
	struct waiters waiters = {0};
	struct waiters others = {0};

	(void)state;
	for (uint64_t i = 1; i <= 5; i++)
		sleepers_wait(&sleepers, sleepers_add(&sleepers, i, (int64_t)i), &waiters);
	sleepers_wait(&sleepers, sleepers_find(&sleepers, 3), &others);
	sleepers_wait(&sleepers, sleepers_find(&sleepers, 1), &waiters); /* to the end */
	sleepers_remove(&sleepers, sleepers_find(&sleepers, 4));
	assert_int_equal(waiters.count, 3);
	assert_int_equal(others.count, 1);
	assert_int_equal(sleepers_waiting_first(&sleepers, &others)->number, 3);
	for (unsigned i = 0; i < 3; i++) {
		static const uint64_t order[] = {2, 5, 1};
		struct sleeper *first = sleepers_waiting_first(&sleepers, &waiters);

		assert_int_equal(first->number, order[i]);
		assert_ptr_equal(first->waiters, &waiters);
		sleepers_remove(&sleepers, first);
	}
	assert_null(sleepers_waiting_first(&sleepers, &waiters));
	assert_int_equal(waiters.count, 0);
	sleepers_clear(&sleepers);
}

static void count_one(void *context, struct sleeper *sleeper)
{
	(void)sleeper;
	++*(unsigned *)context;
}

static void each_is_visited_once(void **state)
{
	struct sleepers sleepers = {0};
	unsigned count = 0;

	(void)state;
	for (uint64_t i = 0; i < 5000; i++)
		sleepers_add(&sleepers, number_of(i), 0);
	for (uint64_t i = 0; i < 5000; i += 2)
		sleepers_remove(&sleepers, sleepers_find(&sleepers, number_of(i)));
	sleepers_each(&sleepers, count_one, &count);
	assert_int_equal(count, 2500);
	sleepers_clear(&sleepers);
}

/* What the manual promises: half a million are kept, in less than 40 MiB. */
static void a_sleeper_costs_little(void **state)
{
	enum { COUNT = 500000, BYTES_EACH = 80 };
	struct sleepers sleepers = {0};
	size_t bytes;

	(void)state;
	for (uint64_t i = 0; i < COUNT; i++)
		sleepers_add(&sleepers, number_of(i), (int64_t)i);
	bytes = sleepers.chunk_count * (size_t)2048 * sizeof(struct sleeper) +
		(sleepers.bucket_capacity + sleepers.heap_capacity) * sizeof(uint32_t);
	print_message("%zu bytes a sleeper\n", bytes / COUNT);
	assert_true(bytes / COUNT <= BYTES_EACH);
	sleepers_clear(&sleepers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_due_first_comes_first),
		cmocka_unit_test(each_is_found_by_its_number),
		cmocka_unit_test(at_no_time_is_never_due),
		cmocka_unit_test(waiters_come_in_their_order),
		cmocka_unit_test(each_is_visited_once),
		cmocka_unit_test(a_sleeper_costs_little),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
