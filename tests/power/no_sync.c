// SPDX-License-Identifier: ISC
/*
 * To be preloaded: a system in which every sync is forgotten. What the campaign
 * then does not lose shows what the campaign cannot see.
 */
#include <fcntl.h>
#include <unistd.h>

int fsync(int file)
{
	(void)file;
	return 0;
}

int fdatasync(int file)
{
	(void)file;
	return 0;
}

int syncfs(int file)
{
	(void)file;
	return 0;
}

int sync_file_range(int file, off64_t offset, off64_t length, unsigned int flags)
{
	(void)file;
	(void)offset;
	(void)length;
	(void)flags;
	return 0;
}
