// SPDX-License-Identifier: ISC
/* A shelf: what it reads again, and what stands in the way of that. */
#include "base/buffer.h"
#include "os/file/file.h"
#include "os/shelf/shelf.h"
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
	struct shelf *shelf;

	assert_int_equal(shelf_open(loop, path, &shelf), 0);
	shelf_put(shelf, STR("small.test"), STR("old"));
	shelf_put(shelf, STR("gone.test"), STR("text"));
	shelf_put(shelf, STR("large.test"), STR("more than the sixteen bytes"));
	shelf_put(shelf, STR("small.test"), STR("a\nb\n"));
	shelf_remove(shelf, STR("gone.test"));
	shelf_close(shelf);
}

static void files_are_there_again(void **state)
{
	struct os_loop *loop = os_loop_new();
	char path[SCRATCH_SIZE];
	struct found found = {0};
	struct shelf *shelf;

	(void)state;
	assert_int_equal(scratch_make(path), 0);
	fill(loop, path);
	assert_int_equal(shelf_open(loop, path, &shelf), 0);
	assert_int_equal(shelf_each(shelf, SIZE_MOST, take, &found), 0);
	shelf_close(shelf);
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
	struct shelf *shelf;

	(void)state;
	assert_int_equal(scratch_make(path), 0);
	fill(loop, path);
	for (unsigned i = 0; i < 8; i++) {
		snprintf(odd, sizeof odd, "%s/odd%u.test", path, i);
		assert_int_equal(symlink("/nowhere", odd), 0);
	}
	assert_int_equal(shelf_open(loop, path, &shelf), 0);
	assert_int_equal(shelf_each(shelf, SIZE_MOST, take, &found), -ELOOP);
	shelf_close(shelf);
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
