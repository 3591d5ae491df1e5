// SPDX-License-Identifier: ISC
/* What functions on files return when a call of the system fails. */
#include "os/file/aside.h"
#include "os/file/file.h"
#include "os/file/range.h"
#include "os/file/rights.h"
#include "refusal.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The present directory, with a file "f" that is open. */
static char directory[SCRATCH_SIZE];
static int file = -1;
static int here = -1;

/* 0, or the error: DESCRIPTOR is closed, and is inherited by nobody. */
static int closed(int descriptor)
{
	if (descriptor < 0)
		return descriptor;
	assert_int_equal(fcntl(descriptor, F_GETFD), FD_CLOEXEC);
	close(descriptor);
	return 0;
}

/* --- names --- */

static int open_directory(void)
{
	return closed(REFUSED(os_file_open_directory(OS_FILE_HERE, ".")));
}

static int open_file(void)
{
	return closed(REFUSED(os_file_open(here, "f", OS_FILE_WRITE)));
}

static int make_file(void)
{
	int made = REFUSED(os_file_open(here, "new", OS_FILE_WRITE | OS_FILE_CREATE));

	unlink("new");
	return closed(made);
}

static int link_file(void)
{
	int result = REFUSED(os_file_link(here, "f", "g"));

	unlink("g");
	return result;
}

static int rename_file(void)
{
	int result = REFUSED(os_file_rename(here, "f", "g"));

	(void)!rename("g", "f");
	return result;
}

static int rename_file_new(void)
{
	int result = REFUSED(os_file_rename_new(here, "f", "g"));

	(void)!rename("g", "f");
	return result;
}

static int unlink_file(void)
{
	assert_int_equal(link("f", "g"), 0);
	{
		int result = REFUSED(os_file_unlink(here, "g"));

		assert_int_equal(unlink("g"), result == 0 ? -1 : 0);
		return result;
	}
}

static int make_directory(void)
{
	int result = REFUSED(os_file_make_directory(here, "d"));

	assert_int_equal(rmdir("d"), result == 0 ? 0 : -1);
	return result;
}

static int make_pipe(void)
{
	int result = REFUSED(os_file_make_pipe(here, "p"));

	assert_int_equal(unlink("p"), result == 0 ? 0 : -1);
	return result;
}

static int set_modified(void)
{
	return REFUSED(os_file_set_modified(here, "f", 1000000007));
}

static void make_name(const char *name)
{
	int made = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(made >= 0);
	close(made);
}

static int set_file_aside(void)
{
	struct buffer kept = {0};
	int result;

	make_name("old");
	make_name("new");
	result = REFUSED(os_file_set_aside("./old", "./new", &kept));
	assert_int_equal(kept.length > 0, result == 0);
	buffer_clear(&kept);
	unlink("old.damaged-1");
	unlink("old");
	unlink("new");
	return result;
}

/* --- bytes --- */

static int read_file(void)
{
	char text[20];

	return (int)REFUSED(os_file_read(file, text, sizeof text, 0));
}

static int write_file(void)
{
	return REFUSED(os_file_write(file, "text", 4, 0));
}

static int append_to_file(void)
{
	int result = REFUSED(os_file_append(file, "text", 4));

	assert_int_equal(ftruncate(file, 4), 0);
	return result;
}

static int truncate_file(void)
{
	return REFUSED(os_file_truncate(file, 4));
}

static int sync_file(void)
{
	return REFUSED(os_file_sync(file));
}

static int sync_directory(void)
{
	return REFUSED(os_file_sync_directory(here, "."));
}

static int sync_filesystem(void)
{
	return REFUSED(os_file_sync_filesystem(file));
}

/* Helpers do the others, whose calls do not fail. */
static int sync_one(void)
{
	int result = 1;

	refusal_begin();
	os_file_sync_many(&file, 1, &result);
	refusal_end();
	return result;
}

static int sync_one_directory(void)
{
	int result = 1;

	refusal_begin();
	os_file_sync_directories(&here, 1, &result);
	refusal_end();
	return result;
}

/* The errors of one are no other's. */
static int write_out_two(void)
{
	int results[] = {1, 1}, files[] = {file, file};

	refusal_begin();
	os_file_write_out_many(files, 2, results);
	refusal_end();
	assert_true(results[0] == 0 || results[1] == 0);
	return results[0] < 0 ? results[0] : results[1];
}

/* --- what is known of them --- */

static int file_info(void)
{
	struct os_file_info info;
	int result;

	refusal_fill(&info, sizeof info);
	result = REFUSED(os_file_info(file, &info));
	refusal_check(result, &info, sizeof info);
	return result;
}

static int file_info_at(void)
{
	struct os_file_info info;
	int result;

	refusal_fill(&info, sizeof info);
	result = REFUSED(os_file_info_at(here, "f", &info));
	refusal_check(result, &info, sizeof info);
	return result;
}

static int file_info_behind(void)
{
	struct os_file_info info;
	int result;

	refusal_fill(&info, sizeof info);
	result = REFUSED(os_file_info_behind("f", &info));
	refusal_check(result, &info, sizeof info);
	return result;
}

static int file_space(void)
{
	struct os_file_space space;
	int result;

	refusal_fill(&space, sizeof space);
	result = REFUSED(os_file_space(file, &space));
	refusal_check(result, &space, sizeof space);
	return result;
}

static int filesystem_type(void)
{
	uint64_t type;
	int result;

	refusal_fill(&type, sizeof type);
	result = REFUSED(os_file_filesystem_type(file, &type));
	refusal_check(result, &type, sizeof type);
	return result;
}

static int count_name(void *context, const char *name)
{
	(void)name;
	++*(int *)context;
	return 0;
}

static int list_directory(void)
{
	int names = 0;
	int result = REFUSED(os_file_list(here, ".", count_name, &names));

	if (result == 0)
		assert_int_equal(names, 1);
	return result;
}

static int list_info(void)
{
	struct os_file_list *list;
	struct os_file_info info;
	int result;

	refusal_fill(&info, sizeof info);
	assert_int_equal(os_file_list_open(here, ".", &list), 0);
	result = REFUSED(os_file_list_info(list, "f", &info));
	refusal_check(result, &info, sizeof info);
	os_file_list_close(list);
	return result;
}

static int may_write(void)
{
	return REFUSED(os_file_may_write("f"));
}

static int may_run(void)
{
	return REFUSED(os_file_may_run("."));
}

static int set_owner(void)
{
	return REFUSED(os_file_set_owner("f", geteuid(), getegid()));
}

static int set_mode(void)
{
	return REFUSED(os_file_set_mode(file, 0640));
}

/* --- locks --- */

static int lock_file(void)
{
	return REFUSED(os_file_lock(file));
}

static int lock_file_within(void)
{
	return REFUSED(os_file_lock_within(file, 100));
}

static int lock_byte(void)
{
	int result = REFUSED(os_file_range_lock(file, 7));

	os_file_range_unlock_all(file);
	return result;
}

static int lock_all_bytes(void)
{
	int result = REFUSED(os_file_range_lock_all(file));

	os_file_range_unlock_all(file);
	return result;
}

static int holder_of_byte(void)
{
	int other = open("f", O_RDWR | O_CLOEXEC), process, result;

	refusal_fill(&process, sizeof process);
	assert_int_equal(os_file_range_lock(other, 7), 0);
	result = REFUSED(os_file_range_holder(file, 7, &process));
	refusal_check(result, &process, sizeof process);
	close(other);
	return result;
}

static int has_writers(void)
{
	int other = open("f", O_RDONLY | O_CLOEXEC);
	int result = REFUSED(os_file_has_writers(other));

	close(other);
	return result;
}

static int is_open_elsewhere(void)
{
	return REFUSED(os_file_is_open_elsewhere(file));
}

static const struct refusal_case cases[] = {
	{"os_file_open_directory", open_directory, "openat64", NULL},
	{"os_file_open", open_file, "openat64", NULL},
	{"os_file_open, new", make_file, "openat64", NULL},
	{"os_file_link", link_file, "linkat", NULL},
	{"os_file_rename", rename_file, "renameat", NULL},
	{"os_file_rename_new", rename_file_new, "renameat2", NULL},
	{"os_file_unlink", unlink_file, "unlinkat", NULL},
	{"os_file_make_directory", make_directory, "mkdirat", NULL},
	{"os_file_make_pipe", make_pipe, "mkfifoat", NULL},
	{"os_file_set_modified", set_modified, "utimensat", NULL},
	{"os_file_set_aside", set_file_aside, "linkat openat64 fsync renameat unlinkat", NULL},
	{"os_file_read", read_file, "pread64", NULL},
	{"os_file_write", write_file, "pwrite64", NULL},
	{"os_file_append", append_to_file, "write", NULL},
	{"os_file_truncate", truncate_file, "ftruncate64", NULL},
	{"os_file_sync", sync_file, "fdatasync", NULL},
	{"os_file_sync_directory", sync_directory, "openat64 fsync", NULL},
	{"os_file_sync_filesystem", sync_filesystem, "syncfs", NULL},
	{"os_file_sync_many", sync_one, "fdatasync", NULL},
	{"os_file_sync_directories", sync_one_directory, "fsync", NULL},
	{"os_file_write_out_many", write_out_two, "sync_file_range", NULL},
	{"os_file_info", file_info, "syscall", NULL},
	{"os_file_info_at", file_info_at, "fstatat64", NULL},
	{"os_file_info_behind", file_info_behind, NULL, NULL},
	{"os_file_space", file_space, "fstatvfs64", NULL},
	{"os_file_filesystem_type", filesystem_type, "fstatfs64", NULL},
	{"os_file_list", list_directory, "openat64", NULL},
	{"os_file_list_info", list_info, "fstatat64", NULL},
	{"os_file_may_write", may_write, NULL, NULL},
	{"os_file_may_run", may_run, NULL, NULL},
	{"os_file_set_owner", set_owner, NULL, NULL},
	{"os_file_set_mode", set_mode, NULL, NULL},
	{"os_file_lock", lock_file, "flock", NULL},
	{"os_file_lock_within", lock_file_within, "flock", NULL},
	{"os_file_range_lock", lock_byte, "fcntl64", NULL},
	{"os_file_range_lock_all", lock_all_bytes, "fcntl64", NULL},
	{"os_file_range_holder", holder_of_byte, "fcntl64", NULL},
	{"os_file_has_writers", has_writers, NULL, NULL},
	{"os_file_is_open_elsewhere", is_open_elsewhere, NULL, NULL},
};

static void each_call_fails_once(void **state)
{
	(void)state;
	refusal_try(cases, COUNT_OF(cases));
}

static int set_up(void **state)
{
	(void)state;
	alarm(60);
	if (scratch_make(directory) != 0 || chdir(directory) != 0)
		return -1;
	here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	file = open("f", O_CREAT | O_RDWR | O_APPEND | O_CLOEXEC, 0600);
	return here >= 0 && file >= 0 && write(file, "text", 4) == 4 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	close(here);
	close(file);
	return chdir("/") == 0 ? scratch_remove(directory) : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_call_fails_once, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
