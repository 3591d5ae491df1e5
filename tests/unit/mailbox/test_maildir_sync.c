// SPDX-License-Identifier: ISC
/*
 * How the files and directories of a group of deliveries are made durable, against a model of the
 * disk: any group on some file systems, any way, some calls that fail, order that is lost on the
 * way. A file that is durable before its name, and a name at the end; and no error that its
 * delivery is not told.
 */
#include "chance.h"
#include "mailbox/internal.h"
#include "os/file/file.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { WORKS = 20, DEVICES = 3, TURNS = 20000, FIRST_FILE = 100, FIRST_WATCH = 1000 };

static struct {
	bool is_ordered[DEVICES + 1];    /* it keeps order, */
	bool is_disordered[DEVICES + 1]; /* and does so no longer after the first step */
	bool is_renamed;                 /* the files have their names */
	int watches[DEVICES + 1];        /* open ones of each device */
	struct maildir_work works[WORKS];
	size_t count;
	/* of each work */
	bool is_durable[WORKS]; /* its bytes */
	bool is_written[WORKS]; /* its bytes, if order holds */
	bool is_name_durable[WORKS];
	int error[WORKS];                  /* that it has to be told: the first one */
	unsigned fails;                    /* one call of so many fails; 0: none */
	unsigned filesystems[DEVICES + 1]; /* synced whole, in this step */
	unsigned folders;                  /* synced */
} disk;

static const char *const paths[] = {"/d1/a", "/d1/b", "/d2/a", "/d3/aa"};

static int may_fail(void)
{
	return disk.fails > 0 && chance(disk.fails) == 0 ? -EIO : 0;
}

static void note_error(size_t i, int error)
{
	if (disk.error[i] == 0)
		disk.error[i] = error;
}

/* --- the disk --- */

int __wrap_os_file_order_watch(int file);
int __wrap_os_file_order_watch(int file)
{
	uint64_t device = disk.works[file - FIRST_FILE].device;

	if (!disk.is_ordered[device])
		return -ENOTSUP;
	disk.watches[device]++;
	return FIRST_WATCH + (int)device;
}

bool __wrap_os_file_order_holds(int watch);
bool __wrap_os_file_order_holds(int watch)
{
	int device = watch - FIRST_WATCH;

	assert_in_range(device, 1, DEVICES);
	assert_int_equal(disk.watches[device], 1);
	return !disk.is_renamed || !disk.is_disordered[device];
}

void __wrap_os_file_close(int file);
void __wrap_os_file_close(int file)
{
	if (file < 0)
		return;
	assert_in_range(file - FIRST_WATCH, 1, DEVICES);
	disk.watches[file - FIRST_WATCH]--;
}

static size_t work_of(int file)
{
	size_t i = (size_t)(file - FIRST_FILE);

	assert_true(i < disk.count);
	assert_int_equal(disk.works[i].error, 0);
	return i;
}

void __wrap_os_file_sync_many(const int *files, size_t count, int *results);
void __wrap_os_file_sync_many(const int *files, size_t count, int *results)
{
	assert_true(count > 0 && !disk.is_renamed);
	for (size_t n = 0; n < count; n++) {
		size_t i = work_of(files[n]);

		assert_false(disk.is_durable[i]);
		results[n] = may_fail();
		disk.is_durable[i] = results[n] == 0;
		note_error(i, results[n]);
	}
}

void __wrap_os_file_write_out_many(const int *files, size_t count, int *results);
void __wrap_os_file_write_out_many(const int *files, size_t count, int *results)
{
	assert_true(count > 0 && !disk.is_renamed);
	for (size_t n = 0; n < count; n++) {
		size_t i = work_of(files[n]);

		assert_false(disk.is_written[i]);
		results[n] = may_fail();
		disk.is_written[i] = results[n] == 0;
		note_error(i, results[n]);
	}
}

/* All that has no error yet shares the result. */
int __wrap_os_file_sync_filesystem(int file);
int __wrap_os_file_sync_filesystem(int file)
{
	uint64_t device = disk.works[work_of(file)].device;
	int result = may_fail();

	disk.filesystems[device]++;
	for (size_t i = 0; i < disk.count; i++) {
		if (disk.works[i].device != device || disk.works[i].error < 0)
			continue;
		note_error(i, result);
		disk.is_durable[i] |= result == 0;
		disk.is_name_durable[i] |= result == 0 && disk.is_renamed;
	}
	return result;
}

static bool is_below(const struct maildir_work *work, const char *folder)
{
	size_t length = work->path.length;

	return memcmp(folder, work->path.data, length) == 0 && folder[length] == '/' &&
	       strcmp(folder + length + 1, work->box) == 0;
}

/* Where order holds, all that was renamed before the last change of the directory is durable. */
int __wrap_os_file_sync_directory(int directory, const char *path);
int __wrap_os_file_sync_directory(int directory, const char *path)
{
	int result = may_fail();
	size_t last = disk.count;

	assert_int_equal(directory, OS_FILE_HERE);
	assert_true(disk.is_renamed);
	disk.folders++;
	for (size_t i = 0; i < disk.count; i++)
		if (disk.works[i].error == 0 && is_below(&disk.works[i], path))
			last = i;
	assert_true(last < disk.count); /* somebody's */
	for (size_t i = 0; i < disk.count; i++) {
		bool is_one = disk.works[i].sync == MAILDIR_SYNC_ORDERED
				      ? disk.works[i].device == disk.works[last].device && i <= last
				      : is_below(&disk.works[i], path);

		if (!is_one || disk.works[i].error < 0)
			continue;
		note_error(i, result);
		disk.is_name_durable[i] |= result == 0;
	}
	return result;
}

/* --- the model --- */

static void make_group(void)
{
	disk.count = chance(3) > 0 ? chance(5) : chance(WORKS + 1);
	disk.fails = chance(3) == 0 ? 1 + (unsigned)chance(6) : 0;
	disk.is_renamed = false;
	for (size_t i = 0; i < disk.count; i++) {
		size_t path = chance(COUNT_OF(paths));
		struct maildir_work *work = &disk.works[i];

		*work = (struct maildir_work){.path = str_from(paths[path]),
					      .box = chance(3) > 0 ? "new" : "cur",
					      .error = chance(6) == 0 ? -ENOSPC : 0,
					      .file = FIRST_FILE + (int)i,
					      .device = (uint64_t)(paths[path][2] - '0')};
		disk.is_durable[i] = disk.is_written[i] = disk.is_name_durable[i] = false;
		disk.error[i] = work->error;
	}
	for (size_t device = 1; device <= DEVICES; device++)
		disk.is_disordered[device] = chance(6) == 0;
	memset(disk.filesystems, 0, sizeof disk.filesystems);
	disk.folders = 0;
}

static size_t count_good(uint64_t device)
{
	size_t count = 0;

	for (size_t i = 0; i < disk.count; i++)
		count += disk.works[i].device == device && disk.works[i].error == 0;
	return count;
}

static enum maildir_sync expected_sync(const struct maildir *maildir, uint64_t device, size_t good)
{
	enum maildir_sync sync = maildir->sync;

	if (sync == MAILDIR_SYNC_AUTO && disk.is_ordered[device])
		return MAILDIR_SYNC_ORDERED;
	if (sync == MAILDIR_SYNC_AUTO)
		sync = device == maildir->root_device ? MAILDIR_SYNC_FILES
						      : MAILDIR_SYNC_FILESYSTEM;
	return sync == MAILDIR_SYNC_FILESYSTEM && good < MAILDIR_FILESYSTEM_FROM
		       ? MAILDIR_SYNC_FILES
		       : sync;
}

static void check_plan(const struct maildir *maildir)
{
	for (size_t i = 0; i < disk.count; i++)
		if (disk.works[i].error == 0)
			assert_int_equal(disk.works[i].sync,
					 expected_sync(maildir, disk.works[i].device,
						       count_good(disk.works[i].device)));
}

static void check_errors(const char *doing)
{
	for (size_t i = 0; i < disk.count; i++) {
		bool is_new = disk.works[i].error == -EIO && disk.works[i].doing != NULL;

		assert_int_equal(disk.works[i].error, disk.error[i]);
		if (is_new && strstr(disk.works[i].doing, "name") != NULL)
			assert_string_equal(disk.works[i].doing, "make the message's name durable");
		else if (is_new)
			assert_string_equal(disk.works[i].doing, doing);
	}
}

static bool is_order_lost(const struct maildir *maildir, uint64_t device)
{
	return maildir->sync == MAILDIR_SYNC_AUTO && disk.is_ordered[device] &&
	       disk.is_disordered[device] && count_good(device) > 0;
}

/* No more than are needed: one of each file system, one of each directory. */
static void check_calls(const struct maildir *maildir)
{
	unsigned folders = 0;
	bool is_any_lost = false;

	for (size_t device = 1; device <= DEVICES; device++)
		is_any_lost |= is_order_lost(maildir, device);
	for (size_t device = 1; device <= DEVICES; device++) {
		size_t good = count_good(device);
		bool is_whole =
			expected_sync(maildir, device, good) == MAILDIR_SYNC_FILESYSTEM && good > 0;

		/* those that were synced are synced again with one that has lost its order */
		if (disk.fails == 0)
			assert_int_equal(disk.filesystems[device],
					 is_whole + (is_any_lost && is_whole) +
						 is_order_lost(maildir, device));
	}
	if (disk.fails > 0)
		return;
	for (size_t i = 0; i < disk.count; i++) {
		bool is_first = disk.works[i].error == 0;
		enum maildir_sync sync = expected_sync(maildir, disk.works[i].device,
						       count_good(disk.works[i].device));

		for (size_t n = 0; n < i && is_first; n++)
			is_first = disk.works[n].error < 0 ||
				   (sync == MAILDIR_SYNC_ORDERED
					    ? disk.works[n].device != disk.works[i].device
					    : !str_equal(disk.works[n].path, disk.works[i].path) ||
						      strcmp(disk.works[n].box,
							     disk.works[i].box) != 0);
		folders += is_first && sync != MAILDIR_SYNC_FILESYSTEM;
	}
	assert_int_equal(disk.folders, folders);
}

static void play_group(struct maildir *maildir)
{
	make_group();
	maildir_sync_plan(maildir, disk.works, disk.count);
	check_plan(maildir);
	maildir_sync_files(disk.works, disk.count);
	check_errors("make the message durable");
	for (size_t i = 0; i < disk.count; i++)
		if (disk.works[i].error == 0)
			assert_true(disk.is_durable[i] ||
				    (disk.is_written[i] && disk.is_ordered[disk.works[i].device]));
	memset(disk.filesystems, 0, sizeof disk.filesystems);
	disk.is_renamed = true;
	maildir_sync_folders(maildir, disk.works, disk.count);
	check_errors("make the message durable");
	for (size_t i = 0; i < disk.count; i++) {
		uint64_t device = disk.works[i].device;

		if (disk.works[i].error < 0)
			continue;
		assert_true(disk.is_name_durable[i]);
		/* what order promised, and no longer does */
		if (maildir->sync == MAILDIR_SYNC_AUTO && disk.is_disordered[device] &&
		    disk.is_ordered[device])
			assert_true(disk.is_durable[i]);
	}
	check_calls(maildir);
}

static void any_group(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn += 20) {
		struct maildir maildir = {.sync = (enum maildir_sync)chance(4),
					  .root_device = chance(DEVICES + 1)};

		for (size_t device = 1; device <= DEVICES; device++)
			disk.is_ordered[device] =
				maildir.sync == MAILDIR_SYNC_ORDERED || chance(2) == 0;
		for (unsigned i = 0; i < 20; i++)
			play_group(&maildir);
		if (maildir.order.device != 0)
			__wrap_os_file_close(maildir.order.watch);
		for (size_t device = 1; device <= DEVICES; device++)
			assert_int_equal(disk.watches[device], 0);
	}
}

/* The first error stays, with what was done. */
static void the_first_error(void **state)
{
	struct maildir_work work = {0};

	(void)state;
	maildir_work_fail(&work, "nothing", 0);
	maildir_work_fail(&work, "more", 1);
	assert_true(work.error == 0 && work.doing == NULL);
	maildir_work_fail(&work, "first", -EIO);
	maildir_work_fail(&work, "second", -ENOSPC);
	maildir_work_fail(&work, "third", 0);
	assert_int_equal(work.error, -EIO);
	assert_string_equal(work.doing, "first");
}

static int root_error;

int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out);
int __wrap_os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	assert_int_equal(directory, OS_FILE_HERE);
	assert_string_equal(path, "/");
	*info_out = (struct os_file_info){.device = 2};
	return root_error;
}

/* Whose writes must not be waited for. */
static void the_root_file_system(void **state)
{
	(void)state;
	for (root_error = -EIO; root_error <= 0; root_error += EIO) {
		struct maildir *maildir = maildir_new("host", MAILDIR_SYNC_AUTO);

		assert_int_equal(maildir->root_device, root_error == 0 ? 2 : 0);
		assert_int_equal(maildir->order.device, 0);
		maildir_free(maildir);
	}
	maildir_free(NULL);
}

/* What may stand in a file's name as it is; and no more than that. */
static void each_byte_of_a_host(void **state)
{
	char long_host[200];

	(void)state;
	root_error = 0;
	for (int byte = 1; byte < 256; byte++) {
		char host[] = {'a', (char)byte, 'b', '\0'}, expected[10];
		struct maildir *maildir = maildir_new(host, MAILDIR_SYNC_AUTO);
		bool is_escaped = byte <= ' ' || strchr("/:,\\", byte) != NULL;

		snprintf(expected, sizeof expected, is_escaped ? "a\\%03ob" : "a%cb",
			 (unsigned)byte);
		assert_string_equal(maildir->host, expected);
		maildir_free(maildir);
	}
	memset(long_host, 'h', sizeof long_host);
	for (size_t length = 60; length < 70; length++) {
		struct maildir *maildir;

		long_host[length] = '\0';
		maildir = maildir_new(long_host, MAILDIR_SYNC_AUTO);
		assert_int_equal(strlen(maildir->host), length < 64 ? length : 64);
		maildir_free(maildir);
		long_host[length] = 'h';
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_group),
		cmocka_unit_test(the_first_error),
		cmocka_unit_test(the_root_file_system),
		cmocka_unit_test(each_byte_of_a_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
