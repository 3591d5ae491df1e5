// SPDX-License-Identifier: ISC
/* A walk over a folder in steps: all numbers of all its directories, also when one of them cannot
 * be read, and nothing beyond its end. */
#include "failing_calls.h"
#include "os/file/file.h"
#include "queue/walk.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <string.h>

enum { MESSAGES = 7 };

static struct queue_store *store;
static struct queue_intake *intake;
static uint64_t numbers[MESSAGES];
static char strays[256];

static int open_queue(void **state)
{
	if (queue_scene_set_up(state) < 0)
		return -1;
	store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	intake = queue_scene_intake(store);
	for (size_t i = 0; i < MESSAGES; i++)
		numbers[i] = queue_scene_enqueue(intake, NULL, "data\r\n");
	return 0;
}

static int close_queue(void **state)
{
	queue_intake_close(intake);
	queue_store_close(store);
	return queue_scene_tear_down(state);
}

static void on_stray(const char *path)
{
	assert_true(strlen(strays) + strlen(path) + 2 < sizeof strays);
	strcat(strcat(strays, path), " ");
}

static unsigned index_of(uint64_t number)
{
	for (unsigned i = 0; i < MESSAGES; i++)
		if (numbers[i] == number)
			return i;
	fail();
	return 0;
}

static void add_stray(const char *path)
{
	assert_int_equal(os_file_link(queue_store_directory(store), "format", path), 0);
}

static void each_number_comes_once(void **state)
{
	struct queue_walk walk;
	struct os_file_info info;
	unsigned seen = 0;
	uint64_t number = 0;
	int result;

	(void)state;
	strays[0] = '\0';
	add_stray("todo/arrive/0/stray");
	add_stray("todo/arrive/2/0x1");
	queue_walk_begin(&walk, store, QUEUE_TODO, "arrive");
	while ((result = queue_walk_next(&walk, &number, on_stray)) > 0) {
		assert_int_equal(seen & 1U << index_of(number), 0);
		seen |= 1U << index_of(number);
		assert_int_equal(queue_walk_info(&walk, &info), 0);
		assert_int_equal(info.inode, number);
	}
	assert_int_equal(result, 0);
	assert_int_equal(seen, (1U << MESSAGES) - 1);
	assert_string_equal(strays, "todo/arrive/0/stray todo/arrive/2/0x1 ");
	assert_int_equal(queue_walk_next(&walk, &number, NULL), 0);
	queue_walk_end(&walk);
	queue_walk_begin(&walk, store, QUEUE_TODO,
			 "arrive"); /* nobody asks for what is no number */
	while ((result = queue_walk_next(&walk, &number, NULL)) > 0)
		continue;
	assert_int_equal(result, 0);
	queue_walk_end(&walk);
	queue_walk_begin(&walk, store, QUEUE_MESS, NULL);
	assert_int_equal(queue_walk_next(&walk, &number, on_stray), 0);
	queue_walk_end(&walk);
}

/* A directory that cannot be read is skipped, and told: the walk goes on with the next one. */
static void what_cannot_be_read_is_skipped(void **state)
{
	unsigned failures = 0;

	(void)state;
	for (bool is_over = false; !is_over;) {
		struct queue_walk walk;
		uint64_t number;
		unsigned seen = 0;
		unsigned lost = 0;
		unsigned steps = 0;
		int result = 1;

		queue_walk_begin(&walk, store, QUEUE_TODO, "arrive");
		failing_calls_begin();
		while (result != 0) {
			assert_true(steps++ < 2 * MESSAGES);
			result = queue_walk_next(&walk, &number, NULL);
			lost += result == -EIO;
			if (result > 0) {
				assert_int_equal(seen & 1U << index_of(number), 0);
				seen |= 1U << index_of(number);
			}
		}
		is_over = !failing_calls_end();
		assert_int_equal(lost, !is_over);
		for (unsigned i = 0; i < MESSAGES;
		     i++) /* only those of one directory are missing */
			for (unsigned k = 0; k < MESSAGES; k++)
				if ((seen & 1U << i) == 0 && (seen & 1U << k) == 0)
					assert_int_equal(numbers[i] % QUEUE_SCENE_SPLIT,
							 numbers[k] % QUEUE_SCENE_SPLIT);
		assert_true(!is_over || seen == (1U << MESSAGES) - 1);
		queue_walk_end(&walk);
		failures += !is_over;
	}
	assert_true(failures > 2 * QUEUE_SCENE_SPLIT);
}

/* Its directory is open until then. */
static void a_walk_may_end_early(void **state)
{
	struct queue_walk walk;
	uint64_t number;

	(void)state;
	queue_walk_begin(&walk, store, QUEUE_TODO, "arrive");
	assert_int_equal(queue_walk_next(&walk, &number, NULL), 1);
	queue_walk_end(&walk);
	assert_int_equal(queue_walk_next(&walk, &number, NULL), 0);
	queue_walk_end(&walk);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_number_comes_once),
		cmocka_unit_test(what_cannot_be_read_is_skipped),
		cmocka_unit_test(a_walk_may_end_early),
	};

	return cmocka_run_group_tests(tests, open_queue, close_queue);
}
