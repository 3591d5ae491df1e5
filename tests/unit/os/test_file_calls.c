// SPDX-License-Identifier: ISC
/* What functions on files do: each flag, mode, time and lock, as the system shows it. */
#include "base/timestamp.h"
#include "os/file/file.h"
#include "os/file/rights.h"
#include "os/stream/stream.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static char directory[SCRATCH_SIZE];
static int here = -1;

static void write_name(const char *name, const char *text)
{
	int made = open(name, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(made >= 0);
	assert_int_equal(write(made, text, strlen(text)), strlen(text));
	close(made);
}

static bool is_there(const char *name)
{
	struct stat status;

	return lstat(name, &status) == 0;
}

static bool has_bytes(const char *name, const char *text)
{
	char found[100] = "";
	int file = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t length = file >= 0 ? read(file, found, sizeof found - 1) : -1;

	if (file >= 0)
		close(file);
	return length == (ssize_t)strlen(text) && strcmp(found, text) == 0;
}

/* --- opening --- */

/* All flags together with each other. */
static void each_flag_of_opening(void **state)
{
	(void)state;
	umask(0);
	for (unsigned flags = 0; flags < 64; flags++)
		for (unsigned there = 0; there < 2; there++) {
			bool is_new = (flags & OS_FILE_CREATE) != 0;
			struct stat status;
			int file, how;

			(void)unlink("f");
			if (there == 1)
				write_name("f", "old");
			file = os_file_open(here, "f", flags);
			if (is_new == (there == 1)) {
				assert_int_equal(file, is_new ? -EEXIST : -ENOENT);
				continue;
			}
			assert_true(file >= 0);
			assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
			how = fcntl(file, F_GETFL);
			assert_int_equal(how & O_ACCMODE,
					 (flags & OS_FILE_WRITE) != 0 ? O_RDWR : O_RDONLY);
			assert_int_equal((how & O_APPEND) != 0, (flags & OS_FILE_APPEND) != 0);
			assert_int_equal((how & O_NONBLOCK) != 0, (flags & OS_FILE_NO_BLOCK) != 0);
			assert_int_equal(fstat(file, &status), 0);
			if (is_new)
				assert_int_equal(status.st_mode & 07777,
						 (flags & OS_FILE_PRIVATE) != 0 ? 0600 : 0640);
			os_file_close(file);
			assert_int_equal(fcntl(file, F_GETFD), -1);
		}
}

static void links_and_directories(void **state)
{
	int file;

	(void)state;
	write_name("f", "text");
	assert_int_equal(symlink("f", "l"), 0);
	file = os_file_open(here, "l", OS_FILE_READ);
	assert_true(file >= 0);
	os_file_close(file);
	assert_int_equal(os_file_open(here, "l", OS_FILE_NO_FOLLOW), -ELOOP);
	assert_int_equal(os_file_open_directory(here, "f"), -ENOTDIR);
	assert_int_equal(os_file_open_directory(here, "none"), -ENOENT);
	file = os_file_open_directory(here, ".");
	assert_true(file >= 0);
	os_file_close(file);
}

/* --- names --- */

static void names_are_made_and_removed(void **state)
{
	struct stat status;

	(void)state;
	umask(0);
	assert_int_equal(os_file_make_directory(here, "d"), 0);
	assert_int_equal(os_file_make_directory(here, "d"), -EEXIST);
	assert_int_equal(stat("d", &status), 0);
	assert_int_equal(status.st_mode, S_IFDIR | 0750);
	assert_int_equal(os_file_make_pipe(here, "p"), 0);
	assert_int_equal(stat("p", &status), 0);
	assert_int_equal(status.st_mode, S_IFIFO | 0620);
	assert_int_equal(os_file_unlink(here, "p"), 0);
	assert_int_equal(os_file_unlink(here, "p"), -ENOENT);
	assert_int_equal(os_file_unlink(here, "d"), -EISDIR);
	assert_int_equal(rmdir("d"), 0);
}

/* With and without a name that is there; one file has two names afterwards, or one. */
static void names_are_given(void **state)
{
	static const struct {
		int (*give)(int folder, const char *from, const char *to);
		bool keeps, replaces;
	} rows[] = {{os_file_link, true, false},
		    {os_file_rename, false, true},
		    {os_file_rename_new, false, false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (int there = 0; there < 2; there++) {
			bool is_given = there == 0 || rows[i].replaces;

			write_name("from", "new");
			(void)unlink("to");
			if (there == 1)
				write_name("to", "old");
			assert_int_equal(rows[i].give(here, "from", "to"), is_given ? 0 : -EEXIST);
			assert_true(has_bytes("to", is_given ? "new" : "old"));
			assert_int_equal(is_there("from"), rows[i].keeps || !is_given);
		}
	(void)unlink("to");
}

/* --- what is known --- */

static void check_info(const struct os_file_info *info, const struct stat *status)
{
	assert_int_equal(info->inode, status->st_ino);
	assert_int_equal(info->device, status->st_dev);
	assert_int_equal(info->links, status->st_nlink);
	assert_int_equal(info->size, status->st_size);
	assert_int_equal(info->modified_us,
			 status->st_mtim.tv_sec * SECOND_US + status->st_mtim.tv_nsec / 1000);
	assert_int_equal(info->changed_us,
			 status->st_ctim.tv_sec * SECOND_US + status->st_ctim.tv_nsec / 1000);
	assert_int_equal(info->is_directory, S_ISDIR(status->st_mode));
	assert_int_equal(info->mode, status->st_mode);
	assert_int_equal(info->owner, status->st_uid);
	assert_int_equal(info->group, status->st_gid);
}

static void what_is_known_of_a_file(void **state)
{
	static const char *const names[] = {"f", "d", "l", "p"};
	struct os_file_list *list;

	(void)state;
	write_name("f", "text");
	assert_int_equal(mkdir("d", 0711), 0);
	assert_int_equal(symlink("d", "l"), 0);
	assert_int_equal(mkfifo("p", 0604), 0);
	assert_int_equal(link("f", "g"), 0);
	if (geteuid() == 0)
		assert_int_equal(os_file_set_owner("f", 12, 34), 0);
	assert_int_equal(os_file_set_modified(here, "f", 1234567 * SECOND_US + 890123), 0);
	assert_int_equal(os_file_list_open(here, ".", &list), 0);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct os_file_info info;
		struct stat status;
		int file = open(names[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		assert_int_equal(lstat(names[i], &status), 0);
		assert_int_equal(os_file_info_at(here, names[i], &info), 0);
		check_info(&info, &status);
		assert_int_equal(os_file_list_info(list, names[i], &info), 0);
		check_info(&info, &status);
		assert_int_equal(stat(names[i], &status), 0);
		assert_int_equal(os_file_info(file, &info), 0);
		check_info(&info, &status);
		assert_int_equal(os_file_info_behind(names[i], &info), 0);
		check_info(&info, &status);
		close(file);
	}
	os_file_list_close(list);
	os_file_list_close(NULL);
	{
		struct stat status;

		assert_int_equal(stat("f", &status), 0);
		assert_int_equal(status.st_mtim.tv_sec, 1234567);
		assert_int_equal(status.st_mtim.tv_nsec, 890123000);
	}
}

static void types_and_rights(void **state)
{
	struct statfs filesystem;
	uint64_t type = 0;
	struct stat status;
	int file;

	(void)state;
	write_name("f", "text");
	file = open("f", O_RDWR | O_CLOEXEC);
	assert_int_equal(fstatfs(file, &filesystem), 0);
	assert_int_equal(os_file_filesystem_type(file, &type), 0);
	assert_int_equal(type, (uint32_t)filesystem.f_type);
	assert_int_equal(os_file_set_mode(file, 0460), 0);
	assert_int_equal(fstat(file, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0460);
	assert_int_equal(os_file_may_run("f"), -EACCES);
	assert_int_equal(os_file_may_run("/bin/true"), 0);
	assert_int_equal(os_file_may_write("f"), geteuid() == 0 ? 0 : -EACCES);
	close(file);
}

struct listing {
	unsigned count, stop;
	char names[100];
};

static int note_name(void *context, const char *name)
{
	struct listing *listing = context;

	listing->count++;
	snprintf(listing->names + strlen(listing->names),
		 sizeof listing->names - strlen(listing->names), "%s ", name);
	return listing->count == listing->stop ? 7 : 0;
}

static void names_are_listed(void **state)
{
	(void)state;
	for (unsigned there = 0; there < 5; there++)
		for (unsigned stop = 0; stop <= there; stop++) {
			struct listing listing = {.stop = stop};

			assert_int_equal(os_file_list(here, ".", note_name, &listing),
					 stop > 0 ? 7 : 0);
			assert_int_equal(listing.count, stop > 0 ? stop : there);
			assert_null(strstr(listing.names, ". "));
			if (stop == there) {
				char name[] = {(char)('a' + there), '\0'};

				write_name(name, "");
			}
		}
	{
		struct listing listing = {0};

		assert_int_equal(os_file_list(here, "none", note_name, &listing), -ENOENT);
		assert_int_equal(listing.count, 0);
	}
}

/* --- bytes --- */

static void bytes_are_appended_and_cut(void **state)
{
	int file = os_file_open(here, "f", OS_FILE_WRITE | OS_FILE_CREATE | OS_FILE_APPEND);
	int results[3] = {1, 1, 1};

	(void)state;
	assert_int_equal(os_file_append(file, "", 0), 0);
	assert_int_equal(os_file_append(file, "one", 3), 0);
	assert_int_equal(os_file_append(file, "two", 3), 0);
	assert_true(has_bytes("f", "onetwo"));
	assert_int_equal(os_file_truncate(file, 4), 0);
	assert_true(has_bytes("f", "onet"));
	assert_int_equal(os_file_sync(file), 0);
	assert_int_equal(os_file_sync(-1), -EBADF);
	assert_int_equal(os_file_sync_directory(here, "."), 0);
	assert_int_equal(os_file_sync_filesystem(here), 0);
	os_file_write_out_many((int[]){file, -1, file}, 3, results);
	assert_true(results[0] == 0 && results[1] == -EBADF && results[2] == 0);
	os_file_close(file);
}

/* --- streams --- */

static void streams(void **state)
{
	char text[10] = "";
	int file, copy;

	(void)state;
	write_name("f", "text");
	file = open("f", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	assert_int_equal(os_stream_read(file, text, 2), 2);
	assert_int_equal(os_stream_write(file, "XY", 2), 2);
	assert_int_equal(os_stream_read(file, text, 2), 0);
	assert_int_equal(os_stream_rewind(file), 0);
	assert_int_equal(os_stream_read(file, text, 9), 4);
	assert_string_equal(text, "teXY");
	assert_int_equal(os_stream_set_blocking(file), 0);
	assert_int_equal(fcntl(file, F_GETFL) & O_NONBLOCK, 0);
	copy = os_stream_copy(file);
	assert_true(copy > STDERR_FILENO && copy != file);
	assert_int_equal(fcntl(copy, F_GETFD), FD_CLOEXEC);
	close(copy);
	close(file);
}

/* In $TMPDIR, if that is an absolute path; it has no name. */
static void temporary_files(void **state)
{
	char long_folder[5000];

	(void)state;
	memset(long_folder, '/', sizeof long_folder - 1);
	long_folder[sizeof long_folder - 1] = '\0';
	for (unsigned kind = 0; kind < 4; kind++) {
		const char *folder = kind == 1 ? directory : kind == 2 ? "." : long_folder;
		char path[200] = "", link_path[40];
		int file;

		if (kind == 0)
			unsetenv("TMPDIR");
		else
			setenv("TMPDIR", folder, 1);
		file = os_stream_temporary();
		if (kind == 3) {
			assert_int_equal(file, -ENAMETOOLONG);
			continue;
		}
		assert_true(file >= 0);
		assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
		snprintf(link_path, sizeof link_path, "/proc/self/fd/%d", file);
		assert_true(readlink(link_path, path, sizeof path - 1) > 0);
		folder = kind == 1 ? directory : P_tmpdir;
		assert_memory_equal(path, folder, strlen(folder));
		assert_memory_equal(path + strlen(folder), "/stagepost-", 11);
		assert_non_null(strstr(path, " (deleted)"));
		close(file);
	}
	unsetenv("TMPDIR");
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	if (scratch_make(directory) != 0 || chdir(directory) != 0)
		return -1;
	here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return here >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	close(here);
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(each_flag_of_opening),
		CASE(links_and_directories),
		CASE(names_are_made_and_removed),
		CASE(names_are_given),
		CASE(what_is_known_of_a_file),
		CASE(types_and_rights),
		CASE(names_are_listed),
		CASE(bytes_are_appended_and_cut),
		CASE(streams),
		CASE(temporary_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
