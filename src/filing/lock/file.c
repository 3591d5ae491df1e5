// SPDX-License-Identifier: ISC
#include "filing/lock/file.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "os/file/range.h"
#include <errno.h>
#include <stdlib.h>

struct lock_file {
	char *path;
	int file;
	struct os_file_info info; /* when it was opened */
};

static int open_or_create_lock_file(const char *path)
{
	const unsigned flags = OS_FILE_WRITE | OS_FILE_PRIVATE;
	int file = -EEXIST;

	/* whoever loses the race of creating it opens the winner's */
	for (int i = 0; i < 2 && (file == -EEXIST || file == -ENOENT); i++) {
		file = os_file_open(OS_FILE_HERE, path, flags);
		if (file == -ENOENT)
			file = os_file_open(OS_FILE_HERE, path, flags | OS_FILE_CREATE);
	}
	return file;
}

int lock_file_open(const char *path, struct lock_file **file_out)
{
	struct lock_file *lock;
	struct os_file_info info;
	int file = open_or_create_lock_file(path);
	int error = file < 0 ? file : os_file_info(file, &info);

	if (error < 0) {
		os_file_close(file);
		return error;
	}
	lock = memory_alloc_zero(1, sizeof *lock);
	lock->path = memory_copy_string(path);
	lock->file = file;
	lock->info = info;
	*file_out = lock;
	return 0;
}

void lock_file_close(struct lock_file *file)
{
	if (file == NULL)
		return;
	os_file_close(file->file);
	free(file->path);
	free(file);
}

bool lock_file_is_there(const struct lock_file *file)
{
	struct os_file_info info;

	return os_file_info_at(OS_FILE_HERE, file->path, &info) == 0 &&
	       info.inode == file->info.inode && info.device == file->info.device;
}

/* Offsets have a sign. */
static uint64_t offset_of(const struct lock_name *name)
{
	return name->key >> 1;
}

int lock_file_take(struct lock_file *file, const struct lock_name *name)
{
	return os_file_range_lock(file->file, offset_of(name));
}

void lock_file_release(struct lock_file *file, const struct lock_name *name)
{
	os_file_range_unlock(file->file, offset_of(name));
}

void lock_file_release_all(struct lock_file *file)
{
	os_file_range_unlock_all(file->file);
}

int lock_file_holder(struct lock_file *file, const struct lock_name *name, int *process_out)
{
	return os_file_range_holder(file->file, offset_of(name), process_out);
}
