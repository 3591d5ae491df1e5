// SPDX-License-Identifier: ISC
/* What deliveries that were interrupted have left in tmp/ goes, once in 36 hours, a thousand names
 * at a time: any folder, in the memory of this test. */
#include "base/timestamp.h"
#include "chance.h"
#include "mailbox/internal.h"
#include "os/clock.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { NAMES_MAX = 2600, AT_ONCE = 1000 };

static const int64_t OLD_US = 36 * HOUR_US;

static struct {
	int64_t now_us;
	struct name {
		char name[20];
		int64_t modified_us;
		bool is_directory, is_gone, is_invisible; /* it vanishes before it is looked at */
	} names[NAMES_MAX];
	size_t count;
	unsigned listed;
	bool is_missing, is_read_only;
} folder;

int64_t __wrap_os_clock_wall_us(void);
int64_t __wrap_os_clock_wall_us(void)
{
	return folder.now_us;
}

int __wrap_os_file_list(int directory, const char *path,
			int (*each)(void *context, const char *name), void *context);
int __wrap_os_file_list(int directory, const char *path,
			int (*each)(void *context, const char *name), void *context)
{
	int result = folder.is_missing ? -ENOENT : 0;

	assert_int_equal(directory, OS_FILE_HERE);
	assert_string_equal(path, "/m/tmp");
	folder.listed++;
	for (size_t i = 0; i < folder.count && result == 0; i++)
		if (!folder.names[i].is_gone)
			result = each(context, folder.names[i].name);
	return result;
}

static struct name *name_of(const char *path)
{
	unsigned i;

	assert_memory_equal(path, "/m/tmp/", 7);
	assert_int_equal(sscanf(path + 7 + (path[7] == '.'), "n%u", &i), 1);
	assert_true(i < folder.count);
	return &folder.names[i];
}

int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out);
int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	const struct name *name = name_of(path);

	assert_int_equal(directory, OS_FILE_HERE);
	*info_out = (struct os_file_info){.is_directory = name->is_directory,
					  .modified_us = name->modified_us};
	return name->is_invisible ? -ENOENT : 0;
}

int __wrap_os_file_unlink(int directory, const char *path);
int __wrap_os_file_unlink(int directory, const char *path)
{
	assert_int_equal(directory, OS_FILE_HERE);
	assert_true(path[7] != '.');
	if (folder.is_read_only)
		return -EROFS;
	name_of(path)->is_gone = true;
	return 0;
}

static void make_folder_of(size_t count)
{
	memset(&folder.names, 0, sizeof folder.names);
	folder.count = count;
	for (size_t i = 0; i < count; i++) {
		struct name *name = &folder.names[i];
		size_t age = chance(6);

		snprintf(name->name, sizeof name->name, "%sn%zu", chance(10) == 0 ? "." : "", i);
		/* at the bound, a moment before and after, and long ago */
		name->modified_us = folder.now_us - OLD_US + (age < 3 ? (int64_t)age - 1 : 0);
		if (age >= 3)
			name->modified_us -= (int64_t)chance(2) * HOUR_US;
		name->is_directory = chance(10) == 0;
		name->is_invisible = chance(20) == 0;
	}
}

static bool is_rubbish(const struct name *name)
{
	return name->name[0] != '.' && !name->is_directory && !name->is_invisible &&
	       name->modified_us < folder.now_us - OLD_US;
}

/* Of the first thousand that are there exactly the rubbish goes; whether there may be more. */
static bool expect_cleaned(bool *is_rubbish_gone)
{
	size_t seen = 0, removed = 0;

	for (size_t i = 0; i < folder.count; i++) {
		if (folder.names[i].is_gone)
			continue;
		if (seen++ == AT_ONCE)
			return removed > 0;
		is_rubbish_gone[i] = is_rubbish(&folder.names[i]);
		removed += is_rubbish_gone[i];
	}
	return false;
}

static void rubbish_goes(void **state)
{
	static const size_t sizes[] = {0, 1, 5, 999, 1000, 1001, 1500, 2500};
	static struct maildir_cleaned slots[MAILDIR_CLEAN_SLOTS];
	struct maildir maildir = {.cleaned = slots};

	(void)state;
	folder.now_us = 1000 * OLD_US;
	for (unsigned turn = 0; turn < 300; turn++) {
		bool is_due = true, is_nearly_due = false;

		make_folder_of(sizes[turn % COUNT_OF(sizes)]);
		folder.is_missing = turn % 29 == 7;
		folder.is_read_only = turn % 31 == 5;
		for (unsigned call = 0; call < 8; call++) {
			bool goes[NAMES_MAX] = {false}, is_more = false, was_gone[NAMES_MAX];

			for (size_t i = 0; i < folder.count; i++)
				was_gone[i] = folder.names[i].is_gone;
			if (is_due && !folder.is_missing && !folder.is_read_only)
				is_more = expect_cleaned(goes);
			folder.listed = 0;
			maildir_clean(&maildir, STR("/m"));
			assert_int_equal(folder.listed, is_due);
			for (size_t i = 0; i < folder.count; i++)
				assert_int_equal(folder.names[i].is_gone, was_gone[i] || goes[i]);
			is_due = is_more;
			/* a moment before it is due again, and then */
			if (is_nearly_due) {
				folder.now_us++;
				is_due = true;
				is_nearly_due = false;
			} else if (!is_due && call == 4) {
				folder.now_us += OLD_US - 1;
				is_nearly_due = true;
			}
		}
		folder.now_us += 2 * OLD_US;
	}
}

/* Each Maildir has its own time, as long as few are known. */
static void each_maildir_has_its_time(void **state)
{
	static struct maildir_cleaned slots[MAILDIR_CLEAN_SLOTS];
	struct maildir maildir = {.cleaned = slots};

	(void)state;
	folder.count = 0;
	folder.is_missing = folder.is_read_only = false;
	folder.listed = 0;
	maildir_clean(&maildir, STR("/m"));
	assert_int_equal(folder.listed, 1);
	slots[0].path ^= 1; /* of another one that has come there */
	for (size_t i = 0; i < MAILDIR_CLEAN_SLOTS; i++)
		slots[i].path ^= 1;
	maildir_clean(&maildir, STR("/m"));
	assert_int_equal(folder.listed, 2);
}

/* A path and a NUL fit exactly, or do not. */
static void paths_as_long_as_they_may_be(void **state)
{
	static char path[MAILDIR_PATH_MAX + 10];
	struct maildir_path joined;

	(void)state;
	memset(path, 'p', sizeof path - 1);
	for (size_t length = MAILDIR_PATH_MAX - 20; length < MAILDIR_PATH_MAX + 5; length++) {
		struct str start = str_slice(path, length);

		assert_int_equal(maildir_path_join(&joined, start, "tmp", NULL),
				 length + 4 < MAILDIR_PATH_MAX ? 0 : -ENAMETOOLONG);
		assert_int_equal(maildir_path_join(&joined, start, "new", "name"),
				 length + 9 < MAILDIR_PATH_MAX ? 0 : -ENAMETOOLONG);
		if (length + 9 < MAILDIR_PATH_MAX)
			assert_string_equal(joined.text + length, "/new/name");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rubbish_goes),
		cmocka_unit_test(each_maildir_has_its_time),
		cmocka_unit_test(paths_as_long_as_they_may_be),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
