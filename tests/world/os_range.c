// SPDX-License-Identifier: ISC
/* os/file/range.h on a simulated disk: the descriptors of the process that runs now. */
#include "disk_range.h"
#include "disk_table.h"
#include "os/file/range.h"
#include <errno.h>

int os_file_range_lock(int file, uint64_t offset)
{
	struct disk_file *open = disk_table_find(file);

	return open != NULL ? disk_range_lock(open, offset) : -EBADF;
}

/* Of files that have one lock at a time, that of all bytes is that of the first. */
int os_file_range_lock_all(int file)
{
	return os_file_range_lock(file, 0);
}

void os_file_range_unlock(int file, uint64_t offset)
{
	struct disk_file *open = disk_table_find(file);

	if (open != NULL)
		disk_range_unlock(open, offset);
}

void os_file_range_unlock_all(int file)
{
	struct disk_file *open = disk_table_find(file);

	if (open != NULL)
		disk_range_unlock_all(open);
}

/* The kernel does not tell whose an open file's lock is, either. */
int os_file_range_holder(int file, uint64_t offset, int *process_out)
{
	struct disk_file *open = disk_table_find(file);

	if (open == NULL)
		return -EBADF;
	if (!disk_range_is_taken(open, offset))
		return -ENOENT;
	*process_out = 0;
	return 0;
}
