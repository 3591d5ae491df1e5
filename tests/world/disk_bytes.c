// SPDX-License-Identifier: ISC
/* The bytes of files: pages that are shared until they differ. */
#include "disk_ear.h"
#include "disk_internal.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct disk_page *disk_page_share(struct disk_page *page)
{
	page->references++;
	return page;
}

static void drop_page(struct disk_page *page)
{
	if (page != NULL && --page->references == 0)
		free(page);
}

static struct disk_page *new_page(const struct disk_page *like)
{
	struct disk_page *page = disk_alloc(sizeof *page);

	if (like != NULL)
		memcpy(page->bytes, like->bytes, DISK_PAGE);
	else
		memset(page->bytes, 0, DISK_PAGE);
	page->references = 1;
	return page;
}

void disk_image_clear(struct disk_image *image)
{
	for (size_t i = 0; i < image->count; i++)
		drop_page(image->pages[i]);
	free(image->pages);
	*image = (struct disk_image){0};
}

static void reserve(struct disk_image *image, size_t count)
{
	if (count <= image->count)
		return;
	image->pages = disk_resize(image->pages, count * sizeof(struct disk_page *));
	memset(image->pages + image->count, 0, (count - image->count) * sizeof(struct disk_page *));
	image->count = count;
}

void disk_image_set(struct disk_image *image, size_t number, struct disk_page *page)
{
	reserve(image, number + 1);
	drop_page(image->pages[number]);
	image->pages[number] = page;
}

/* A page that is the image's alone. */
static struct disk_page *own_page(struct disk_image *image, size_t number)
{
	struct disk_page *page = number < image->count ? image->pages[number] : NULL;

	if (page == NULL || page->references > 1)
		disk_image_set(image, number, new_page(page));
	return image->pages[number];
}

void disk_image_resize(struct disk_image *image, uint64_t size)
{
	size_t first = (size_t)((size + DISK_PAGE - 1) / DISK_PAGE);

	for (size_t i = first; i < image->count; i++) {
		drop_page(image->pages[i]);
		image->pages[i] = NULL;
	}
	if (size % DISK_PAGE != 0 && first <= image->count && image->pages[first - 1] != NULL)
		memset(own_page(image, first - 1)->bytes + size % DISK_PAGE, 0,
		       DISK_PAGE - size % DISK_PAGE);
	image->size = size;
}

void disk_node_clean(struct disk_node *node, size_t number)
{
	node->dirty_count -= node->is_dirty[number];
	node->is_dirty[number] = false;
}

static void note_change(struct disk_node *node)
{
	struct disk *disk = node->disk;

	if (node->is_changed)
		return;
	node->is_changed = true;
	node->changed_after = disk->changed;
	if (disk->changed != NULL)
		disk->changed->changed_before = node;
	disk->changed = node;
}

void disk_node_settle(struct disk_node *node)
{
	struct disk_node *after = node->changed_after;

	if (!node->is_changed)
		return;
	*(node->changed_before != NULL ? &node->changed_before->changed_after
				       : &node->disk->changed) = after;
	if (after != NULL)
		after->changed_before = node->changed_before;
	node->is_changed = false;
	node->changed_before = node->changed_after = NULL;
}

static uint64_t count_pages(const struct disk_image *image)
{
	uint64_t count = 0;

	for (size_t i = 0; i < image->count; i++)
		count += image->pages[i] != NULL;
	return count;
}

void disk_node_leave_bytes(struct disk_node *node)
{
	node->disk->pages -= count_pages(&node->seen);
	disk_image_clear(&node->seen);
	free(node->is_dirty);
	node->is_dirty = NULL;
	node->dirty_count = 0;
	disk_node_settle(node);
}

ssize_t disk_read(struct disk_file *file, void *data, size_t size, uint64_t offset)
{
	const struct disk_image *seen = &file->node->seen;
	char *place = data;
	int error = disk_fault(file->node->disk, DISK_READ, file->node->inode);

	if (size == 0)
		return 0;
	if (!S_ISREG(file->node->mode))
		return S_ISDIR(file->node->mode) ? -EISDIR : -ESPIPE;
	if (error < 0)
		return error;
	if (offset >= seen->size)
		return 0;
	if (size > seen->size - offset)
		size = (size_t)(seen->size - offset);
	for (size_t left = size, length; left > 0; left -= length) {
		size_t number = (size_t)(offset / DISK_PAGE);
		size_t start = (size_t)(offset % DISK_PAGE);

		length = left < DISK_PAGE - start ? left : DISK_PAGE - start;
		if (number < seen->count && seen->pages[number] != NULL)
			memcpy(place, seen->pages[number]->bytes + start, length);
		else
			memset(place, 0, length);
		place += length;
		offset += length;
	}
	return (ssize_t)size;
}

/* What is overwritten before a sync may have reached the disk: some of its sectors did. */
static void leave_behind(struct disk_node *node, size_t number)
{
	const struct disk_page *page = node->seen.pages[number];
	uint64_t sectors;

	if (!node->is_dirty[number] || node->first != NULL || disk_chance(node->disk, 4) != 0)
		return;
	sectors = disk_chance(node->disk, 1 << (DISK_PAGE / DISK_SECTOR));
	for (size_t i = 0; i < DISK_PAGE / DISK_SECTOR; i++)
		if ((sectors >> i & 1) != 0)
			memcpy(own_page(&node->durable, number)->bytes + i * DISK_SECTOR,
			       page->bytes + i * DISK_SECTOR, DISK_SECTOR);
}

static int write_page(struct disk_node *node, const char *data, size_t length, uint64_t offset)
{
	struct disk *disk = node->disk;
	size_t number = (size_t)(offset / DISK_PAGE);
	size_t before = node->seen.count;

	note_change(node);
	if (number >= before) {
		reserve(&node->seen, number + 1 + number / 2);
		node->is_dirty = disk_resize(node->is_dirty, node->seen.count);
		memset(node->is_dirty + before, 0, node->seen.count - before);
	}
	if (node->seen.pages[number] == NULL) {
		if (disk->options.pages_max > 0 && disk->pages >= disk->options.pages_max)
			return -ENOSPC;
		disk->pages++;
	} else {
		leave_behind(node, number);
	}
	memcpy(own_page(&node->seen, number)->bytes + offset % DISK_PAGE, data, length);
	node->dirty_count += !node->is_dirty[number];
	node->is_dirty[number] = true;
	return 0;
}

/* The size that the file had may have reached the disk before it grew on. */
static void grow(struct disk_node *node, uint64_t size)
{
	if (node->seen.size > node->durable.size && node->first == NULL &&
	    disk_chance(node->disk, 4) == 0)
		node->durable.size = node->seen.size;
	note_change(node);
	node->seen.size = size;
	node->changed = node->disk->changes;
}

static int write_bytes(struct disk_node *node, const char *data, size_t size, uint64_t offset)
{
	int error = 0;

	if (offset > DISK_FILE_MAX || size > DISK_FILE_MAX - offset)
		return -EFBIG;
	while (error == 0 && size > 0) {
		size_t length = DISK_PAGE - (size_t)(offset % DISK_PAGE);

		if (length > size)
			length = size;
		error = write_page(node, data, length, offset);
		if (error < 0)
			break;
		data += length;
		offset += length;
		size -= length;
		if (offset > node->seen.size)
			grow(node, offset);
		node->modified_us = node->changed_us = node->disk->now_us;
	}
	return error;
}

static int write_at(struct disk_file *file, const void *data, size_t size, uint64_t offset)
{
	struct disk_node *node = file->node;
	int fault = disk_fault(node->disk, DISK_WRITE, node->inode);
	int error;

	if (fault == -ENODEV)
		return fault;
	error = write_bytes(node, data, fault < 0 ? size / 2 : size, offset);
	disk_sound_bytes(node, DISK_WRITTEN);
	return fault < 0 ? fault : error;
}

int disk_write(struct disk_file *file, const void *data, size_t size, uint64_t offset)
{
	if (size == 0)
		return 0;
	if (S_ISFIFO(file->node->mode))
		return -ESPIPE;
	if ((file->flags & OS_FILE_WRITE) == 0)
		return -EBADF;
	return write_at(file, data, size,
			(file->flags & OS_FILE_APPEND) != 0 ? file->node->seen.size : offset);
}

int disk_append(struct disk_file *file, const void *data, size_t size)
{
	int error;

	if (size == 0)
		return 0;
	if ((file->flags & OS_FILE_WRITE) == 0)
		return -EBADF;
	if (!S_ISREG(file->node->mode))
		return -ESPIPE;
	if ((file->flags & OS_FILE_APPEND) != 0)
		file->position = file->node->seen.size;
	error = write_at(file, data, size, file->position);
	if (error == 0)
		file->position += size;
	return error;
}

int disk_truncate(struct disk_file *file, uint64_t size)
{
	struct disk_node *node = file->node;
	uint64_t before;
	int error = disk_fault(node->disk, DISK_TRUNCATE, node->inode);

	if ((file->flags & OS_FILE_WRITE) == 0 || !S_ISREG(node->mode))
		return -EINVAL;
	if (error < 0)
		return error;
	if (size > DISK_FILE_MAX)
		return -EFBIG;
	node->modified_us = node->changed_us = node->disk->now_us;
	disk_sound_bytes(node, DISK_WRITTEN);
	if (size > node->seen.size)
		grow(node, size);
	if (size >= node->seen.size)
		return 0;
	note_change(node);
	disk_item_add(node, DISK_ITEM_CUT)->out.size = size;
	before = count_pages(&node->seen);
	disk_image_resize(&node->seen, size);
	node->disk->pages -= before - count_pages(&node->seen);
	for (size_t i = 0; i < node->seen.count; i++)
		if (node->seen.pages[i] == NULL)
			disk_node_clean(node, i);
	return 0;
}

static bool is_page_durable(const struct disk_node *node, size_t number)
{
	static const struct disk_page hole;
	const struct disk_page *seen = node->seen.pages[number];
	const struct disk_page *durable =
		number < node->durable.count ? node->durable.pages[number] : NULL;

	if (seen == durable)
		return true;
	seen = seen != NULL ? seen : &hole;
	durable = durable != NULL ? durable : &hole;
	return memcmp(seen->bytes, durable->bytes, DISK_PAGE) == 0;
}

bool disk_is_durable(struct disk *disk, const char *path)
{
	char name[DISK_NAME_MAX + 1];
	struct disk_node *directory;
	const struct disk_entry *entry;
	const struct disk_node *node;

	if (disk_walk(disk, NULL, path, &directory, name) < 0)
		return false;
	entry = disk_entry_find(directory, name);
	node = entry != NULL ? entry->durable : NULL;
	if (node == NULL || entry->items > 0 || node != entry->seen || node->item_count > 0 ||
	    node->durable.size != node->seen.size)
		return false;
	for (size_t i = 0; i < node->seen.count; i++)
		if (!is_page_durable(node, i))
			return false;
	return true;
}
