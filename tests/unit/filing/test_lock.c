// SPDX-License-Identifier: ISC
/* Names of locks, and locks of the processes of one machine. */
#include "filing/lock/file.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE];
static char path[SCRATCH_SIZE + 10];

static int set_up(void **state)
{
	(void)state;
	if (scratch_make(folder) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/lock", folder);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

static void a_name_is_a_digest(void **state)
{
	struct lock_name name;
	struct lock_name other;

	(void)state;
	lock_name_make(STR("abc"), &name);
	assert_string_equal(name.text,
			    "stagepost/ba7816bf8f01cfea414140de5dae2223b00361a396177a9c");
	assert_int_equal(strlen(name.text) + 1, sizeof "stagepost/" - 1 + 48 + 1);
	assert_true(name.key == 0xba7816bf8f01cfea);
	lock_name_make(STR("abC"), &other);
	assert_string_not_equal(name.text, other.text);
	lock_name_make(STR("a\0b"), &name);
	lock_name_make(STR("a\0c"), &other);
	assert_true(name.key != other.key);
}

static void one_opening_has_a_name(void **state)
{
	struct lock_name name = {.key = UINT64_MAX};
	struct lock_name neighbour = {.key = UINT64_MAX - 2};
	struct lock_file *a, *b;
	int process;

	(void)state;
	assert_int_equal(lock_file_open(path, &a), 0);
	assert_int_equal(lock_file_open(path, &b), 0);
	assert_int_equal(lock_file_holder(b, &name, &process), -ENOENT);
	assert_int_equal(lock_file_take(a, &name), 0);
	assert_int_equal(lock_file_take(a, &name), 0);
	assert_int_equal(lock_file_take(b, &name), -EAGAIN);
	assert_int_equal(lock_file_take(b, &neighbour), 0);
	assert_int_equal(lock_file_holder(b, &name, &process), 0);
	lock_file_release_all(a);
	assert_int_equal(lock_file_take(b, &name), 0);
	assert_int_equal(lock_file_take(a, &name), -EAGAIN);
	lock_file_close(b);
	assert_int_equal(lock_file_take(a, &name), 0);
	lock_file_close(a);
}

static void a_file_that_lost_its_name_is_noticed(void **state)
{
	struct lock_file *a, *b;

	(void)state;
	assert_int_equal(lock_file_open(path, &a), 0);
	assert_true(lock_file_is_there(a));
	assert_int_equal(unlink(path), 0);
	assert_false(lock_file_is_there(a));
	assert_int_equal(lock_file_open(path, &b), 0);
	assert_false(lock_file_is_there(a));
	assert_true(lock_file_is_there(b));
	lock_file_close(a);
	lock_file_close(b);
}

static void a_folder_is_no_file(void **state)
{
	struct lock_file *file = NULL;

	(void)state;
	assert_true(lock_file_open(folder, &file) < 0);
	assert_null(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_a_digest),
		cmocka_unit_test_setup_teardown(one_opening_has_a_name, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_lost_its_name_is_noticed, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_folder_is_no_file, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
