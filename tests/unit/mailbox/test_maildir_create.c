// SPDX-License-Identifier: ISC
/*
 * Maildirs are made durably: any path, with any part of it there already, and each call of the disk
 * fails once. The disk is a list of directories, each with a name that is durable or not.
 */
#include "chance.h"
#include "mailbox/internal.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTORIES_MAX = 24, NAME_MOST = 80, TURNS = 400 };

static struct disk {
	struct directory {
		char path[NAME_MOST]; /* "/a/b", or "a/b"; "" or "/": the first */
		bool is_durable;
	} list[DIRECTORIES_MAX];
	size_t count;
	bool has_mark; /* maildirfolder */
	int calls, fails_at, error;
	const char *failed;
} disk;

/* Without slashes that say nothing. */
static void normalise(const char *path, char out[NAME_MOST])
{
	size_t used = 0;

	for (size_t i = 0; path[i] != '\0'; i++) {
		bool says_nothing = path[i] == '/' && (path[i + 1] == '/' || path[i + 1] == '\0');

		assert_true(used + 1 < NAME_MOST);
		if (!says_nothing || used + i == 0)
			out[used++] = path[i];
	}
	if (used > 1 && out[0] == '/' && out[1] == '/')
		memmove(out, out + 1, used--);
	out[used] = '\0';
}

static struct directory *directory_at(const char *path)
{
	char name[NAME_MOST];

	normalise(path, name);
	if (strcmp(name, ".") == 0)
		name[0] = '\0';
	for (size_t i = 0; i < disk.count; i++)
		if (strcmp(disk.list[i].path, name) == 0)
			return &disk.list[i];
	return NULL;
}

static struct directory *parent_of(const struct directory *directory)
{
	char path[NAME_MOST];
	char *slash;

	snprintf(path, sizeof path, "%s", directory->path);
	slash = strrchr(path, '/');
	if (slash == NULL)
		path[0] = '\0';
	else if (slash == path)
		path[1] = '\0';
	else
		*slash = '\0';
	return directory_at(path);
}

static struct directory *add_directory(const char *path, bool is_durable)
{
	struct directory *added = &disk.list[disk.count++];

	assert_true(disk.count <= DIRECTORIES_MAX);
	normalise(path, added->path);
	added->is_durable = is_durable;
	return added;
}

static bool is_refused(const char *call)
{
	if (++disk.calls != disk.fails_at)
		return false;
	disk.failed = call;
	return true;
}

int __wrap_os_file_make_directory(int directory, const char *path);
int __wrap_os_file_make_directory(int directory, const char *path)
{
	struct directory probe;

	assert_int_equal(directory, OS_FILE_HERE);
	if (is_refused("make"))
		return disk.error;
	if (directory_at(path) != NULL)
		return -EEXIST;
	normalise(path, probe.path);
	if (parent_of(&probe) == NULL)
		return -ENOENT;
	(void)add_directory(path, false);
	return 0;
}

int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out);
int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	assert_int_equal(directory, OS_FILE_HERE);
	*info_out = (struct os_file_info){.is_directory = true};
	if (is_refused("info"))
		return disk.error;
	return directory_at(path) != NULL ? 0 : -ENOENT;
}

int __wrap_os_file_sync_directory(int directory, const char *path);
int __wrap_os_file_sync_directory(int directory, const char *path)
{
	const struct directory *synced = directory_at(path);

	assert_int_equal(directory, OS_FILE_HERE);
	assert_non_null(synced);
	if (is_refused("sync"))
		return disk.error;
	for (size_t i = 0; i < disk.count; i++)
		if (parent_of(&disk.list[i]) == synced)
			disk.list[i].is_durable = true;
	return 0;
}

int __wrap_os_file_open(int directory, const char *path, unsigned flags);
int __wrap_os_file_open(int directory, const char *path, unsigned flags)
{
	assert_int_equal(directory, OS_FILE_HERE);
	assert_int_equal(flags, OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_PRIVATE);
	assert_non_null(strstr(path, "/maildirfolder"));
	if (is_refused("open"))
		return disk.error;
	if (disk.has_mark)
		return -EEXIST;
	disk.has_mark = true;
	return 77;
}

void __wrap_os_file_close(int file);
void __wrap_os_file_close(int file)
{
	assert_int_equal(file, 77);
}

/* --- what is made --- */

static const char *const paths[] = {"/v/m/ann", "/v//m///ann", "/ann",
				    "vv/m/ann", "ann",         "vv//ann"};

/* PATH's directories as far as some of them, all durable or, of another process, not. */
static void begin_disk(const char *path)
{
	size_t there = chance(5), slashes = 0;
	bool is_durable = chance(2) == 0;

	disk.count = 0;
	disk.has_mark = chance(2) == 0;
	(void)add_directory("", true);
	(void)add_directory("/", true);
	for (size_t i = 1; path[i - 1] != '\0' && slashes < there; i++) {
		char begin[NAME_MOST];

		if ((path[i] != '/' && path[i] != '\0') || path[i - 1] == '/')
			continue;
		slashes++;
		snprintf(begin, sizeof begin, "%.*s", (int)i, path);
		(void)add_directory(begin, is_durable);
	}
}

/* PATH is there, and all down to it durable. */
static void check_durable(const char *path)
{
	const struct directory *at = directory_at(path);

	assert_non_null(at);
	for (; at->path[0] != '\0' && strcmp(at->path, "/") != 0; at = parent_of(at))
		if (!at->is_durable)
			fail_msg("%s of %s", at->path, path);
}

static void make_path(char out[200], const char *path, const char *name)
{
	snprintf(out, 200, "%s/%s", path, name);
}

/* The three steps, as a group takes them: when tmp/ is there, all else is durable. */
static int make_maildir(struct maildir *maildir, const char *path)
{
	char name[200];
	int result = maildir_create_names(maildir, str_from(path));

	make_path(name, path, "tmp");
	assert_null(directory_at(name));
	if (result == 0)
		result = maildir_create_sync(str_from(path));
	if (result == 0) {
		check_durable(path);
		make_path(name, path, "new");
		check_durable(name);
		make_path(name, path, "cur");
		check_durable(name);
		result = maildir_create_tmp(str_from(path));
	}
	return result;
}

static int make_base_of(struct maildir *maildir, const char *path)
{
	int result = maildir_make_base(str_from(path));

	(void)maildir;
	if (result == 0)
		check_durable(path);
	return result;
}

/* That of a folder; then it is marked. */
static int make_root_and_mark(struct maildir *maildir, const char *path)
{
	int result = maildir_create_root(maildir, str_from(path));
	char name[200];

	make_path(name, path, "tmp");
	if (result == 0) {
		assert_non_null(directory_at(name));
		check_durable(path);
		result = maildir_create_mark(str_from(path));
	}
	if (result == 0)
		assert_true(disk.has_mark);
	return result;
}

/* Of one call: the error is told, or what it was for is so anyway. */
static bool make_once(int (*make)(struct maildir *maildir, const char *path), const char *path,
		      int fails_at, int error)
{
	struct maildir maildir = {0};
	int result;

	disk.calls = 0;
	disk.fails_at = fails_at;
	disk.error = error;
	disk.failed = NULL;
	result = make(&maildir, path);
	if (disk.failed == NULL)
		assert_int_equal(result, 0);
	else if (error == -EIO)
		assert_true(result == -EIO ||
			    /* somebody may not make what is there already */
			    (result == 0 && strcmp(disk.failed, "make") == 0));
	/* once more, by who knows what is durable above */
	disk.fails_at = 0;
	if (result == 0 && make == make_base_of)
		assert_int_equal(make(&maildir, path), 0);
	free(maildir.durable_parent);
	return disk.failed != NULL;
}

static void each_call_fails_once(void **state)
{
	static int (*const makers[])(struct maildir * maildir, const char *path) = {
		make_maildir, make_base_of, make_root_and_mark};

	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++)
		for (size_t i = 0; i < COUNT_OF(makers); i++) {
			const char *path = paths[chance(COUNT_OF(paths))];
			struct disk begin;
			int call = 0;

			begin_disk(path);
			begin = disk;
			do
				disk = begin;
			while (make_once(makers[i], path, call++, -EIO) || call == 1);
		}
}

/* A directory above that may not be read was made by somebody else. */
static void what_may_not_be_synced(void **state)
{
	static const struct {
		int error;
		bool is_told;
	} rows[] = {{-EACCES, false}, {-EPERM, false}, {-EIO, true}, {-ENOSPC, true}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int is_there = 0; is_there < 2; is_there++) {
			disk = (struct disk){.fails_at = 2, .error = rows[i].error};
			(void)add_directory("", true);
			(void)add_directory("/", true);
			if (is_there == 1)
				(void)add_directory("/v", true);
			/* made, and then the one above it is synced */
			assert_int_equal(maildir_make_base(STR("/v")),
					 rows[i].is_told || is_there == 0 ? rows[i].error : 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_call_fails_once),
		cmocka_unit_test(what_may_not_be_synced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
