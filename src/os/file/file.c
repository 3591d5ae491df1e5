// SPDX-License-Identifier: ISC
#include "os/file/file.h"
#include "base/descriptor.h"
#include "base/timestamp.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

/* The result of CALL, or -errno; repeats it while a signal interrupts it. */
#define RETRY(call)                                           \
	({                                                    \
		typeof(call) result_;                         \
		do                                            \
			result_ = (call);                     \
		while (result_ < 0 && errno == EINTR);        \
		result_ < 0 ? (typeof(call))-errno : result_; \
	})

int os_file_open_directory(int directory, const char *path)
{
	return RETRY(openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

int os_file_open(int directory, const char *path, unsigned flags)
{
	mode_t mode = (flags & OS_FILE_PRIVATE) != 0 ? 0600 : 0640;
	int how = O_CLOEXEC | O_NOCTTY;

	how |= (flags & OS_FILE_WRITE) != 0 ? O_RDWR : O_RDONLY;
	if ((flags & OS_FILE_CREATE) != 0)
		how |= O_CREAT | O_EXCL;
	if ((flags & OS_FILE_APPEND) != 0)
		how |= O_APPEND;
	if ((flags & OS_FILE_NO_BLOCK) != 0)
		how |= O_NONBLOCK;
	if ((flags & OS_FILE_NO_FOLLOW) != 0)
		how |= O_NOFOLLOW;
	return RETRY(openat(directory, path, how, mode));
}

void os_file_close(int file)
{
	if (file >= 0)
		close(file);
}

ssize_t os_file_read(int file, void *data, size_t size, uint64_t offset)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = RETRY(
			pread(file, (char *)data + have, size - have, (off_t)(offset + have)));

		if (n < 0)
			return n;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

int os_file_write(int file, const void *data, size_t size, uint64_t offset)
{
	size_t written = 0;

	while (written < size) {
		ssize_t n = RETRY(pwrite(file, (const char *)data + written, size - written,
					 (off_t)(offset + written)));

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -EIO;
		written += (size_t)n;
	}
	return 0;
}

int os_file_append(int file, const void *data, size_t size)
{
	size_t written = 0;

	while (written < size) {
		ssize_t n = RETRY(write(file, (const char *)data + written, size - written));

		if (n < 0)
			return (int)n;
		if (n == 0)
			return -EIO;
		written += (size_t)n;
	}
	return 0;
}

int os_file_truncate(int file, uint64_t size)
{
	return RETRY(ftruncate(file, (off_t)size));
}

int os_file_sync(int file)
{
	return RETRY(fdatasync(file));
}

/* All I/O is started before any is waited for. An error of the first call, such as a block that
 * could not be allocated, would not be reported by later ones. The second call also waits for pages
 * that the kernel's own writeback has started, and reports (and clears for this open file) any
 * write error since the file was opened. */
void os_file_write_out_many(const int *files, size_t count, int *results)
{
	const unsigned int all =
		SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	for (size_t i = 0; i < count; i++)
		results[i] = RETRY(sync_file_range(files[i], 0, 0, SYNC_FILE_RANGE_WRITE));
	for (size_t i = 0; i < count; i++)
		if (results[i] == 0)
			results[i] = RETRY(sync_file_range(files[i], 0, 0, all));
}

int os_file_sync_directory(int directory, const char *path)
{
	int file = os_file_open_directory(directory, path);
	int result;

	if (file < 0)
		return file;
	result = RETRY(fsync(file));
	close(file);
	return result;
}

int os_file_sync_filesystem(int file)
{
	return RETRY(syncfs(file));
}

int os_file_link(int directory, const char *from, const char *to)
{
	return RETRY(linkat(directory, from, directory, to, 0));
}

int os_file_rename_new(int directory, const char *from, const char *to)
{
	int result = RETRY(renameat2(directory, from, directory, to, RENAME_NOREPLACE));

	if (result != -EINVAL && result != -ENOSYS)
		return result;
	/* the file system does not support RENAME_NOREPLACE */
	result = os_file_link(directory, from, to);
	return result == 0 ? os_file_unlink(directory, from) : result;
}

int os_file_rename(int directory, const char *from, const char *to)
{
	return RETRY(renameat(directory, from, directory, to));
}

int os_file_unlink(int directory, const char *path)
{
	return RETRY(unlinkat(directory, path, 0));
}

int os_file_make_directory(int directory, const char *path)
{
	return RETRY(mkdirat(directory, path, 0750));
}

int os_file_make_pipe(int directory, const char *path)
{
	return RETRY(mkfifoat(directory, path, 0620));
}

static void fill_info(const struct stat *status, struct os_file_info *info_out)
{
	*info_out = (struct os_file_info){
		.inode = status->st_ino,
		.device = status->st_dev,
		.links = status->st_nlink,
		.size = (uint64_t)status->st_size,
		.modified_us = status->st_mtim.tv_sec * SECOND_US + status->st_mtim.tv_nsec / 1000,
		.changed_us = status->st_ctim.tv_sec * SECOND_US + status->st_ctim.tv_nsec / 1000,
		.is_directory = S_ISDIR(status->st_mode),
		.mode = status->st_mode,
		.owner = status->st_uid,
		.group = status->st_gid,
	};
}

int os_file_info(int file, struct os_file_info *info_out)
{
	struct stat status;
	int result = RETRY(descriptor_status(file, &status));

	if (result == 0)
		fill_info(&status, info_out);
	return result;
}

int os_file_info_at(int directory, const char *path, struct os_file_info *info_out)
{
	struct stat status;
	int result = RETRY(fstatat(directory, path, &status, AT_SYMLINK_NOFOLLOW));

	if (result == 0)
		fill_info(&status, info_out);
	return result;
}

int os_file_set_modified(int directory, const char *path, int64_t modified_us)
{
	struct timespec times[2] = {
		{.tv_nsec = UTIME_OMIT},
		{.tv_sec = modified_us / SECOND_US, .tv_nsec = modified_us % SECOND_US * 1000},
	};

	return RETRY(utimensat(directory, path, times, AT_SYMLINK_NOFOLLOW));
}

int os_file_space(int file, struct os_file_space *space_out)
{
	struct statvfs space;
	int result = RETRY(fstatvfs(file, &space));

	if (result < 0)
		return result;
	space_out->free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
	space_out->free_inodes = space.f_files > 0 ? space.f_favail : UINT64_MAX;
	space_out->inodes = space.f_files > 0 ? space.f_files : UINT64_MAX;
	return 0;
}

int os_file_filesystem_type(int file, uint64_t *type_out)
{
	struct statfs filesystem;
	int result = RETRY(fstatfs(file, &filesystem));

	if (result == 0)
		*type_out = (uint64_t)filesystem.f_type & UINT32_MAX;
	return result;
}

/* A struct os_file_list is a DIR. */
int os_file_list_open(int directory, const char *path, struct os_file_list **list_out)
{
	int file = os_file_open_directory(directory, path);
	DIR *list;

	if (file < 0)
		return file;
	list = fdopendir(file);
	if (list == NULL) {
		int error = -errno;

		close(file);
		return error;
	}
	*list_out = (struct os_file_list *)list;
	return 0;
}

int os_file_list_next(struct os_file_list *list, const char **name_out)
{
	const struct dirent *entry;

	do {
		errno = 0;
		entry = readdir((DIR *)list);
		if (entry == NULL)
			return -errno;
	} while (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0);
	*name_out = entry->d_name;
	return 1;
}

int os_file_list_info(struct os_file_list *list, const char *name, struct os_file_info *info_out)
{
	return os_file_info_at(dirfd((DIR *)list), name, info_out);
}

void os_file_list_close(struct os_file_list *list)
{
	if (list != NULL)
		closedir((DIR *)list);
}

int os_file_list(int directory, const char *path, int (*each)(void *context, const char *name),
		 void *context)
{
	struct os_file_list *list = NULL;
	const char *name = NULL;
	int result = os_file_list_open(directory, path, &list);

	if (list == NULL)
		return result;
	for (;;) {
		result = os_file_list_next(list, &name);
		if (result <= 0)
			break;
		result = each(context, name);
		if (result != 0)
			break;
	}
	os_file_list_close(list);
	return result;
}

int os_file_lock(int file)
{
	return RETRY(flock(file, LOCK_EX | LOCK_NB));
}
