// SPDX-License-Identifier: ISC
/* intd/due: what is written is read, and what is no list harms nobody. */
#include "base/buffer.h"
#include "os/file/file.h"
#include "queue/due.h"
#include "queue_scene.h"
#include "test.h"
#include <errno.h>
#include <string.h>

enum { MANY = 30000 }; /* more than a piece of each directory */

static int64_t due_of(uint64_t number)
{
	return 1700000000000000 + (int64_t)(number * 7919 % 100003);
}

/* As a walk gives them: a directory after the other, in no order there. */
static void write_numbers(struct queue_store *store, uint64_t count)
{
	struct queue_due_writer writer = {0};
	uint32_t split = queue_store_split(store);

	queue_due_begin(&writer, store);
	for (uint32_t x = 0; x < split; x++)
		for (uint64_t i = count / split; i > 0; i--)
			assert_int_equal(
				queue_due_add(&writer, i * split + x, due_of(i * split + x)), 0);
	assert_int_equal(queue_due_end(&writer), 0);
}

static void a_list_is_read_as_it_was_written(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_due_reader reader = {0};
	uint32_t split = queue_store_split(store);
	int64_t due_us;

	(void)state;
	assert_int_equal(queue_due_open(&reader, store), -ENOENT);
	assert_false(queue_due_find(&reader, 7, &due_us));
	write_numbers(store, MANY);
	assert_int_equal(queue_due_open(&reader, store), 0);
	for (uint32_t x = 0; x < split; x++) {
		if (x % 3 == 1) /* nothing of that directory is asked for */
			continue;
		for (uint64_t i = 1; i <= MANY / split; i++) {
			assert_true(queue_due_find(&reader, i * split + x, &due_us));
			assert_int_equal(due_us, due_of(i * split + x));
		}
		assert_false(queue_due_find(&reader, (MANY + 10) * (uint64_t)split + x, &due_us));
	}
	queue_due_close(&reader);
	queue_store_close(store);
}

/* Nothing shows before the list is whole, and the last one stays. */
static void an_unfinished_list_is_none(void **state)
{
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_due_writer writer = {0};
	struct queue_due_reader reader = {0};
	int64_t due_us;

	(void)state;
	write_numbers(store, 100);
	queue_due_begin(&writer, store);
	for (uint64_t number = 1; number < 10000; number++)
		assert_int_equal(queue_due_add(&writer, number, 1), 0);
	queue_due_drop(&writer);
	assert_int_equal(queue_due_end(&writer), 0);
	assert_int_equal(queue_due_open(&reader, store), 0);
	assert_true(queue_due_find(&reader, 50, &due_us));
	assert_int_equal(due_us, due_of(50));
	queue_due_close(&reader);
	write_numbers(store, 40); /* over what was left */
	assert_int_equal(queue_due_open(&reader, store), 0);
	assert_false(queue_due_find(&reader, 50, &due_us));
	queue_due_close(&reader);
	queue_due_begin(&writer, store);
	assert_int_equal(queue_due_end(&writer), 0);
	assert_int_equal(queue_due_open(&reader, store), -ENOENT); /* an empty one is none */
	queue_store_close(store);
}

static void put_text(struct queue_store *store, struct str text)
{
	int file;

	(void)!os_file_unlink(queue_store_directory(store), "intd/due");
	file = os_file_open(queue_store_directory(store), "intd/due",
			    OS_FILE_WRITE | OS_FILE_CREATE);
	assert_true(file >= 0);
	assert_int_equal(os_file_write(file, text.data, text.length, 0), 0);
	os_file_close(file);
}

/* The list is believed as far as it is one. */
static void a_damaged_list_ends_where_it_is_damaged(void **state)
{
	static const char *const texts[] = {
		"1 100\n2",
		"1 100\n2 x\n3 5\n",
		"1 100\n\n3 5\n",
		"1 100\n2 99999999999999999999\n",
		"1 100\n2  7\n",
		"1 100\n-2 7\n",
		"1 100\n3 5 7\n3 5\n",
	};
	struct queue_store *store = queue_scene_open("queue", QUEUE_SYNC_FILES);
	struct queue_due_reader reader = {0};
	struct buffer endless = {0};
	int64_t due_us;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		put_text(store, str_from(texts[i]));
		assert_int_equal(queue_due_open(&reader, store), 0);
		assert_true(queue_due_find(&reader, 1, &due_us));
		assert_int_equal(due_us, 100);
		assert_false(queue_due_find(&reader, 2, &due_us));
		assert_false(queue_due_find(&reader, 3, &due_us));
		queue_due_close(&reader);
	}
	memset(buffer_reserve(&endless, 1 << 20), '1', 1 << 20);
	buffer_commit(&endless, 1 << 20);
	put_text(store, buffer_view(&endless));
	assert_int_equal(queue_due_open(&reader, store), 0);
	assert_false(queue_due_find(&reader, 1, &due_us));
	assert_true(reader.text.length < 1 << 18);
	queue_due_close(&reader);
	buffer_clear(&endless);
	queue_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_list_is_read_as_it_was_written,
						queue_scene_set_up, queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(an_unfinished_list_is_none, queue_scene_set_up,
						queue_scene_tear_down),
		cmocka_unit_test_setup_teardown(a_damaged_list_ends_where_it_is_damaged,
						queue_scene_set_up, queue_scene_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
