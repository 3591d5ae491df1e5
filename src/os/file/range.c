// SPDX-License-Identifier: ISC
#include "os/file/range.h"
#include <errno.h>
#include <fcntl.h>
#include <sys/types.h>

static int control_record_lock(int file, int command, struct flock *lock)
{
	int result;

	do
		result = fcntl(file, command, lock);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

static int lock_bytes(int file, uint64_t offset, uint64_t count)
{
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = (off_t)offset,
			     .l_len = (off_t)count}; /* 0: up to the end, wherever that will be */
	int error = control_record_lock(file, F_OFD_SETLK, &lock);

	return error == -EACCES ? -EAGAIN : error;
}

int os_file_range_lock(int file, uint64_t offset)
{
	return lock_bytes(file, offset, 1);
}

int os_file_range_lock_all(int file)
{
	return lock_bytes(file, 0, 0);
}

void os_file_range_unlock(int file, uint64_t offset)
{
	struct flock lock = {
		.l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = 1};

	(void)control_record_lock(file, F_OFD_SETLK, &lock);
}

void os_file_range_unlock_all(int file)
{
	struct flock lock = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

	(void)control_record_lock(file, F_OFD_SETLK, &lock);
}

int os_file_range_holder(int file, uint64_t offset, int *process_out)
{
	struct flock lock = {
		.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)offset, .l_len = 1};
	int error = control_record_lock(file, F_OFD_GETLK, &lock);

	if (error < 0)
		return error;
	if (lock.l_type == F_UNLCK)
		return -ENOENT;
	*process_out = lock.l_pid > 0 ? lock.l_pid : 0;
	return 0;
}
