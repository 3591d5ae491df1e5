// SPDX-License-Identifier: ISC
/* A disk_cache against a model: any order of puts and removals while its thread works, starts anew,
 * and each call of the disk that fails: then the file keeps its old text. */
#include "base/buffer.h"
#include "base/timestamp.h"
#include "chance.h"
#include "os/clock.h"
#include "os/disk_cache/disk_cache.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAMES = 5, TEXT = 40, TURNS = 3000, SIZE_MOST = 16 };
enum call { OPEN, WRITE, SYNC, RENAME, UNLINK, CALLS };

static struct {
	struct os_loop *loop;
	char path[SCRATCH_SIZE];
	struct disk_cache *disk_cache;
	char model[NAMES][TEXT]; /* "": there is no file */
	/* what the disk was asked, by the thread */
	char calls[400];
	enum call fails; /* CALLS: none */
	int error;
	int64_t time_us;
} world;

static const char *const NAMES_OF[NAMES] = {"a", "b.test", "2026-11-25.c.test", "d_e-f", "Z9"};

/* --- the disk --- */

static int judge(enum call call, const char *name)
{
	static const char *const words[CALLS] = {"open", "write", "sync", "rename", "unlink"};
	size_t length = strlen(world.calls);

	if (length + 60 < sizeof world.calls)
		snprintf(world.calls + length, sizeof world.calls - length, "%s %s;", words[call],
			 name);
	return call == world.fails ? world.error : 0;
}

int __real_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	int error = (flags & OS_FILE_CREATE) != 0 ? judge(OPEN, path) : 0;

	return error < 0 ? error : __real_os_file_open(directory, path, flags);
}

int __real_os_file_write(int file, const void *data, size_t size, uint64_t offset);
int __wrap_os_file_write(int file, const void *data, size_t size, uint64_t offset);
int __wrap_os_file_write(int file, const void *data, size_t size, uint64_t offset)
{
	int error = judge(WRITE, "");

	return error < 0 ? error : __real_os_file_write(file, data, size, offset);
}

int __wrap_os_file_sync(int file);
int __wrap_os_file_sync(int file)
{
	assert_true(file >= 0);
	return judge(SYNC, "");
}

int __real_os_file_rename(int directory, const char *from, const char *to);
int __wrap_os_file_rename(int directory, const char *from, const char *to);
int __wrap_os_file_rename(int directory, const char *from, const char *to)
{
	int error = judge(RENAME, to);

	return error < 0 ? error : __real_os_file_rename(directory, from, to);
}

int __real_os_file_unlink(int directory, const char *path);
int __wrap_os_file_unlink(int directory, const char *path);
int __wrap_os_file_unlink(int directory, const char *path)
{
	int error = judge(UNLINK, path);

	return error < 0 ? error : __real_os_file_unlink(directory, path);
}

int64_t __wrap_os_clock_monotonic_us(void);
int64_t __wrap_os_clock_monotonic_us(void)
{
	return world.time_us;
}

/* --- what is there --- */

struct seen {
	unsigned count;
	unsigned large;
};

static void take(void *context, struct str name, struct str text)
{
	struct seen *seen = context;
	size_t i = 0;

	seen->count++;
	while (i < NAMES && !str_equal(name, str_from(NAMES_OF[i])))
		i++;
	assert_true(i < NAMES);
	if (text.data == NULL) {
		seen->large++;
		assert_true(strlen(world.model[i]) > SIZE_MOST);
	} else if (!str_equal(text, str_from(world.model[i]))) {
		fail_msg("%s: '" STR_FORMAT "' instead of '%s'", NAMES_OF[i], STR_ARGUMENTS(text),
			 world.model[i]);
	}
}

static void open_disk_cache(void)
{
	assert_int_equal(disk_cache_open(world.loop, world.path, &world.disk_cache), 0);
}

/* After all of it is written. */
static void check_all(void)
{
	struct seen seen = {0};
	unsigned count = 0, large = 0;

	disk_cache_close(world.disk_cache);
	open_disk_cache();
	assert_int_equal(disk_cache_each(world.disk_cache, SIZE_MOST, take, &seen), 0);
	for (size_t i = 0; i < NAMES; i++) {
		count += world.model[i][0] != '\0';
		large += strlen(world.model[i]) > SIZE_MOST;
	}
	assert_int_equal(seen.count, count);
	assert_int_equal(seen.large, large);
}

static void stop(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

static void turn_loop(void)
{
	struct os_timer *timer = os_timer_new(world.loop, stop, NULL);

	os_timer_start(timer, (int64_t)chance(300));
	os_loop_run(world.loop);
	os_timer_free(timer);
}

static void put(size_t i, const char *text)
{
	disk_cache_put(world.disk_cache, str_from(NAMES_OF[i]), str_from(text));
	snprintf(world.model[i], TEXT, "%s", text);
}

static void remove_one(size_t i)
{
	disk_cache_remove(world.disk_cache, str_from(NAMES_OF[i]));
	world.model[i][0] = '\0';
}

static void any_order(void **state)
{
	char text[TEXT];

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		size_t i = chance(NAMES), length = 1 + chance(SIZE_MOST + 2);

		switch (chance(8)) {
		case 0:
			turn_loop();
			break;
		case 1:
			if (chance(5) == 0)
				check_all();
			break;
		case 2:
		case 3:
			remove_one(i);
			break;
		default:
			memset(text, 'a' + (char)chance(20), length);
			text[length] = '\0';
			put(i, text);
		}
	}
	check_all();
}

/* A loop alone ends what was begun. */
static void nothing_waits_for_the_end(void **state)
{
	char file[SCRATCH_SIZE + 20];
	int64_t tries = 0;

	(void)state;
	for (size_t i = 0; i < NAMES; i++)
		put(i, "text");
	for (size_t i = 0; i < NAMES; i++) {
		snprintf(file, sizeof file, "%s/%s", world.path, NAMES_OF[i]);
		while (access(file, F_OK) != 0 && tries++ < 100000)
			turn_loop();
		assert_int_equal(access(file, F_OK), 0);
	}
}

/* Its text is durable before it has its name. */
static void a_file_is_synced_before_it_is_renamed(void **state)
{
	(void)state;
	world.calls[0] = '\0';
	put(1, "text");
	disk_cache_close(world.disk_cache);
	open_disk_cache();
	assert_string_equal(world.calls, "unlink .new;open .new;write ;sync ;rename b.test;");
	world.calls[0] = '\0';
	remove_one(1);
	disk_cache_close(world.disk_cache);
	open_disk_cache();
	assert_string_equal(world.calls, "unlink b.test;");
}

/* --- what fails --- */

static unsigned count_log_lines(FILE *log)
{
	unsigned count = 0;
	char line[500];

	rewind(log);
	while (fgets(line, sizeof line, log) != NULL)
		count += strstr(line, "event=disk_cache_error") != NULL;
	return count;
}

static void fail_once(enum call call, int error, bool is_removal)
{
	world.fails = call;
	world.error = error;
	if (is_removal)
		disk_cache_remove(world.disk_cache, str_from(NAMES_OF[2]));
	else
		disk_cache_put(world.disk_cache, str_from(NAMES_OF[2]), STR("other"));
	disk_cache_close(world.disk_cache);
	world.fails = CALLS;
	open_disk_cache();
}

/* Each call, once. */
static void a_file_keeps_its_old_text(void **state)
{
	(void)state;
	put(2, "old");
	check_all(); /* otherwise what comes next would take its place */
	for (enum call call = 0; call < CALLS; call++)
		for (int is_removal = 0; is_removal < 2; is_removal++) {
			if (is_removal && call != UNLINK)
				continue;
			fail_once(call, -EIO, is_removal);
			check_all();
		}
	put(2, "new"); /* over what was left */
	check_all();
}

static void errors_are_logged_once_a_minute(void **state)
{
	FILE *log = tmpfile();
	int before = dup(STDERR_FILENO);

	(void)state;
	assert_non_null(log);
	assert_true(dup2(fileno(log), STDERR_FILENO) >= 0);
	world.fails = SYNC;
	world.error = -ENOSPC;
	for (unsigned i = 0; i < 6; i++) {
		/* at 1, 30, 59.999999, 60.999999, 61 and 121 seconds */
		static const int64_t times_us[] = {1000000,  30000000, 59999999,
						   60999999, 61000000, 121000000};

		world.time_us = times_us[i];
		disk_cache_put(world.disk_cache, str_from("a"), STR("x"));
		do
			turn_loop();
		while (strstr(world.calls, "sync") == NULL);
		for (unsigned turns = 0; turns < 20; turns++)
			turn_loop();
		world.calls[0] = '\0';
	}
	disk_cache_close(world.disk_cache);
	world.fails = CALLS;
	open_disk_cache();
	fflush(stderr);
	dup2(before, STDERR_FILENO);
	close(before);
	assert_int_equal(count_log_lines(log), 3);
	fclose(log);
}

static void names_of_files(void **state)
{
	char longest[255];

	(void)state;
	memset(longest, 'x', sizeof longest);
	for (size_t length = 252; length <= 254; length++)
		assert_int_equal(disk_cache_is_name(str_slice(longest, length)), length <= 253);
	for (int byte = 0; byte < 256; byte++) {
		char name[] = {'a', (char)byte};
		bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
				 (byte >= '0' && byte <= '9') || byte == '-' || byte == '_';

		assert_int_equal(disk_cache_is_name(str_slice(name, 2)), is_letter || byte == '.');
		assert_int_equal(disk_cache_is_name(str_slice(name + 1, 1)), is_letter);
	}
	assert_false(disk_cache_is_name(STR("")));
}

static void directories_that_cannot_be(void **state)
{
	struct disk_cache *disk_cache = NULL;
	char path[SCRATCH_SIZE + 20];

	(void)state;
	snprintf(path, sizeof path, "%s/a/b", world.path);
	assert_int_equal(disk_cache_open(world.loop, path, &disk_cache), -ENOENT);
	put(0, "text");
	disk_cache_close(world.disk_cache);
	snprintf(path, sizeof path, "%s/a", world.path);
	assert_int_equal(disk_cache_open(world.loop, path, &disk_cache), -ENOTDIR);
	assert_null(disk_cache);
	open_disk_cache();
	disk_cache_close(NULL);
	snprintf(path, sizeof path, "%s/new", world.path);
	assert_int_equal(disk_cache_open(world.loop, path, &disk_cache), 0);
	disk_cache_close(disk_cache);
	assert_int_equal(rmdir(path), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(world.model, 0, sizeof world.model);
	world.fails = CALLS;
	world.time_us = SECOND_US;
	world.loop = os_loop_new();
	if (scratch_make(world.path) < 0)
		return -1;
	open_disk_cache();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	disk_cache_close(world.disk_cache);
	os_loop_free(world.loop);
	return scratch_remove(world.path);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
		CASE(nothing_waits_for_the_end),
		CASE(a_file_is_synced_before_it_is_renamed),
		CASE(a_file_keeps_its_old_text),
		CASE(errors_are_logged_once_a_minute),
		CASE(names_of_files),
		CASE(directories_that_cannot_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
