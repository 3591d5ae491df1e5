// SPDX-License-Identifier: ISC
/* What a Maildir holds, against a plain count: any folders and names, and each call of the disk
 * fails once. Nothing is left in tmp/, nobody's mail waits for a disk, and what is kept is never
 * less than is there. */
#include "chance.h"
#include "mailbox/quota.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { TURNS = 60 };

static char root[SCRATCH_SIZE];

/* --- the disk --- */

static struct {
	int calls, chosen; /* the number of the one that fails; -1: none */
	const char *failed;
	void (*during)(void); /* once, after cur/ was listed */
} disk;

static bool does_fail(const char *name)
{
	if (disk.calls++ != disk.chosen)
		return false;
	disk.failed = name;
	return true;
}

#define DISK_CALL(type, name, parameters, arguments)                                    \
	type __real_os_file_##name parameters;                                          \
	type __wrap_os_file_##name parameters;                                          \
	type __wrap_os_file_##name parameters                                           \
	{                                                                               \
		return does_fail(#name) ? (type)-EIO : __real_os_file_##name arguments; \
	}

DISK_CALL(int, open, (int folder, const char *path, unsigned flags), (folder, path, flags))
DISK_CALL(ssize_t, read, (int file, void *data, size_t size, uint64_t offset),
	  (file, data, size, offset))
DISK_CALL(int, write, (int file, const void *data, size_t size, uint64_t offset),
	  (file, data, size, offset))
DISK_CALL(int, append, (int file, const void *data, size_t size), (file, data, size))
DISK_CALL(int, info, (int file, struct os_file_info *out), (file, out))
DISK_CALL(int, info_at, (int folder, const char *path, struct os_file_info *out),
	  (folder, path, out))
DISK_CALL(int, rename, (int folder, const char *from, const char *to), (folder, from, to))
DISK_CALL(int, unlink, (int folder, const char *path), (folder, path))

int __real_os_file_list(int folder, const char *path, int (*each)(void *context, const char *name),
			void *context);
int __wrap_os_file_list(int folder, const char *path, int (*each)(void *context, const char *name),
			void *context);
int __wrap_os_file_list(int folder, const char *path, int (*each)(void *context, const char *name),
			void *context)
{
	void (*during)(void) = disk.during;
	int result = does_fail("list") ? -EIO : __real_os_file_list(folder, path, each, context);

	if (during != NULL && strstr(path, "/./cur") != NULL) {
		disk.during = NULL;
		during();
	}
	return result;
}

/* --- a Maildir, and what is in it --- */

static int64_t bytes_there, messages_there;

static void make_name(const char *name, const char *text)
{
	char path[SCRATCH_SIZE + 300];
	FILE *file;

	snprintf(path, sizeof path, "%s/%s", root, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make_folder(const char *name)
{
	char path[SCRATCH_SIZE + 100];

	snprintf(path, sizeof path, "%s/%s", root, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

/* A file that counts, or not. */
static void make_message(const char *folder, unsigned number, bool counts)
{
	unsigned size = (unsigned)chance(2000);
	char name[200];

	switch (chance(5)) {
	case 0:
		snprintf(name, sizeof name, "%s/%u.host,S=%u,W=%u:2,S", folder, number, size,
			 size + 10);
		make_name(name, "x");
		break;
	case 1:
		snprintf(name, sizeof name, "%s/%u.host,S=-5", folder, number);
		size = 3;
		make_name(name, "abc");
		break;
	case 2: /* more digits than a number has */
		snprintf(name, sizeof name, "%s/%u.host,S=1234567890123456789", folder, number);
		size = 4;
		make_name(name, "abcd");
		break;
	case 3:
		snprintf(name, sizeof name, "%s/.%u.host,S=%u", folder, number, size);
		make_name(name, "hidden");
		counts = false;
		break;
	default:
		snprintf(name, sizeof name, "%s/%u.host", folder, number);
		size = 5;
		make_name(name, "abcde");
	}
	bytes_there += counts ? size : 0;
	messages_there += counts;
}

/* Folders of Maildir++, one without new/, others that are none. */
static void make_maildir(void)
{
	static const struct {
		const char *name;
		bool counts;
	} folders[] = {{"new", true},        {"cur", true},        {"tmp", false},
		       {".Sent", false},     {".Sent/new", true},  {".Sent/cur", true},
		       {".Sent/tmp", false}, {".Half", false},     {".Half/cur", true},
		       {"other", false},     {"other/cur", false}, {".Empty", false}};

	assert_int_equal(scratch_make(root), 0);
	bytes_there = messages_there = 0;
	for (size_t i = 0; i < COUNT_OF(folders); i++) {
		make_folder(folders[i].name);
		for (size_t n = chance(4); n > 0 && strlen(folders[i].name) > 2; n--)
			if (strcmp(folders[i].name, ".Sent") != 0)
				make_message(folders[i].name, (unsigned)n, folders[i].counts);
	}
	make_name(".file", "no folder");
}

/* What the file says: false, if there is none. */
static bool read_kept(const char *quota, int64_t *bytes_out, int64_t *messages_out)
{
	char path[SCRATCH_SIZE + 20], line[100];
	long long bytes, messages;
	FILE *file;

	snprintf(path, sizeof path, "%s/maildirsize", root);
	file = fopen(path, "r");
	if (file == NULL)
		return false;
	assert_non_null(fgets(line, sizeof line, file));
	assert_string_equal(line, quota);
	*bytes_out = *messages_out = 0;
	while (fgets(line, sizeof line, file) != NULL) {
		assert_int_equal(sscanf(line, "%lld %lld", &bytes, &messages), 2);
		*bytes_out += bytes;
		*messages_out += messages;
	}
	fclose(file);
	return true;
}

static size_t count_in_tmp(void)
{
	char path[SCRATCH_SIZE + 20];
	size_t count = 0;
	const struct dirent *entry;
	DIR *list;

	snprintf(path, sizeof path, "%s/tmp", root);
	list = opendir(path);
	assert_non_null(list);
	while ((entry = readdir(list)) != NULL)
		count += strncmp(entry->d_name, "maildirsize", 11) == 0;
	closedir(list);
	return count;
}

/* One message in the quota, and another one, with a file of counts or without; CALL fails. How many
 * calls there were. */
static int take_two(int call, bool has_file)
{
	struct mail_quota quota = {.bytes = (uint64_t)bytes_there + 1000,
				   .messages = (uint64_t)messages_there + 5};
	int64_t bytes = 0, messages = 0;
	char first[100];
	int result;

	snprintf(first, sizeof first, "%lluS,%lluC\n", (unsigned long long)quota.bytes,
		 (unsigned long long)quota.messages);
	disk.chosen = -1;
	if (has_file)
		assert_int_equal(maildir_quota_take(str_from(root), &quota, 0), 0);
	disk.calls = 0;
	disk.chosen = call;
	disk.failed = NULL;
	result = maildir_quota_take(str_from(root), &quota, 900);
	assert_int_equal(result, 0); /* there is room, or nobody knows */
	if (disk.failed == NULL || strcmp(disk.failed, "unlink") != 0)
		assert_int_equal(count_in_tmp(), 0);
	if (disk.failed == NULL) {
		assert_true(read_kept(first, &bytes, &messages));
		assert_int_equal(bytes, bytes_there + 900);
		assert_int_equal(messages, messages_there + 1 + has_file);
	}
	return disk.calls;
}

static void remove_kept(void)
{
	char path[SCRATCH_SIZE + 20];

	snprintf(path, sizeof path, "%s/maildirsize", root);
	(void)unlink(path);
}

static void each_call_fails_once(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		bool has_file = turn % 2 == 1;
		int calls;

		make_maildir();
		calls = take_two(-1, has_file);
		for (int call = 0; call < calls; call++) {
			remove_kept();
			(void)take_two(call, has_file);
		}
		assert_int_equal(scratch_remove(root), 0);
	}
}

/* By one byte, by one message. */
static void exactly_what_fits(void **state)
{
	(void)state;
	disk.chosen = -1;
	for (unsigned turn = 0; turn < TURNS; turn++) {
		struct mail_quota quota = {0};
		uint64_t size = chance(500);
		bool by_bytes = turn % 2 == 0;

		make_maildir();
		if (by_bytes)
			quota.bytes = (uint64_t)bytes_there + size + 1;
		else
			quota.messages = (uint64_t)messages_there + 1;
		if (by_bytes) {
			assert_int_equal(maildir_quota_take(str_from(root), &quota, size + 2),
					 bytes_there > 0 ? -EDQUOT : -EMSGSIZE);
			assert_int_equal(maildir_quota_take(str_from(root), &quota, size), 0);
			assert_int_equal(maildir_quota_take(str_from(root), &quota, 1), 0);
		} else {
			assert_int_equal(maildir_quota_take(str_from(root), &quota, size), 0);
		}
		/* which are recounted: nothing of it is there */
		assert_int_equal(maildir_quota_take(str_from(root), &quota, by_bytes), 0);
		assert_int_equal(scratch_remove(root), 0);
	}
}

static void come_meanwhile(void)
{
	char path[SCRATCH_SIZE + 20];
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};

	make_name("cur/99.host,S=7", "x");
	snprintf(path, sizeof path, "%s/cur", root);
	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* A count is not kept if something came or went while it was made. */
static void what_changes_meanwhile(void **state)
{
	const struct mail_quota quota = {.bytes = 1000000};
	int64_t bytes, messages;

	(void)state;
	disk.chosen = -1;
	make_maildir();
	disk.during = come_meanwhile;
	assert_int_equal(maildir_quota_take(str_from(root), &quota, 1), 0);
	assert_false(read_kept("1000000S\n", &bytes, &messages));
	assert_int_equal(maildir_quota_take(str_from(root), &quota, 1), 0);
	assert_true(read_kept("1000000S\n", &bytes, &messages));
	assert_int_equal(bytes, bytes_there + 7 + 1);
	assert_int_equal(messages, messages_there + 2);
	assert_int_equal(scratch_remove(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_fails_once),
		cmocka_unit_test(exactly_what_fits),
		cmocka_unit_test(what_changes_meanwhile),
	};

	alarm(60);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
