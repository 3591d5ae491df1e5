// SPDX-License-Identifier: ISC
/*
 * File systems that make changes durable in order.
 *
 * os_file_order_watch() requires two guarantees. First, changes of names, sizes and
 * block maps become durable in the order in which they were made; an fsync of a
 * directory makes durable everything up to that directory's last change, an fdatasync of a
 * file everything up to when it last grew.
 * Second, bytes that were written to the device (os_file_write_out_many()) before such a
 * change are durable whenever that change is.
 *
 * ext4 with a journal gives the first: each change belongs to the transaction
 * that is running when it begins, transactions are committed one after the other, and
 * replay ends at the first incomplete one. A directory remembers the transaction of its
 * last change, and fsync waits for its commit. A file remembers the one in which its size on
 * disk was last raised (i_datasync_tid), when it was written or, with new blocks, when these
 * were allocated, and fdatasync waits for that.
 *
 * It gives the second because the commit record is written with a flush of the
 * device's cache before it, and with FUA (hence barriers, and a journal
 * on the same device; with an external one, the other device is flushed only for data
 * that the journal knows of). Everything that must be in an earlier transaction is there
 * when sync_file_range() has waited: delayed blocks (delalloc) are allocated, and the
 * size on disk is raised, in a transaction opened before the write is submitted;
 * if blocks are "unwritten" until the write completes (dioread_nolock), they are
 * converted before their pages leave writeback (ext4_end_io_end()
 * since Linux 3.11), which sync_file_range() waits for. Write errors are reported once
 * for each open file (errseq, since 4.13), as fsync would do.
 *
 * data=journal would work, but writing out commits: no gain. data=writeback: sync_file_range()
 * waits for the same blocks, yet we accept only the default, which is
 * tested. Not without a journal, not XFS (the log is ordered, but sizes change in
 * another transaction after the write), and not btrfs (fsync logs one inode, not
 * earlier changes).
 */
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { EXT4_MAGIC = 0xef53, TEXT_MAX = 4096, DEVICE_MAX = 32 };

static bool read_open_sys_file(int file, char text[TEXT_MAX], struct str *text_out)
{
	ssize_t length = os_file_read(file, text, TEXT_MAX, 0);

	if (length <= 0 || length == TEXT_MAX)
		return false;
	*text_out = str_slice(text, (size_t)length);
	return true;
}

static bool read_sys_file(const char *path, char text[TEXT_MAX], struct str *text_out)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	bool is_read;

	if (file < 0)
		return false;
	is_read = read_open_sys_file(file, text, text_out);
	os_file_close(file);
	return is_read;
}

static bool has_line(struct str text, struct str wanted)
{
	struct str line;

	while (str_split(&text, '\n', &line))
		if (str_equal(line, wanted))
			return true;
	return false;
}

/* The kernel's name of the block device: "vda1", "dm-0". */
static bool find_device(uint64_t device, char name[DEVICE_MAX])
{
	static const char key[] = "DEVNAME=";
	char text[TEXT_MAX];
	char path[64];
	struct str rest;
	struct str line;

	snprintf(path, sizeof path, "/sys/dev/block/%u:%u/uevent", major(device), minor(device));
	if (!read_sys_file(path, text, &rest))
		return false;
	while (str_split(&rest, '\n', &line)) {
		if (!str_starts_with(line, str_from(key)))
			continue;
		line = str_skip(line, sizeof key - 1);
		if (line.length >= DEVICE_MAX || memchr(line.data, '/', line.length) != NULL)
			return false;
		snprintf(name, DEVICE_MAX, STR_FORMAT, STR_ARGUMENTS(line));
		return true;
	}
	return false;
}

/* All mount options, including defaults. (mountinfo omits these, so it does not even show whether
 * there is a journal.) */
static int open_options(const char *device)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/fs/ext4/%s/options", device);
	return os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
}

/* If the journal is on this file system, its name contains the inode number of the journal's
 * file. */
static bool has_internal_journal(const char *device)
{
	struct os_file_info info;
	char path[64];

	snprintf(path, sizeof path, "/proc/fs/jbd2/%s-8", device);
	return os_file_info_at(OS_FILE_HERE, path, &info) == 0 && info.is_directory;
}

/* The kernel generates the text again whenever it is read from the beginning. */
bool os_file_order_holds(int watch)
{
	char text[TEXT_MAX];
	struct str options;

	return read_open_sys_file(watch, text, &options) && has_line(options, STR("rw")) &&
	       has_line(options, STR("data=ordered")) && has_line(options, STR("barrier")) &&
	       !has_line(options, STR("journal_async_commit"));
}

int os_file_order_watch(int file)
{
	struct os_file_info info;
	char device[DEVICE_MAX];
	uint64_t type;
	int watch;

	if (os_file_filesystem_type(file, &type) < 0 || type != EXT4_MAGIC ||
	    os_file_info(file, &info) < 0 || !find_device(info.device, device) ||
	    !has_internal_journal(device))
		return -ENOTSUP;
	watch = open_options(device);
	if (watch < 0 || os_file_order_holds(watch))
		return watch;
	os_file_close(watch);
	return -ENOTSUP;
}
