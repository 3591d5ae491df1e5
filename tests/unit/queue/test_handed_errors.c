// SPDX-License-Identifier: ISC
/* Which error of the disk is said of a package: "it is not here" only before it has a name. */
#include "handed_scene.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>

/* What the next call of each kind fails with; 0: nothing. */
static struct {
	int link, rename, sync;
	int aside; /* the rename that takes it out of todo/ again */
} fails;

static int take_error(int *error)
{
	int taken = *error;

	*error = 0;
	return taken;
}

int real_link(int directory, const char *from, const char *to) __asm__("__real_os_file_link");
int wrap_link(int directory, const char *from, const char *to) __asm__("__wrap_os_file_link");
int wrap_link(int directory, const char *from, const char *to)
{
	int error = take_error(&fails.link);

	return error != 0 ? error : real_link(directory, from, to);
}

int real_rename(int directory, const char *from,
		const char *to) __asm__("__real_os_file_rename_new");
int wrap_rename(int directory, const char *from,
		const char *to) __asm__("__wrap_os_file_rename_new");
int wrap_rename(int directory, const char *from, const char *to)
{
	int error = take_error(&fails.rename);

	return error != 0 ? error : real_rename(directory, from, to);
}

int real_aside(int directory, const char *from, const char *to) __asm__("__real_os_file_rename");
int wrap_aside(int directory, const char *from, const char *to) __asm__("__wrap_os_file_rename");
int wrap_aside(int directory, const char *from, const char *to)
{
	int error = take_error(&fails.aside);

	return error != 0 ? error : real_aside(directory, from, to);
}

void real_sync(const int *files, size_t count,
	       int *results) __asm__("__real_os_file_sync_directories");
void wrap_sync(const int *files, size_t count,
	       int *results) __asm__("__wrap_os_file_sync_directories");
void wrap_sync(const int *files, size_t count, int *results)
{
	int error = take_error(&fails.sync);

	real_sync(files, count, results);
	for (size_t i = 0; i < count && error != 0; i++)
		results[i] = error;
}

struct failure {
	int link, rename, sync;
	int said;
	int aside;
};

static void check_failure(enum queue_sync sync, const struct failure *failure)
{
	void *state = NULL;
	uint64_t number;

	assert_int_equal(queue_scene_set_up(&state), 0);
	handed_scene_open(sync);
	assert_int_equal(handed_scene_greet(7), 0);
	fails.link = failure->link;
	fails.rename = failure->rename;
	fails.sync = failure->sync;
	fails.aside = failure->aside;
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), failure->said);
	fails.aside = 0;
	if (failure->aside == 0)
		assert_false(handed_scene_is_queued(number));
	/* nothing else happens here that would try to take it out again */
	assert_int_equal(handed_scene_greet(8), 0);
	assert_string_equal(handed_scene_kept(), "");
	assert_string_equal(handed_scene_names(), "run.1.8 ");
	assert_int_equal(handed_scene_take("1-1", "data", NULL, &number), 0);
	handed_scene_close();
	assert_int_equal(queue_scene_tear_down(&state), 0);
}

static void only_before_it_has_a_name_it_is_denied(void **state)
{
	static const struct failure failures[] = {
		{.link = -ENOSPC, .said = -ENOSPC},  {.link = -EDQUOT, .said = -EDQUOT},
		{.link = -EEXIST, .said = -EUCLEAN}, {.link = -EIO, .said = -EIO},
		{.rename = -ENOSPC, .said = -EIO},   {.rename = -EDQUOT, .said = -EIO},
		{.rename = -EMFILE, .said = -EIO},   {.rename = -EEXIST, .said = -EUCLEAN},
		{.sync = -ENOSPC, .said = -EIO},     {.sync = -EROFS, .said = -EROFS},
		{.sync = -EIO, .aside = -EIO, .said = -EIO},
		{.sync = -EIO, .aside = -ENOSPC, .said = -EIO},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(failures); i++) {
		check_failure(QUEUE_SYNC_FILES, &failures[i]);
		check_failure(QUEUE_SYNC_ORDERED, &failures[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_before_it_has_a_name_it_is_denied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
