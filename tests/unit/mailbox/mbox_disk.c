// SPDX-License-Identifier: ISC
#include "mbox_disk.h"
#include "os/file/file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { FILES = 1024, NAME = 128 };

static struct {
	size_t calls;
	size_t at; /* 0: none */
	int error;
	bool is_death;
	char names[FILES][NAME]; /* of open files */
	char text[4096];
} disk;

void mbox_disk_reset(void)
{
	memset(&disk, 0, sizeof disk);
}

void mbox_disk_fail(size_t call, int error)
{
	disk.calls = 0;
	disk.at = call;
	disk.error = error;
	disk.is_death = false;
}

void mbox_disk_die(size_t call)
{
	mbox_disk_fail(call, -EIO);
	disk.is_death = true;
}

bool mbox_disk_is_reached(void)
{
	return disk.at > 0 && disk.calls >= disk.at;
}

const char *mbox_disk_calls(void)
{
	return disk.text;
}

static bool fails(void)
{
	disk.calls++;
	return disk.calls == disk.at || (disk.is_death && disk.at > 0 && disk.calls > disk.at);
}

static const char *last_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static void note(const char *call, const char *path)
{
	size_t length = strlen(disk.text);

	snprintf(disk.text + length, sizeof disk.text - length, "%s%s:%s", length > 0 ? " " : "",
		 call, last_name(path));
}

#define WRAP(type, name, ...)            \
	type __real_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__); \
	type __wrap_##name(__VA_ARGS__)

WRAP(int, os_file_open, int directory, const char *path, unsigned flags)
{
	int file = fails() ? disk.error : __real_os_file_open(directory, path, flags);

	if (file >= 0 && file < FILES)
		snprintf(disk.names[file], NAME, "%s", last_name(path));
	if (file >= 0 && (flags & OS_FILE_CREATE) != 0)
		note("make", path);
	return file;
}

WRAP(ssize_t, os_file_read, int file, void *data, size_t size, uint64_t offset)
{
	return fails() ? disk.error : __real_os_file_read(file, data, size, offset);
}

/* The call that fails writes a half; a process that is dead writes nothing. */
WRAP(int, os_file_write, int file, const void *data, size_t size, uint64_t offset)
{
	if (fails()) {
		if (disk.calls == disk.at)
			(void)!__real_os_file_write(file, data, size / 2, offset);
		return disk.error;
	}
	note("write", disk.names[file]);
	return __real_os_file_write(file, data, size, offset);
}

WRAP(int, os_file_truncate, int file, uint64_t size)
{
	if (fails())
		return disk.error;
	note("cut", disk.names[file]);
	return __real_os_file_truncate(file, size);
}

WRAP(int, os_file_info, int file, struct os_file_info *info_out)
{
	return fails() ? disk.error : __real_os_file_info(file, info_out);
}

WRAP(int, os_file_info_at, int directory, const char *path, struct os_file_info *info_out)
{
	return fails() ? disk.error : __real_os_file_info_at(directory, path, info_out);
}

WRAP(int, os_file_sync, int file)
{
	if (fails())
		return disk.error;
	note("sync", disk.names[file]);
	return 0;
}

WRAP(int, os_file_sync_directory, int directory, const char *path)
{
	(void)directory;
	if (fails())
		return disk.error;
	note("sync", path);
	return 0;
}

WRAP(int, os_file_link, int directory, const char *from, const char *to)
{
	if (fails())
		return disk.error;
	note("link", to);
	return __real_os_file_link(directory, from, to);
}

WRAP(int, os_file_rename, int directory, const char *from, const char *to)
{
	if (fails())
		return disk.error;
	note("rename", to);
	return __real_os_file_rename(directory, from, to);
}

WRAP(int, os_file_unlink, int directory, const char *path)
{
	if (fails())
		return disk.error;
	note("remove", path);
	return __real_os_file_unlink(directory, path);
}

WRAP(int, os_file_range_lock_all, int file)
{
	return fails() ? disk.error : __real_os_file_range_lock_all(file);
}
