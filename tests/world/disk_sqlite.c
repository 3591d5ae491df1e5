// SPDX-License-Identifier: ISC
#include "disk_sqlite.h"
#include "disk_internal.h"
#include <errno.h>
#include <stdlib.h>

enum { NONE, SHARED, RESERVED, PENDING, EXCLUSIVE };

/* The highest level that another open file has. */
static int others(const struct disk_file *file)
{
	int level = NONE;

	for (const struct disk_file *other = file->node->files; other != NULL; other = other->next)
		if (other != file && other->level > level)
			level = other->level;
	return level;
}

int disk_sqlite_lock(struct disk_file *file, int level)
{
	int highest = others(file);

	if (file->level >= level)
		return 0;
	if (level == SHARED && highest >= PENDING)
		return -EAGAIN;
	if (level > SHARED && highest >= RESERVED)
		return -EAGAIN;
	file->level = level;
	if (level == EXCLUSIVE && highest > NONE) {
		file->level = PENDING;
		return -EAGAIN;
	}
	return 0;
}

void disk_sqlite_unlock(struct disk_file *file, int level)
{
	if (file->level > level)
		file->level = level;
}

bool disk_sqlite_is_reserved(const struct disk_file *file)
{
	return file->level >= RESERVED || others(file) >= RESERVED;
}

void *disk_sqlite_share(struct disk_file *file, unsigned number, size_t size, bool made)
{
	struct disk_node *node = file->node;

	if (number >= node->shared_count && made) {
		node->shared = disk_resize(node->shared, (number + 1) * sizeof(void *));
		while (node->shared_count <= number)
			node->shared[node->shared_count++] = NULL;
	}
	if (number >= node->shared_count)
		return NULL;
	if (node->shared[number] == NULL && made)
		node->shared[number] = disk_alloc(size);
	return node->shared[number];
}

void disk_sqlite_forget(struct disk_node *node)
{
	for (size_t i = 0; i < node->shared_count; i++)
		free(node->shared[i]);
	free(node->shared);
	node->shared = NULL;
	node->shared_count = 0;
}

int disk_sqlite_share_lock(struct disk_file *file, unsigned mask, bool is_exclusive)
{
	for (const struct disk_file *other = file->node->files; other != NULL; other = other->next)
		if (other != file && ((other->exclusive & mask) != 0 ||
				      (is_exclusive && (other->common & mask) != 0)))
			return -EAGAIN;
	*(is_exclusive ? &file->exclusive : &file->common) |= mask;
	return 0;
}

void disk_sqlite_share_unlock(struct disk_file *file, unsigned mask)
{
	file->exclusive &= ~mask;
	file->common &= ~mask;
}
