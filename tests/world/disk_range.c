// SPDX-License-Identifier: ISC
#include "disk_range.h"
#include "disk_internal.h"
#include <errno.h>

static bool has(const struct disk_file *file, uint64_t offset)
{
	for (size_t i = 0; i < file->range_count; i++)
		if (file->ranges[i] == offset)
			return true;
	return false;
}

bool disk_range_is_taken(const struct disk_file *file, uint64_t offset)
{
	for (const struct disk_file *other = file->node->files; other != NULL; other = other->next)
		if (other != file && has(other, offset))
			return true;
	return false;
}

int disk_range_lock(struct disk_file *file, uint64_t offset)
{
	if ((file->flags & OS_FILE_WRITE) == 0)
		return -EBADF;
	if (disk_range_is_taken(file, offset))
		return -EAGAIN;
	if (has(file, offset))
		return 0;
	file->ranges = disk_resize(file->ranges, (file->range_count + 1) * sizeof *file->ranges);
	file->ranges[file->range_count++] = offset;
	return 0;
}

void disk_range_unlock(struct disk_file *file, uint64_t offset)
{
	size_t kept = 0;

	for (size_t i = 0; i < file->range_count; i++)
		if (file->ranges[i] != offset)
			file->ranges[kept++] = file->ranges[i];
	file->range_count = kept;
}

void disk_range_unlock_all(struct disk_file *file)
{
	file->range_count = 0;
}
