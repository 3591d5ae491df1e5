// SPDX-License-Identifier: ISC
/* A simulated disk that rots: files change, and names go, for good and without a word. */
#include "disk_scene.h"
#include "file_calls.h"
#include "unit/test.h"
#include <errno.h>
#include <string.h>

enum { HERE = OS_FILE_HERE, LONG = 3 * DISK_PAGE + 100 };

static const struct file_calls *const on = &world_calls;

static void make_file(const char *path, const char *text, size_t size, bool is_synced)
{
	int file = on->open(HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);

	assert_true(file >= 0);
	assert_int_equal(on->write(file, text, size, 0), 0);
	if (is_synced)
		assert_int_equal(on->sync(file), 0);
	on->close(file);
	if (is_synced)
		assert_int_equal(on->sync_directory(HERE, "."), 0);
}

static void expect_file(const char *path, const char *text, size_t size)
{
	static char read[LONG + 1];
	int file = on->open(HERE, path, OS_FILE_READ);

	assert_true(file >= 0);
	assert_int_equal(on->read(file, read, sizeof read, 0), size);
	assert_memory_equal(read, text, size);
	on->close(file);
}

static uint64_t free_bytes(void)
{
	struct os_file_space space;

	disk_space(disk_scene_disk(), &space);
	return space.free_bytes;
}

/* Longer, shorter and of the same size; the descriptor that somebody has sees it, too. */
static void bytes_change_for_good(void **state)
{
	static const size_t sizes[] = {LONG, DISK_PAGE, 1, 0, DISK_PAGE + 1};
	static char text[LONG];
	const struct disk_options plan = {.pages_max = 1000};

	(void)state;
	memset(text, 'r', sizeof text);
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct os_file_info before, after;
		uint64_t all;
		int file;

		disk_scene_begin(i, &plan);
		all = free_bytes();
		make_file("a", "what was written", 16, true);
		file = on->open(HERE, "a", OS_FILE_READ);
		assert_int_equal(on->info(file, &before), 0);
		assert_int_equal(disk_rot(disk_scene_disk(), "a", text, sizes[i]), 0);
		assert_int_equal(on->info(file, &after), 0);
		assert_int_equal(after.size, sizes[i]);
		assert_int_equal(after.modified_us, before.modified_us);
		expect_file("a", text, sizes[i]);
		disk_scene_cut_power();
		expect_file("a", text, sizes[i]);
		assert_int_equal(all - free_bytes(),
				 (sizes[i] + DISK_PAGE - 1) / DISK_PAGE * DISK_PAGE);
		disk_scene_end();
	}
}

/* What the disk has not yet cannot rot, and the rest goes its way. */
static void what_is_on_its_way_does_not_rot(void **state)
{
	(void)state;
	disk_scene_begin(1, NULL);
	make_file("a", "new", 3, false);
	assert_int_equal(disk_rot(disk_scene_disk(), "a", "old", 3), -EBUSY);
	assert_int_equal(disk_rot_name(disk_scene_disk(), "a"), -EBUSY);
	assert_int_equal(disk_rot(disk_scene_disk(), "b", "", 0), -ENOENT);
	assert_int_equal(disk_rot_name(disk_scene_disk(), "b"), -ENOENT);
	expect_file("a", "new", 3);
	disk_scene_end();
}

/* What is written afterwards is written on top of it. */
static void what_has_rotten_is_written_as_any_other(void **state)
{
	int file;

	(void)state;
	disk_scene_begin(1, NULL);
	make_file("a", "0123456789", 10, true);
	assert_int_equal(disk_rot(disk_scene_disk(), "a", "xxxx", 4), 0);
	file = on->open(HERE, "a", OS_FILE_WRITE);
	assert_int_equal(on->write(file, "ab", 2, 3), 0);
	assert_int_equal(on->sync(file), 0);
	disk_scene_cut_power();
	expect_file("a", "xxxab", 5);
	disk_scene_end();
}

static void a_name_goes_for_good(void **state)
{
	struct os_file_info info;

	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		const struct disk_options plan = {.keeps_order = seed % 2 == 0};

		disk_scene_begin(seed, &plan);
		make_file("a", "text", 4, true);
		assert_int_equal(on->link(HERE, "a", "b"), 0);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		assert_int_equal(disk_rot_name(disk_scene_disk(), "a"), 0);
		assert_int_equal(on->info_at(HERE, "a", &info), -ENOENT);
		disk_scene_cut_power();
		assert_int_equal(on->info_at(HERE, "a", &info), -ENOENT);
		expect_file("b", "text", 4);
		disk_scene_end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_change_for_good),
		cmocka_unit_test(what_is_on_its_way_does_not_rot),
		cmocka_unit_test(what_has_rotten_is_written_as_any_other),
		cmocka_unit_test(a_name_goes_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
