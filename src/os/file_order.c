// SPDX-License-Identifier: ISC
/*
 * Filesystems that make changes durable in their order.
 *
 * os_file_order_watch() asks for two promises. First, changes of names, sizes and
 * block maps become durable as a prefix of the order they were made in; an
 * fsync of a directory makes durable all up to that directory's last change.
 * Second, bytes that the device has (os_file_write_out_many()) before such a
 * change are durable whenever that change is.
 *
 * ext4 with a journal keeps the first: each change belongs to the transaction
 * that runs when it begins, transactions commit one after the other, replay ends
 * at the first that is not whole. A directory remembers the transaction of its
 * last change, and fsync waits for its commit.
 *
 * It keeps the second because the commit record is written with a flush of the
 * device's cache before it and forced through it (so: barriers, and a journal
 * on the same device; an external one flushes the other device only for data
 * it knows of). What has to be in an earlier transaction is there when
 * sync_file_range() has waited: blocks put off (delalloc) are allocated, and the
 * size on disk is raised, in a transaction opened before the write is submitted;
 * where blocks are "unwritten" until the write is over (dioread_nolock), they are
 * converted before their pages cease to be under writeback (ext4_end_io_end()
 * since Linux 3.11), which is what is waited for. Errors of writing are told once
 * for each open file (errseq, since 4.13), the same that fsync would tell.
 *
 * data=journal would do, but its write-out commits: no gain. data=writeback: the
 * same blocks would be waited for, yet we take only what is the default and
 * tested. Without a journal, XFS (the log is ordered, but sizes change in
 * another transaction after the write) and btrfs (fsync logs one inode, not what
 * came before it): no.
 */
#include "os/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/sysmacros.h>

enum { EXT4_MAGIC = 0xef53, TEXT_MAX = 4096, DEVICE_MAX = 32 };

static bool read_open(int file, char text[TEXT_MAX], struct str *text_out)
{
	ssize_t length = os_file_read(file, text, TEXT_MAX, 0);

	if (length <= 0 || length == TEXT_MAX)
		return false;
	*text_out = str_slice(text, (size_t)length);
	return true;
}

static bool read_text(const char *path, char text[TEXT_MAX], struct str *text_out)
{
	int file = os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
	bool is_read;

	if (file < 0)
		return false;
	is_read = read_open(file, text, text_out);
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
	if (!read_text(path, text, &rest))
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

/* The options in force, defaults too. (mountinfo leaves those out, so that it
 * cannot even tell whether there is a journal.) */
static int open_options(const char *device)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/fs/ext4/%s/options", device);
	return os_file_open(OS_FILE_HERE, path, OS_FILE_READ);
}

/* The journal's name has an inode number in it, that of the journal's file,
 * when it is on this filesystem. */
static bool has_internal_journal(const char *device)
{
	struct os_file_info info;
	char path[64];

	snprintf(path, sizeof path, "/proc/fs/jbd2/%s-8", device);
	return os_file_info_at(OS_FILE_HERE, path, &info) == 0 && info.is_directory;
}

/* The kernel writes the text anew each time that it is read from its beginning. */
bool os_file_order_holds(int watch)
{
	char text[TEXT_MAX];
	struct str options;

	return read_open(watch, text, &options) && has_line(options, STR("rw")) &&
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
