// SPDX-License-Identifier: ISC
/* The simulated disk and the real one: the same calls at random have the same results. */
#include "disk_scene.h"
#include "file_calls.h"
#include "unit/scratch.h"
#include "unit/test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SLOTS = 12, CALLS = 3000, SEEDS = 60, BYTES = 20000, KINDS = 25 };

struct side {
	const struct file_calls *calls;
	int root;
	int files[SLOTS]; /* -1: none */
};

static struct {
	struct side real, world;
	unsigned flags[SLOTS];
	unsigned results; /* that were no errors */
} scene;

static size_t pick(size_t bound)
{
	return (size_t)disk_scene_below(bound);
}

static const char *pick_path(char path[64])
{
	static const char *const folders[] = {"",      "",   "d/",  "d/e/",    "f/",
					      "d/../", "a/", "no/", "d/e/../", "./"};
	static const char *const names[] = {"a", "b", "c", "g", "d", "e", "f", "h", ".", "pipe"};

	snprintf(path, 64, "%s%s", folders[pick(10)], names[pick(10)]);
	return path;
}

static void same(const char *call, const char *what, long real, long world)
{
	if (real != world)
		fail_msg("%s %s: really %ld (%s), in the world %ld (%s)", call, what, real,
			 real < 0 ? strerror((int)-real) : "", world,
			 world < 0 ? strerror((int)-world) : "");
	scene.results += real >= 0;
}

static void do_open(void)
{
	size_t slot = pick(SLOTS);
	char path[64];
	unsigned flags =
		(unsigned)pick(8) | OS_FILE_NO_BLOCK | (pick(2) == 0 ? OS_FILE_PRIVATE : 0);
	bool is_directory = pick(6) == 0;
	int real;
	int world;

	if (scene.real.files[slot] >= 0) {
		real_calls.close(scene.real.files[slot]);
		world_calls.close(scene.world.files[slot]);
		scene.real.files[slot] = scene.world.files[slot] = -1;
	}
	pick_path(path);
	if (is_directory) {
		real = real_calls.open_directory(scene.real.root, path);
		world = world_calls.open_directory(scene.world.root, path);
	} else {
		real = real_calls.open(scene.real.root, path, flags);
		world = world_calls.open(scene.world.root, path, flags);
	}
	same("open", path, real < 0 ? real : 0, world < 0 ? world : 0);
	scene.real.files[slot] = real < 0 ? -1 : real;
	scene.world.files[slot] = world < 0 ? -1 : world;
	scene.flags[slot] = is_directory ? 0 : flags;
}

static void compare_bytes(int real, int world)
{
	static char is[BYTES], should_be[BYTES];
	uint64_t offset = pick(4) == 0 ? pick(BYTES) : 0;
	size_t size = 1 + pick(BYTES);
	ssize_t count = real_calls.read(real, should_be, size, offset);

	same("read", "", count, world_calls.read(world, is, size, offset));
	if (count > 0)
		assert_memory_equal(is, should_be, (size_t)count);
}

static void compare_info(const char *what, int real_result, const struct os_file_info *real,
			 int world_result, const struct os_file_info *world)
{
	same("info", what, real_result, world_result);
	if (real_result < 0)
		return;
	assert_int_equal(real->mode, world->mode);
	assert_int_equal(real->is_directory, world->is_directory);
	assert_int_equal(real->owner, world->owner);
	if (real->is_directory)
		return;
	assert_int_equal(real->size, world->size);
	assert_int_equal(real->links, world->links);
}

static bool is_regular(int file)
{
	struct os_file_info info;

	return real_calls.info(file, &info) == 0 && S_ISREG(info.mode);
}

static void do_file(size_t kind)
{
	static char bytes[BYTES];
	size_t slot = pick(SLOTS);
	int real = scene.real.files[slot];
	int world = scene.world.files[slot];
	bool can_write = (scene.flags[slot] & OS_FILE_WRITE) != 0;
	uint64_t offset = pick(3) == 0 ? pick(BYTES) : pick(2) * 4096;
	size_t size = pick(3) == 0 ? pick(BYTES) : pick(600);
	struct os_file_info infos[2];
	int results[2];

	if (real < 0)
		return;
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(kind * size + i);
	switch (kind) {
	case 0:
		compare_bytes(real, world);
		return;
	case 1:
		if (is_regular(real) || !can_write)
			same("write", "", real_calls.write(real, bytes, size, offset),
			     world_calls.write(world, bytes, size, offset));
		return;
	case 2: /* of a pipe the kernel has the bytes */
		if (is_regular(real))
			same("append", "", real_calls.append(real, bytes, size),
			     world_calls.append(world, bytes, size));
		return;
	case 3:
		same("truncate", "", real_calls.truncate(real, offset),
		     world_calls.truncate(world, offset));
		return;
	case 4:
		same("sync", "", real_calls.sync(real), world_calls.sync(world));
		return;
	case 5:
		real_calls.write_out_many(&real, 1, &results[0]);
		world_calls.write_out_many(&world, 1, &results[1]);
		same("write out", "", results[0], results[1]);
		return;
	case 6:
		if (can_write)
			same("elsewhere", "", real_calls.is_open_elsewhere(real),
			     world_calls.is_open_elsewhere(world));
		else
			same("writers", "", real_calls.has_writers(real),
			     world_calls.has_writers(world));
		return;
	case 7:
		results[0] = real_calls.info(real, &infos[0]);
		results[1] = world_calls.info(world, &infos[1]);
		compare_info("", results[0], &infos[0], results[1], &infos[1]);
		return;
	default:
		same("lock", "", real_calls.lock(real), world_calls.lock(world));
	}
}

/* Locks on single bytes; a descriptor that is not of a regular file's has none. */
static void do_range(size_t kind)
{
	size_t slot = pick(SLOTS);
	int real = scene.real.files[slot];
	int world = scene.world.files[slot];
	uint64_t offset = pick(2) == 0 ? pick(3) : (uint64_t)INT64_MAX - pick(2);
	int processes[2] = {-1, -1};

	if (real < 0 || !is_regular(real))
		return;
	if (kind < 4) {
		same("range lock", "", real_calls.range_lock(real, offset),
		     world_calls.range_lock(world, offset));
	} else if (kind < 6) {
		same("range holder", "", real_calls.range_holder(real, offset, &processes[0]),
		     world_calls.range_holder(world, offset, &processes[1]));
		assert_int_equal(processes[0], processes[1]);
	} else if (kind < 7) {
		real_calls.range_unlock(real, offset);
		world_calls.range_unlock(world, offset);
	} else {
		real_calls.range_unlock_all(real);
		world_calls.range_unlock_all(world);
	}
}

struct names {
	char *names[64];
	size_t count;
};

static int note(void *context, const char *name)
{
	struct names *names = context;

	assert_true(names->count < 64);
	names->names[names->count++] = strdup(name);
	return 0;
}

static int by_text(const void *one, const void *other)
{
	return strcmp(*(char *const *)one, *(char *const *)other);
}

static void compare_lists(const char *path)
{
	struct names real = {0};
	struct names world = {0};

	same("list", path, real_calls.list(scene.real.root, path, note, &real),
	     world_calls.list(scene.world.root, path, note, &world));
	assert_int_equal(real.count, world.count);
	qsort(real.names, real.count, sizeof(char *), by_text);
	qsort(world.names, world.count, sizeof(char *), by_text);
	for (size_t i = 0; i < real.count; i++) {
		assert_string_equal(real.names[i], world.names[i]);
		free(real.names[i]);
		free(world.names[i]);
	}
}

/* What begins or ends with a dot has errors of which no caller hangs on which one it is. */
static bool is_odd(const char *path)
{
	size_t length = strlen(path);

	return path[length - 1] == '.';
}

static void do_names(size_t kind)
{
	char path[64];
	char to[64];
	int real = scene.real.root;
	int world = scene.world.root;
	struct os_file_info infos[2];
	int results[2];

	pick_path(path);
	pick_path(to);
	switch (kind) {
	case 0: /* seldom: nothing removes one */
		if (pick(8) > 0)
			return;
		same("make", path, real_calls.make_directory(real, path),
		     world_calls.make_directory(world, path));
		return;
	case 1:
		same("pipe", path, real_calls.make_pipe(real, path),
		     world_calls.make_pipe(world, path));
		return;
	case 2:
		results[0] = real_calls.info_at(real, path, &infos[0]);
		results[1] = world_calls.info_at(world, path, &infos[1]);
		compare_info(path, results[0], &infos[0], results[1], &infos[1]);
		return;
	case 3:
		compare_lists(path);
		return;
	case 4:
		same("sync directory", path, real_calls.sync_directory(real, path),
		     world_calls.sync_directory(world, path));
		return;
	case 5:
		if (!is_odd(path))
			same("unlink", path, real_calls.unlink(real, path),
			     world_calls.unlink(world, path));
		return;
	default:
		break;
	}
	if (is_odd(path) || is_odd(to))
		return;
	if (kind < 9)
		same("link", path, real_calls.link(real, path, to),
		     world_calls.link(world, path, to));
	else if (kind < 11)
		same("rename", path, real_calls.rename(real, path, to),
		     world_calls.rename(world, path, to));
	else
		same("rename new", path, real_calls.rename_new(real, path, to),
		     world_calls.rename_new(world, path, to));
}

static void test_same(void **state)
{
	static const char *const folders[] = {"d", "d/e", "f"};

	(void)state;
	umask(0);
	for (uint64_t seed = 1; seed <= SEEDS; seed++) {
		char folder[SCRATCH_SIZE];
		struct disk_options plan = {.keeps_order = seed % 2 == 0};

		memset(&scene, 0, sizeof scene);
		assert_int_equal(scratch_make(folder), 0);
		assert_int_equal(chmod(folder, 0755), 0); /* as the root in the world */
		disk_scene_begin(seed, &plan);
		scene.real.root = real_calls.open_directory(OS_FILE_HERE, folder);
		scene.world.root = world_calls.open_directory(OS_FILE_HERE, "/");
		memset(scene.real.files, -1, sizeof scene.real.files);
		memset(scene.world.files, -1, sizeof scene.world.files);
		for (size_t i = 0; i < COUNT_OF(folders); i++) {
			assert_int_equal(real_calls.make_directory(scene.real.root, folders[i]), 0);
			assert_int_equal(world_calls.make_directory(scene.world.root, folders[i]),
					 0);
		}
		for (unsigned i = 0; i < CALLS; i++) {
			size_t kind = pick(KINDS);

			if (kind < 4)
				do_open();
			else if (kind < 18)
				do_file(pick(9));
			else if (kind < 21)
				do_range(pick(8));
			else
				do_names(pick(12));
		}
		assert_true(scene.results > CALLS / 20);
		for (size_t i = 0; i < SLOTS; i++)
			real_calls.close(scene.real.files[i]);
		real_calls.close(scene.real.root);
		disk_scene_end();
		assert_int_equal(scratch_remove(folder), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_same)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
