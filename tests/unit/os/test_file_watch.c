// SPDX-License-Identifier: ISC
/* Which changes of a file and of its name are reported. */
#include "base/timestamp.h"
#include "os/file/watch.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = SCRATCH_SIZE + 32 };

static struct {
	struct os_loop *loop;
	struct os_timer *enough;
	char folder[SCRATCH_SIZE];
	char path[PATH_SIZE];
	char other[PATH_SIZE];
	struct os_file_watch *watch;
	unsigned calls;
} world;

static void on_change(void *context)
{
	(void)context;
	world.calls++;
}

static void on_enough(void *context)
{
	(void)context;
	os_loop_stop(world.loop);
}

/* The number of calls for what has happened; the kernel reports that at once. */
static unsigned calls(void)
{
	unsigned before = world.calls;

	for (unsigned i = 0; i < 3; i++) {
		os_timer_start(world.enough, 0);
		os_loop_run(world.loop);
	}
	return world.calls - before;
}

static void write_file(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(file >= 0);
	assert_int_equal(write(file, "x", 1), 1);
	assert_int_equal(close(file), 0);
}

static int set_up(void **state)
{
	(void)state;
	memset(&world, 0, sizeof world);
	assert_int_equal(scratch_make(world.folder), 0);
	snprintf(world.path, PATH_SIZE, "%s/watched", world.folder);
	snprintf(world.other, PATH_SIZE, "%s/watched.new", world.folder);
	world.loop = os_loop_new();
	world.enough = os_timer_new(world.loop, on_enough, NULL);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	os_file_watch_free(world.watch);
	os_timer_free(world.enough);
	os_loop_free(world.loop);
	return scratch_remove(world.folder);
}

static void watch_name(void)
{
	assert_int_equal(os_file_watch_name(world.loop, world.path, on_change, NULL, &world.watch),
			 0);
}

static void a_name_that_another_file_gets(void **state)
{
	(void)state;
	write_file(world.path);
	watch_name();
	assert_int_equal(calls(), 0);
	write_file(world.other);
	assert_int_equal(calls(), 0); /* not its own */
	assert_int_equal(rename(world.other, world.path), 0);
	assert_int_equal(calls(), 1);
	assert_int_equal(rename(world.path, world.other), 0);
	assert_int_equal(calls(), 0); /* gone: what was read of it stays right */
}

static void a_file_that_is_written(void **state)
{
	(void)state;
	watch_name(); /* it does not exist yet */
	write_file(world.path);
	assert_int_not_equal(calls(), 0);
	write_file(world.path);
	assert_int_not_equal(calls(), 0);
}

static void a_symbolic_link_that_is_made_anew(void **state)
{
	(void)state;
	write_file(world.other);
	watch_name();
	assert_int_equal(symlink(world.other, world.path), 0);
	assert_int_equal(calls(), 1);
}

static void many_other_names_at_once(void **state)
{
	char path[PATH_SIZE];

	(void)state;
	watch_name();
	for (unsigned i = 0; i < 300; i++) {
		snprintf(path, sizeof path, "%s/%u", world.folder, i);
		write_file(path);
	}
	write_file(world.path);
	assert_int_not_equal(calls(), 0);
	for (unsigned i = 0; i < 300; i++) {
		snprintf(path, sizeof path, "%s/%u", world.folder, i);
		write_file(path);
	}
	assert_int_equal(calls(), 0);
}

static void watch_place(void)
{
	assert_int_equal(os_file_watch_place(world.loop, world.path, on_change, NULL, &world.watch),
			 0);
}

static void a_place_where_another_file_comes(void **state)
{
	(void)state;
	watch_place();
	write_file(world.other);
	assert_int_equal(calls(), 0);
	assert_int_equal(rename(world.other, world.path), 0);
	assert_int_not_equal(calls(), 0);
	write_file(world.path);
	assert_int_not_equal(calls(), 0);
	assert_int_equal(truncate(world.path, 0), 0);
	assert_int_not_equal(calls(), 0);
	assert_int_equal(rename(world.path, world.other), 0);
	assert_int_not_equal(calls(), 0);
	assert_int_equal(rename(world.other, world.path), 0);
	assert_int_not_equal(calls(), 0);
	assert_int_equal(unlink(world.path), 0);
	assert_int_not_equal(calls(), 0);
}

static void a_place_whose_directory_moves(void **state)
{
	char moved[PATH_SIZE];

	(void)state;
	write_file(world.path);
	watch_place();
	snprintf(moved, sizeof moved, "%s.moved", world.folder);
	assert_int_equal(rename(world.folder, moved), 0);
	assert_int_not_equal(calls(), 0);
	assert_int_equal(rename(moved, world.folder), 0);
	assert_int_not_equal(calls(), 0);
}

static void what_cannot_be_watched(void **state)
{
	(void)state;
	assert_int_equal(
		os_file_watch_name(world.loop, "/nonexistent/file", on_change, NULL, &world.watch),
		-ENOENT);
	assert_int_equal(os_file_watch_name(world.loop, "file", on_change, NULL, &world.watch),
			 -EINVAL);
	assert_null(world.watch);
}

static void writes_to_a_file(void **state)
{
	(void)state;
	write_file(world.path);
	assert_int_equal(os_file_watch_new(world.loop, world.path, on_change, NULL, &world.watch),
			 0);
	write_file(world.path);
	assert_int_not_equal(calls(), 0);
	write_file(world.path);
	os_file_watch_forget(world.watch);
	assert_int_equal(calls(), 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_name_that_another_file_gets),
		TEST(a_file_that_is_written),
		TEST(a_symbolic_link_that_is_made_anew),
		TEST(many_other_names_at_once),
		TEST(a_place_where_another_file_comes),
		TEST(a_place_whose_directory_moves),
		TEST(what_cannot_be_watched),
		TEST(writes_to_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
