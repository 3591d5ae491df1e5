// SPDX-License-Identifier: ISC
/*
 * The lists of spares and the tables of numbers at every small size and around their limits, in all
 * orders, twice: each against a reference that is too simple to be wrong.
 */
#include "base/attributes.h"
#include "os/file/file.h"
#include "queue/internal.h"
#include "queue/number_table.h"
#include "test.h"
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum {
	TABLE_FIRST = 1024, /* slots; half of them are used */
	SLOT_BITS = 20,     /* of the hash, below those of the slot */
	NEIGHBOURS = 4,
	FLAGS = 3,
	STEPS = 4,
	SPARES_FIRST = 16, /* at which memory is first full */
	SPARES_MAX = 4 * SPARES_FIRST + 1,
};

static size_t slot_of(uint64_t number)
{
	return (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> SLOT_BITS) & (TABLE_FIRST - 1);
}

/* Numbers that want the last slot, so that all but one find their places at the beginning. */
static void find_neighbours(uint64_t numbers[NEIGHBOURS])
{
	size_t count = 0;

	for (uint64_t number = 1; count < NEIGHBOURS; number++)
		if (slot_of(number) == TABLE_FIRST - 1)
			numbers[count++] = number;
}

static void check_table(const struct number_table *table, const uint64_t *numbers,
			const unsigned *flags, size_t count)
{
	size_t inside = 0;

	for (size_t i = 0; i < count; i++) {
		assert_int_equal(number_table_flags(table, numbers[i]), flags[i]);
		inside += flags[i] != 0;
	}
	assert_int_equal(table->count, inside);
}

/* STORY: which of the numbers gets which flag, step by step; the table before it is empty, and may
 * have memory. */
static void play_story(struct number_table *table, const uint64_t *numbers, size_t story)
{
	unsigned flags[NEIGHBOURS] = {0};

	for (int step = 0; step < STEPS; step++, story /= NEIGHBOURS * FLAGS) {
		unsigned flag = 1u << story % FLAGS;
		size_t which = story / FLAGS % NEIGHBOURS;

		number_table_add(table, numbers[which], flag);
		flags[which] |= flag;
		check_table(table, numbers, flags, NEIGHBOURS);
	}
}

static void numbers_that_want_one_slot_keep_their_flags_in_all_orders(void **state)
{
	static const unsigned nothing[NEIGHBOURS];
	uint64_t numbers[NEIGHBOURS];
	struct number_table table = {0};
	size_t stories = 1;

	(void)state;
	find_neighbours(numbers);
	check_table(&table, numbers, nothing, NEIGHBOURS);
	for (int i = 0; i < STEPS; i++)
		stories *= NEIGHBOURS * FLAGS;
	for (size_t story = 0; story < stories; story += 7) {
		play_story(&table, numbers, story);
		number_table_reset(&table);
		assert_int_equal(table.size, TABLE_FIRST);
		check_table(&table, numbers, nothing, NEIGHBOURS);
	}
	number_table_clear(&table);
	assert_memory_equal(&table, &(struct number_table){0}, sizeof table);
	check_table(&table, numbers, nothing, NEIGHBOURS);
}

/* It grows when half of it is used, and has everything afterwards; also in its second life, and
 * after it was cleared. */
static void a_table_grows_at_its_limit(void **state)
{
	enum { COUNT = 2 * TABLE_FIRST + 8 };
	static uint64_t numbers[COUNT];
	static unsigned flags[COUNT];
	struct number_table table = {0};

	(void)state;
	for (int life = 0; life < 3; life++) {
		size_t size = life == 1 ? table.size : 0;

		memset(flags, 0, sizeof flags);
		for (size_t i = 0; i < COUNT; i++) {
			numbers[i] = i * i * i + 1;
			flags[i] = (unsigned)(1 + i % 7);
			while (2 * (i + 1) > size)
				size = size > 0 ? 2 * size : TABLE_FIRST;
			number_table_add(&table, numbers[i], flags[i]);
			assert_int_equal(table.size, size);
			if (i % 64 == 0 || (i & (i + 1)) == 0)
				check_table(&table, numbers, flags, COUNT);
		}
		check_table(&table, numbers, flags, COUNT);
		(life == 0 ? number_table_reset : number_table_clear)(&table);
	}
}

static int open_one(void)
{
	int file = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(file >= 0);
	return file;
}

/* What is taken is what was added last; what is left is closed when the list is cleared. */
static void spares_are_taken_from_the_end(struct queue_spare_list *list, size_t count, size_t taken,
					  bool are_open)
{
	static int files[SPARES_MAX];
	struct queue_spare spare = {0};

	for (size_t i = 0; i < count; i++) {
		files[i] = are_open ? open_one() : -1;
		queue_spare_list_add(list, (struct queue_spare){.number = i,
								.serial = i * 2,
								.file = files[i],
								.size = i * 3});
		assert_int_equal(list->count, i + 1);
	}
	for (size_t i = 0; i < taken; i++) {
		assert_true(queue_spare_list_take(list, &spare));
		assert_int_equal(spare.number, count - i - 1);
		assert_int_equal(spare.serial, spare.number * 2);
		assert_int_equal(spare.size, spare.number * 3);
		assert_int_equal(spare.file, files[spare.number]);
		os_file_close(spare.file);
	}
	assert_int_equal(list->count, count - taken);
	if (count == taken)
		assert_false(queue_spare_list_take(list, &spare));
	for (size_t i = 0; are_open && i < count - taken; i++)
		assert_int_equal(fcntl(files[i], F_GETFD), FD_CLOEXEC);
	queue_spare_list_clear(list);
	for (size_t i = 0; are_open && i < count; i++)
		assert_int_equal(fcntl(files[i], F_GETFD), -1);
	assert_memory_equal(list, &(struct queue_spare_list){0}, sizeof *list);
}

static void lists_of_spares_of_every_size(void **state)
{
	struct queue_spare_list list = {0};

	(void)state;
	for (size_t count = 0; count <= 8; count++)
		for (size_t taken = 0; taken <= count; taken++)
			spares_are_taken_from_the_end(&list, count, taken, true);
	for (size_t count = SPARES_FIRST - 1; count <= SPARES_MAX;
	     count += count < SPARES_FIRST + 1 ? 1 : SPARES_FIRST)
		spares_are_taken_from_the_end(&list, count, count / 2, false);
}

/* Memory is added when the last place is taken, and no sooner (memory_grow() says how much). */
static void a_list_of_spares_grows_at_its_limit(void **state)
{
	struct queue_spare_list list = {0};
	size_t capacity = 0;

	(void)state;
	for (size_t i = 0; i < SPARES_MAX; i++) {
		queue_spare_list_add(&list, (struct queue_spare){.number = i, .file = -1});
		if (i == capacity)
			capacity = list.capacity;
		assert_int_equal(list.capacity, capacity);
		for (size_t j = 0; j <= i; j++)
			assert_int_equal(list.items[j].number, j);
	}
	queue_spare_list_clear(&list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_that_want_one_slot_keep_their_flags_in_all_orders),
		cmocka_unit_test(a_table_grows_at_its_limit),
		cmocka_unit_test(lists_of_spares_of_every_size),
		cmocka_unit_test(a_list_of_spares_grows_at_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
