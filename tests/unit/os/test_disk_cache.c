// SPDX-License-Identifier: ISC
/* A disk_cache: what it reads again, and what stands in the way of that. */
#include "base/buffer.h"
#include "os/disk_cache/disk_cache.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

enum { SIZE_MOST = 16 };

struct found {
	unsigned count;
	bool has_small;
	bool has_large; /* as one without text */
};

static void take(void *context, struct str name, struct str text)
{
	struct found *found = context;

	found->count++;
	if (str_equal(name, STR("small.test")))
		found->has_small = str_equal(text, STR("a\nb\n"));
	if (str_equal(name, STR("large.test")))
		found->has_large = text.data == NULL;
}

static void fill(struct os_loop *loop, const char *path)
{
	struct disk_cache *disk_cache;

	assert_int_equal(disk_cache_open(loop, path, &disk_cache), 0);
	disk_cache_put(disk_cache, STR("small.test"), STR("old"));
	disk_cache_put(disk_cache, STR("gone.test"), STR("text"));
	disk_cache_put(disk_cache, STR("large.test"), STR("more than the sixteen bytes"));
	disk_cache_put(disk_cache, STR("small.test"), STR("a\nb\n"));
	disk_cache_remove(disk_cache, STR("gone.test"));
	disk_cache_close(disk_cache);
}

static void files_are_there_again(void **state)
{
	struct os_loop *loop = os_loop_new();
	char path[SCRATCH_SIZE];
	struct found found = {0};
	struct disk_cache *disk_cache;

	(void)state;
	assert_int_equal(scratch_make(path), 0);
	fill(loop, path);
	assert_int_equal(disk_cache_open(loop, path, &disk_cache), 0);
	assert_int_equal(disk_cache_each(disk_cache, SIZE_MOST, take, &found), 0);
	disk_cache_close(disk_cache);
	assert_true(found.count == 2 && found.has_small && found.has_large);
	os_loop_free(loop);
	assert_int_equal(scratch_remove(path), 0);
}

/* Whichever of them comes first. */
static void one_that_cannot_be_read_does_not_hide_others(void **state)
{
	struct os_loop *loop = os_loop_new();
	char path[SCRATCH_SIZE];
	char odd[SCRATCH_SIZE + 16];
	struct found found = {0};
	struct disk_cache *disk_cache;

	(void)state;
	assert_int_equal(scratch_make(path), 0);
	fill(loop, path);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(odd, sizeof odd, "%s/odd%u.test", path, i);
		assert_int_equal(symlink("/nowhere", odd), 0);
	}
	assert_int_equal(disk_cache_open(loop, path, &disk_cache), 0);
	assert_int_equal(disk_cache_each(disk_cache, SIZE_MOST, take, &found), -ELOOP);
	disk_cache_close(disk_cache);
	assert_true(found.count == 2 && found.has_small && found.has_large);
	os_loop_free(loop);
	assert_int_equal(scratch_remove(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_there_again),
		cmocka_unit_test(one_that_cannot_be_read_does_not_hide_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
