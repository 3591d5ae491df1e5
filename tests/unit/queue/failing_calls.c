// SPDX-License-Identifier: ISC
#include "failing_calls.h"
#include "os/file/file.h"
#include <errno.h>

unsigned failing_left;

static bool fails(void)
{
	return failing_left > 0 && --failing_left == 0;
}

#define FAILING(name, parameters, arguments)                             \
	int __real_os_file_##name parameters;                            \
	int __wrap_os_file_##name parameters;                            \
	int __wrap_os_file_##name parameters                             \
	{                                                                \
		return fails() ? -EIO : __real_os_file_##name arguments; \
	}

ssize_t __real_os_file_read(int file, void *data, size_t size, uint64_t offset);
ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset);

ssize_t __wrap_os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	return fails() ? -EIO : __real_os_file_read(file, data, size, offset);
}

FAILING(open, (int directory, const char *path, unsigned flags), (directory, path, flags))
FAILING(open_directory, (int directory, const char *path), (directory, path))
FAILING(write, (int file, const void *data, size_t size, uint64_t offset),
	(file, data, size, offset))
FAILING(append, (int file, const void *data, size_t size), (file, data, size))
FAILING(truncate, (int file, uint64_t size), (file, size))
/* The power stays: nothing is synced. */
int __wrap_os_file_sync(int file);
int __wrap_os_file_sync_directory(int directory, const char *path);
int __wrap_os_file_sync_filesystem(int file);
void __wrap_os_file_sync_many(const int *files, size_t count, int *results);
void __wrap_os_file_sync_directories(const int *directories, size_t count, int *results);

int __wrap_os_file_sync(int file)
{
	(void)file;
	return fails() ? -EIO : 0;
}

int __wrap_os_file_sync_directory(int directory, const char *path)
{
	(void)directory;
	(void)path;
	return fails() ? -EIO : 0;
}

int __wrap_os_file_sync_filesystem(int file)
{
	(void)file;
	return fails() ? -EIO : 0;
}

void __wrap_os_file_sync_many(const int *files, size_t count, int *results)
{
	(void)files;
	for (size_t i = 0; i < count; i++)
		results[i] = fails() ? -EIO : 0;
}

void __wrap_os_file_sync_directories(const int *directories, size_t count, int *results)
{
	__wrap_os_file_sync_many(directories, count, results);
}

FAILING(link, (int directory, const char *from, const char *to), (directory, from, to))
FAILING(rename_new, (int directory, const char *from, const char *to), (directory, from, to))
FAILING(rename, (int directory, const char *from, const char *to), (directory, from, to))
FAILING(unlink, (int directory, const char *path), (directory, path))
FAILING(info, (int file, struct os_file_info *info_out), (file, info_out))
FAILING(info_at, (int directory, const char *path, struct os_file_info *info_out),
	(directory, path, info_out))
FAILING(list_open, (int directory, const char *path, struct os_file_list **list_out),
	(directory, path, list_out))
FAILING(list_next, (struct os_file_list * list, const char **name_out), (list, name_out))
FAILING(list,
	(int directory, const char *path, int (*each)(void *context, const char *name),
	 void *context),
	(directory, path, each, context))
