// SPDX-License-Identifier: ISC
/* What a simulated disk leaves when its power is cut, and what else a real one cannot show. */
#include "disk_scene.h"
#include "file_calls.h"
#include "unit/test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 200, HERE = OS_FILE_HERE };

static const struct file_calls *const on = &world_calls;

static int make_file(const char *path, const char *text, bool is_synced)
{
	int file = on->open(HERE, path, OS_FILE_WRITE | OS_FILE_CREATE);

	assert_true(file >= 0);
	assert_int_equal(on->write(file, text, strlen(text), 0), 0);
	if (is_synced)
		assert_int_equal(on->sync(file), 0);
	return file;
}

/* The text of the file at PATH; false: there is none. */
static bool read_text(const char *path, char text[256])
{
	int file = on->open(HERE, path, OS_FILE_READ);
	ssize_t count;

	if (file < 0)
		return false;
	count = on->read(file, text, 255, 0);
	assert_true(count >= 0);
	text[count] = '\0';
	on->close(file);
	return true;
}

static void test_synced_stays(void **state)
{
	char text[256];

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct disk_options plan = {.keeps_order = seed % 2 == 0};

		disk_scene_begin(seed, &plan);
		(void)make_file("new", "what is durable", true);
		assert_int_equal(on->rename(HERE, "new", "name"), 0);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		(void)make_file("other", "not synced", false);
		disk_scene_cut_power();
		assert_true(read_text("name", text));
		assert_string_equal(text, "what is durable");
		assert_false(read_text("new", text));
		disk_scene_end();
	}
}

/* Each of the four states that a name and its bytes can be in is met. */
static void test_unsynced_is_chance(void **state)
{
	unsigned missing = 0;
	unsigned empty = 0;
	unsigned whole = 0;
	unsigned torn = 0;
	static char bytes[3000];
	char text[256];

	(void)state;
	memset(bytes, 'x', sizeof bytes);
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		int file;

		disk_scene_begin(seed, NULL);
		file = on->open(HERE, "a", OS_FILE_WRITE | OS_FILE_CREATE);
		assert_int_equal(on->write(file, bytes, sizeof bytes, 0), 0);
		disk_scene_cut_power();
		if (!read_text("a", text)) {
			missing++;
		} else {
			static char is[4000];
			ssize_t count;

			file = on->open(HERE, "a", OS_FILE_READ);
			count = on->read(file, is, sizeof is, 0);
			if (count == 0)
				empty++;
			else if (count == sizeof bytes && memcmp(is, bytes, sizeof bytes) == 0)
				whole++;
			else
				torn++;
		}
		disk_scene_end();
	}
	assert_true(missing > 0 && empty > 0 && whole > 0 && torn > 0);
}

/* With order: names are a prefix of those that were made, in whatever directories, and have the
 * bytes that were written out before. */
static void test_order(void **state)
{
	enum { FILES = 20 };
	static const struct disk_options plan = {.keeps_order = true};
	unsigned cuts[FILES + 1] = {0};

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		unsigned count = 0;
		char path[16];
		char text[256];

		disk_scene_begin(seed, &plan);
		assert_int_equal(on->make_directory(HERE, "d0"), 0);
		assert_int_equal(on->make_directory(HERE, "d1"), 0);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		for (unsigned i = 0; i < FILES; i++) {
			int file = make_file("new", "the text", false);
			int result;

			on->write_out_many(&file, 1, &result);
			assert_int_equal(result, 0);
			on->close(file);
			snprintf(path, sizeof path, "d%u/%u", i % 2, i);
			assert_int_equal(on->rename(HERE, "new", path), 0);
			if (i == 4) /* also the names in the other one before it */
				assert_int_equal(on->sync_directory(HERE, "d0"), 0);
		}
		disk_scene_cut_power();
		for (unsigned i = 0; i < FILES; i++) {
			snprintf(path, sizeof path, "d%u/%u", i % 2, i);
			if (!read_text(path, text))
				continue;
			assert_int_equal(count, i);
			assert_string_equal(text, "the text");
			count++;
		}
		assert_true(count >= 5);
		cuts[count]++;
		disk_scene_end();
	}
	assert_true(cuts[5] > 0 && cuts[12] > 0 && cuts[FILES] > 0);
}

/* With order: a sync of a file is one of all names that were made before it grew. */
static void test_order_of_growth(void **state)
{
	static const struct disk_options plan = {.keeps_order = true};
	unsigned later = 0;

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		char text[256];
		int file;

		disk_scene_begin(seed, &plan);
		assert_int_equal(on->make_directory(HERE, "d0"), 0);
		on->close(make_file("old", "the text", true));
		assert_int_equal(on->rename(HERE, "old", "d0/new"), 0);
		file = on->open(HERE, "d0/new", OS_FILE_WRITE | OS_FILE_APPEND);
		assert_int_equal(on->append(file, ", and more", 10), 0);
		assert_int_equal(on->rename(HERE, "d0/new", "later"), 0);
		assert_int_equal(on->sync(file), 0);
		on->close(file);
		disk_scene_cut_power();
		later += read_text("later", text);
		assert_true(read_text("d0/new", text) || read_text("later", text));
		assert_string_equal(text, "the text, and more");
		assert_false(read_text("old", text));
		disk_scene_end();
	}
	assert_in_range(later, 1, ROUNDS - 1);
}

/* Without it the second name may be there and the first not, and a rename half done. */
static void make_folder(const char *path, int64_t when_us)
{
	disk_live(disk_scene_disk(), when_us);
	assert_int_equal(on->make_directory(HERE, path), 0);
}

static void test_order_is_committed(void **state)
{
	unsigned missing = 0;

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct disk_options plan = {.keeps_order = true};

		disk_scene_begin(seed, &plan);
		make_folder("first", 0);
		make_folder("second", DISK_COMMIT_US - 1);
		make_folder("third", DISK_COMMIT_US);
		assert_int_equal(disk_undecided(disk_scene_disk()), 1);
		disk_scene_cut_power();
		assert_int_equal(on->make_directory(HERE, "first"), -EEXIST);
		assert_int_equal(on->make_directory(HERE, "second"), -EEXIST);
		missing += on->make_directory(HERE, "third") == 0;
		disk_scene_end();
	}
	assert_in_range(missing, 1, ROUNDS - 1);
}

static void test_no_order(void **state)
{
	unsigned second = 0;
	unsigned both = 0;
	unsigned neither = 0;
	char text[256];

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		bool has_old;
		bool has_new;

		disk_scene_begin(seed, NULL);
		(void)make_file("moved", "", true);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		(void)make_file("first", "", true);
		(void)make_file("second", "", true);
		assert_int_equal(on->rename(HERE, "moved", "there"), 0);
		disk_scene_cut_power();
		second += read_text("second", text) && !read_text("first", text);
		has_old = read_text("moved", text);
		has_new = read_text("there", text);
		both += has_old && has_new;
		neither += !has_old && !has_new;
		disk_scene_end();
	}
	assert_true(second > 0 && both > 0 && neither > 0);
}

/* The second sync says that all is well, and it is not. */
static void test_failed_sync(void **state)
{
	unsigned old = 0;
	unsigned new = 0;
	char text[256];

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		int file;

		disk_scene_begin(seed, NULL);
		file = make_file("a", "old", true);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		assert_int_equal(on->write(file, "new", 3, 0), 0);
		disk_scene_fail(DISK_SYNC, -EIO, 1);
		assert_int_equal(on->sync(file), -EIO);
		assert_int_equal(on->sync(file), 0);
		assert_true(read_text("a", text));
		assert_string_equal(text, "new");
		disk_scene_cut_power();
		assert_true(read_text("a", text));
		old += strcmp(text, "old") == 0;
		new += strcmp(text, "new") == 0;
		disk_scene_end();
	}
	assert_int_equal(old + new, ROUNDS);
	assert_true(old > 0 && new > 0);
}

static void test_failed_sync_of_names(void **state)
{
	char text[256];

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct disk_options plan = {.keeps_order = seed % 2 == 0};

		disk_scene_begin(seed, &plan);
		(void)make_file("a", "text", !plan.keeps_order);
		disk_scene_fail(DISK_SYNC_NAMES, -EIO, 1);
		assert_int_equal(on->sync_directory(HERE, "."), -EIO);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		assert_true(read_text("a", text));
		disk_scene_cut_power();
		assert_false(read_text("a", text));
		disk_scene_end();
	}
}

/* The only name of a file goes after another was made, whose sync fails. */
static void test_failed_sync_keeps_order(void **state)
{
	static const struct disk_options plan = {.keeps_order = true};
	char text[256];

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		disk_scene_begin(seed, &plan);
		assert_int_equal(on->make_directory(HERE, "new"), 0);
		(void)make_file("a", "text", true);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		assert_int_equal(on->link(HERE, "a", "new/a"), 0);
		assert_int_equal(on->unlink(HERE, "a"), 0);
		disk_scene_fail(DISK_SYNC_NAMES, -EIO, 1);
		assert_int_equal(on->sync_directory(HERE, "new"), -EIO);
		disk_scene_cut_power();
		assert_true(read_text("a", text));
		disk_scene_end();
	}
}

/* A file that was cut and written again is as long as it ever was, with nothing behind the cut
 * that was there before, unless the cut was lost. */
static void test_cut(void **state)
{
	unsigned lost = 0;
	char text[256];

	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		struct disk_options plan = {.keeps_order = seed % 2 == 0};
		int file;

		disk_scene_begin(seed, &plan);
		file = make_file("a", "0123456789", true);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		assert_int_equal(on->truncate(file, 4), 0);
		assert_int_equal(on->truncate(file, 8), 0);
		if (seed % 3 == 0)
			assert_int_equal(on->sync(file), 0);
		disk_scene_cut_power();
		file = on->open(HERE, "a", OS_FILE_READ);
		assert_in_range(on->read(file, text, sizeof text, 0), 4, 10);
		assert_memory_equal(text, "0123", 4);
		if (seed % 3 == 0)
			assert_memory_equal(text, "0123\0\0\0\0", 8);
		else if (memcmp(text, "0123456789", 10) == 0)
			lost++;
		disk_scene_end();
	}
	assert_true(lost > 0);
}

static uint64_t inode_of(int file)
{
	struct os_file_info info;

	assert_int_equal(on->info(file, &info), 0);
	return info.inode;
}

static void test_number_is_used_again(void **state)
{
	static const struct disk_options ordered = {.keeps_order = true};
	uint64_t first;
	int file;

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		bool keeps_order = i == 0;

		disk_scene_begin(1, keeps_order ? &ordered : NULL);
		file = make_file("a", "", false);
		first = inode_of(file);
		assert_int_equal(on->unlink(HERE, "a"), 0);
		assert_int_not_equal(inode_of(make_file("b", "", false)), first); /* open */
		on->close(file);
		file = make_file("c", "", false);
		assert_true((inode_of(file) == first) == keeps_order);
		assert_int_equal(on->sync_directory(HERE, "."), 0);
		if (!keeps_order)
			assert_int_equal(inode_of(make_file("d", "", false)), first);
		disk_scene_end();
	}
}

static void test_full(void **state)
{
	static const struct disk_options plan = {.pages_max = 3, .inodes_max = 4};
	static const char bytes[DISK_PAGE * 4];
	struct os_file_info info;
	int file;

	(void)state;
	disk_scene_begin(1, &plan);
	file = make_file("a", "", false);
	assert_int_equal(on->write(file, bytes, sizeof bytes, 0), -ENOSPC);
	assert_int_equal(on->info(file, &info), 0);
	assert_int_equal(info.size, 3 * DISK_PAGE);
	assert_int_equal(on->write(file, "again", 5, 0), 0);
	assert_int_equal(on->unlink(HERE, "a"), 0);
	on->close(file);
	file = make_file("b", "x", false);
	(void)make_file("c", "x", false);
	(void)make_file("d", "x", false);
	assert_int_equal(on->open(HERE, "e", OS_FILE_WRITE | OS_FILE_CREATE), -ENOSPC);
	assert_int_equal(on->write(file, "x", 1, DISK_PAGE), -ENOSPC);
	disk_scene_end();
}

/* Two open files of one process are two owners. */
static void test_lock(void **state)
{
	int one;
	int other;

	(void)state;
	disk_scene_begin(1, NULL);
	one = make_file("a", "", false);
	other = on->open(HERE, "a", OS_FILE_WRITE);
	assert_int_equal(on->lock(one), 0);
	assert_int_equal(on->lock(one), 0);
	assert_int_equal(on->lock(other), -EAGAIN);
	on->close(one);
	assert_int_equal(on->lock(other), 0);
	disk_scene_end();
}

/* Any calls, and power cuts among them; what is left when all is removed is nothing. */
static uint64_t play(uint64_t seed)
{
	struct disk_options plan = {.keeps_order = seed % 2 == 0};
	uint64_t sum = 0;
	char path[32];
	char to[32];

	disk_scene_begin(seed, &plan);
	for (unsigned i = 0; i < 3000; i++) {
		int file;
		char text[256];

		snprintf(path, sizeof path, "%c", (int)('a' + disk_scene_below(8)));
		snprintf(to, sizeof to, "%c", (int)('a' + disk_scene_below(8)));
		file = on->open(HERE, path,
				OS_FILE_WRITE | (disk_scene_below(2) == 0 ? OS_FILE_CREATE : 0));
		if (file >= 0) {
			(void)!on->write(file, to, 1, disk_scene_below(6000));
			if (disk_scene_below(8) == 0)
				(void)!on->truncate(file, disk_scene_below(6000));
			if (disk_scene_below(8) == 0)
				(void)!on->sync(file);
			sum = sum * 31 + (uint64_t)on->read(file, text, 200, 0);
		}
		switch (disk_scene_below(6)) {
		case 0:
			(void)!on->rename(HERE, path, to);
			break;
		case 1:
			(void)!on->unlink(HERE, path);
			break;
		case 2:
			(void)!on->link(HERE, path, to);
			break;
		case 3:
			if (disk_scene_below(10) == 0)
				(void)!on->sync_directory(HERE, ".");
			break;
		default:
			break;
		}
		if (disk_scene_below(100) == 0)
			disk_scene_cut_power();
		else
			on->close(file);
		sum = sum * 31 + disk_undecided(disk_scene_disk());
	}
	for (unsigned i = 0; i < 8; i++) {
		snprintf(path, sizeof path, "%c", (int)('a' + i));
		(void)!on->unlink(HERE, path);
	}
	assert_int_equal(on->sync_directory(HERE, "."), 0);
	assert_int_equal(disk_undecided(disk_scene_disk()), 0);
	disk_scene_end();
	return sum;
}

static void test_same_seed_same_disk(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 12; seed++)
		assert_true(play(seed) == play(seed));
	assert_true(play(1) != play(3));
}

static void test_many_names(void **state)
{
	enum { MANY = 100000 };
	char path[32];

	(void)state;
	disk_scene_begin(1, NULL);
	for (unsigned i = 0; i < MANY; i++) {
		snprintf(path, sizeof path, "%u", i);
		on->close(make_file(path, path, false));
	}
	assert_int_equal(on->sync_directory(HERE, "."), 0);
	for (unsigned i = 0; i < MANY; i += 2) {
		snprintf(path, sizeof path, "%u", i);
		assert_int_equal(on->unlink(HERE, path), 0);
	}
	disk_scene_cut_power();
	for (unsigned i = 1; i < MANY; i += 2) {
		struct os_file_info info;

		snprintf(path, sizeof path, "%u", i);
		assert_int_equal(on->info_at(HERE, path, &info), 0);
	}
	disk_scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_synced_stays),
		cmocka_unit_test(test_unsynced_is_chance),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_of_growth),
		cmocka_unit_test(test_order_is_committed),
		cmocka_unit_test(test_no_order),
		cmocka_unit_test(test_failed_sync),
		cmocka_unit_test(test_failed_sync_of_names),
		cmocka_unit_test(test_failed_sync_keeps_order),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_number_is_used_again),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_lock),
		cmocka_unit_test(test_same_seed_same_disk),
		cmocka_unit_test(test_many_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
