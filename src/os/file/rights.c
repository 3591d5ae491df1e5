// SPDX-License-Identifier: ISC
#include "os/file/rights.h"
#include "base/timestamp.h"
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

int os_file_info_behind(const char *path, struct os_file_info *info_out)
{
	struct stat status;

	if (stat(path, &status) != 0)
		return -errno;
	*info_out = (struct os_file_info){
		.inode = status.st_ino,
		.device = status.st_dev,
		.links = status.st_nlink,
		.size = (uint64_t)status.st_size,
		.modified_us = status.st_mtim.tv_sec * SECOND_US + status.st_mtim.tv_nsec / 1000,
		.changed_us = status.st_ctim.tv_sec * SECOND_US + status.st_ctim.tv_nsec / 1000,
		.is_directory = S_ISDIR(status.st_mode),
		.mode = status.st_mode,
		.owner = status.st_uid,
		.group = status.st_gid,
	};
	return 0;
}

int os_file_may_write(const char *path)
{
	return access(path, W_OK) != 0 ? -errno : 0;
}

int os_file_may_run(const char *path)
{
	return access(path, X_OK) != 0 ? -errno : 0;
}

int os_file_set_owner(const char *path, uid_t user, gid_t group)
{
	return lchown(path, user, group) != 0 ? -errno : 0;
}

int os_file_set_mode(int file, unsigned mode)
{
	return fchmod(file, mode) != 0 ? -errno : 0;
}
