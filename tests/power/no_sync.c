// SPDX-License-Identifier: ISC
/*
 * To be preloaded: a system that forgets some syncs, those that $NO_SYNC names: "files",
 * "directories", "ranges", "filesystems" or "all". What a campaign then does not lose shows
 * what it cannot see.
 */
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool is_forgotten(const char *kind)
{
	const char *forgotten = getenv("NO_SYNC");

	return forgotten != NULL && (strcmp(forgotten, kind) == 0 || strcmp(forgotten, "all") == 0);
}

static bool is_file_forgotten(int file)
{
	struct stat info;

	return fstat(file, &info) == 0 &&
	       is_forgotten(S_ISDIR(info.st_mode) ? "directories" : "files");
}

int fsync(int file)
{
	return is_file_forgotten(file) ? 0 : (int)syscall(SYS_fsync, file);
}

int fdatasync(int file)
{
	return is_file_forgotten(file) ? 0 : (int)syscall(SYS_fdatasync, file);
}

int syncfs(int file)
{
	return is_forgotten("filesystems") ? 0 : (int)syscall(SYS_syncfs, file);
}

int sync_file_range(int file, off64_t offset, off64_t length, unsigned int flags)
{
	if (is_forgotten("ranges"))
		return 0;
	return (int)syscall(SYS_sync_file_range, file, offset, length, flags);
}
