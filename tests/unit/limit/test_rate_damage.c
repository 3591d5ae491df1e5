// SPDX-License-Identifier: ISC
/* What a process that was killed, or taken over, leaves in its row to the next one. */
#include "limit/keyed.h"
#include "test.h"
#include <stdlib.h>
#include <string.h>

/* A head, a line with the tags of one bucket, and its slots. */
enum { SECOND = 1000000, SLOTS = 128 + 64, KEYS = 8, SLOT = 16 + LIMIT_COLUMNS * 12 };

struct memory {
	void *bytes;
	size_t size;
	struct limit_keyed_view view;
};

/* One bucket. */
static struct memory table(void)
{
	struct memory memory = {.size = limit_keyed_size(1)};

	memory.bytes = aligned_alloc(64, (memory.size + 63) / 64 * 64);
	assert_non_null(memory.bytes);
	assert_int_equal(memory.size, SLOTS + KEYS * SLOT);
	memset(memory.bytes, 0, memory.size);
	memory.view = limit_keyed_view(memory.bytes, memory.size);
	return memory;
}

static void add(const struct memory *memory, uint64_t key, int64_t at_us, uint32_t amount)
{
	struct limit_keyed_count count = {.time = limit_window_time(SECOND, at_us),
					  .amount = amount};

	limit_keyed_add(memory->view, key, at_us, &count, 1);
}

static uint64_t count_at(const struct memory *memory, uint64_t key, int64_t at_us)
{
	struct limit_keyed_count count = {.time = limit_window_time(SECOND, at_us)};

	limit_keyed_sum(memory->view, key, &count, 1);
	return count.total.now + count.total.before;
}

/* The slots begin with the number of changes, which is odd during one. */
static void test_killed_while_it_counts(void **state)
{
	struct memory memory = table();

	(void)state;
	add(&memory, 7, 0, 3);
	for (size_t i = 0; i < KEYS; i++) {
		char *slot = (char *)memory.bytes + SLOTS + i * SLOT;

		*(uint32_t *)(void *)slot |= 1;
	}
	assert_int_equal(count_at(&memory, 7, 0), 0); /* nobody knows */
	add(&memory, 7, 0, 4);
	assert_int_equal(count_at(&memory, 7, 0), 7);
	add(&memory, 8, 0, 4);
	assert_int_equal(count_at(&memory, 8, 0), 4);
	free(memory.bytes);
}

/* Else there were no column left for a new rule. */
static void test_all_columns_have_one_rule(void **state)
{
	struct memory memory = table();
	uint64_t *rules = memory.bytes;
	unsigned columns[2];

	(void)state;
	for (size_t i = 0; i < LIMIT_COLUMNS; i++)
		rules[i] = 11;
	limit_keyed_configure(memory.view, (limit_rule_key[]){11, 12}, 2, columns);
	assert_int_not_equal(columns[0], columns[1]);
	assert_int_equal(limit_keyed_column(memory.view, 11), (int)columns[0]);
	assert_int_equal(limit_keyed_column(memory.view, 12), (int)columns[1]);
	free(memory.bytes);
}

/* Who looks has read the clock just before another process counted in the next window. */
static void test_a_window_that_begins_meanwhile(void **state)
{
	struct memory memory = table();

	(void)state;
	add(&memory, 7, SECOND / 2, 5);
	add(&memory, 7, SECOND, 1);
	assert_int_equal(count_at(&memory, 7, SECOND - 1), 6);
	free(memory.bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_killed_while_it_counts),
		cmocka_unit_test(test_all_columns_have_one_rule),
		cmocka_unit_test(test_a_window_that_begins_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
