// SPDX-License-Identifier: ISC
/* What a disk changes or loses by itself: nobody has written it, and nobody is told. */
#include "disk_internal.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static uint64_t pages_of(const struct disk_image *image)
{
	uint64_t count = 0;

	for (size_t i = 0; i < image->count; i++)
		count += image->pages[i] != NULL;
	return count;
}

static struct disk_page *page_with(const char *text, size_t size)
{
	struct disk_page *page = disk_alloc(sizeof *page);

	memset(page->bytes, 0, DISK_PAGE);
	memcpy(page->bytes, text, size < DISK_PAGE ? size : DISK_PAGE);
	page->references = 1;
	return page;
}

/* Both images have the same pages, and none is on its way. */
static void put_text(struct disk_node *node, const char *text, size_t size)
{
	const size_t before = node->seen.count;

	for (size_t i = 0; i < before; i++)
		disk_node_clean(node, i);
	disk_image_resize(&node->seen, size);
	disk_image_resize(&node->durable, size);
	for (size_t offset = 0; offset < size; offset += DISK_PAGE) {
		struct disk_page *page = page_with(text + offset, size - offset);

		disk_image_set(&node->seen, offset / DISK_PAGE, page);
		disk_image_set(&node->durable, offset / DISK_PAGE, disk_page_share(page));
	}
	if (node->seen.count > before) {
		node->is_dirty = disk_resize(node->is_dirty, node->seen.count);
		memset(node->is_dirty + before, 0, node->seen.count - before);
	}
	disk_node_settle(node);
}

int disk_rot(struct disk *disk, const char *path, const char *text, size_t size)
{
	struct disk_node *node;
	int error = disk_look_up(disk, NULL, path, &node);

	if (error < 0)
		return error;
	if (!S_ISREG(node->mode) || !disk_is_durable(disk, path))
		return -EBUSY;
	disk->changes++;
	disk->pages -= pages_of(&node->seen);
	put_text(node, text, size);
	disk->pages += pages_of(&node->seen);
	return 0;
}

int disk_rot_name(struct disk *disk, const char *path)
{
	char name[DISK_NAME_MAX + 1];
	struct disk_node *directory;
	const struct disk_entry *entry;
	int error = disk_walk(disk, NULL, path, &directory, name);

	if (error < 0)
		return error;
	entry = disk_entry_find(directory, name);
	if (entry == NULL || entry->seen == NULL)
		return -ENOENT;
	if (S_ISDIR(entry->seen->mode) || entry->seen != entry->durable || entry->items > 0)
		return -EBUSY;
	disk_entry_see(directory, name, NULL, 0);
	disk_item_apply(directory->last);
	return disk_settle(disk);
}
