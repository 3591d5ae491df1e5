// SPDX-License-Identifier: ISC
/* What is durable: by a sync, or by chance when the power is cut. */
#include "disk_internal.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { SECTORS = DISK_PAGE / DISK_SECTOR };

/* --- syncs --- */

/* What a write that failed was to bring: some pages did come. All are clean. */
static void lose_pages(struct disk_node *node)
{
	for (size_t i = 0; i < node->seen.count; i++) {
		if (node->dirty_count == 0)
			return;
		if (!node->is_dirty[i])
			continue;
		if (node->seen.pages[i] != NULL && disk_chance(node->disk, 2) == 0)
			disk_image_set(&node->durable, i, disk_page_share(node->seen.pages[i]));
		disk_node_clean(node, i);
	}
}

static void keep_pages(struct disk_node *node)
{
	for (size_t i = 0; node->dirty_count > 0 && i < node->seen.count; i++) {
		if (!node->is_dirty[i])
			continue;
		disk_image_set(&node->durable, i, disk_page_share(node->seen.pages[i]));
		disk_node_clean(node, i);
	}
	node->durable.size = node->seen.size;
	disk_node_settle(node);
}

/* Where there is an order, a cut is in it, and so is what was done before the file last grew. */
static void decide_items(struct disk_node *node)
{
	uint64_t last = node->changed;

	for (const struct disk_item *item = node->first; item != NULL; item = item->own_after)
		if (item->kind == DISK_ITEM_CUT && item->order > last)
			last = item->order;
	if (node->disk->options.keeps_order)
		disk_items_apply_until(node->disk, last);
	while (node->first != NULL)
		disk_item_apply(node->first);
}

int disk_sync(struct disk_file *file)
{
	struct disk_node *node = file->node;
	int error;

	if (S_ISDIR(node->mode))
		return disk_sync_names(file);
	if (!S_ISREG(node->mode))
		return -EINVAL;
	error = disk_fault(node->disk, DISK_SYNC, node->inode);
	if (error < 0) {
		if (error != -ENODEV)
			lose_pages(node);
		return error;
	}
	if (node->is_left || (node->first == NULL && node->dirty_count == 0 &&
			      node->durable.size == node->seen.size))
		return 0;
	decide_items(node);
	keep_pages(node);
	return 0;
}

int disk_write_out(struct disk_file *file)
{
	struct disk_node *node = file->node;
	struct disk_item *item;
	int error;

	if (!S_ISREG(node->mode) && !S_ISDIR(node->mode))
		return -ESPIPE;
	error = disk_fault(node->disk, DISK_WRITE_OUT, node->inode);
	if (error < 0 && error != -ENODEV)
		lose_pages(node);
	if (error < 0 || !node->disk->options.keeps_order ||
	    (node->dirty_count == 0 && node->seen.size <= node->durable.size))
		return error;
	item = disk_item_add(node, DISK_ITEM_OUT);
	item->out.size = node->seen.size;
	for (size_t i = 0; i < node->seen.count; i++)
		if (node->is_dirty[i])
			disk_image_set(&item->out, i, disk_page_share(node->seen.pages[i]));
	return 0;
}

/* What was to be made durable, and never is. Where there is an order, nothing that was done before
 * the sync failed is kept: what came after those names must not be there without them. */
static void lose_names(struct disk_node *directory)
{
	struct disk *disk = directory->disk;

	disk->is_broken = true;
	if (disk->options.keeps_order)
		while (disk->first != NULL)
			disk_item_lose(disk->first);
	else
		while (directory->first != NULL)
			disk_item_lose(directory->first);
}

int disk_sync_names(struct disk_file *file)
{
	struct disk_node *directory = file->node;
	struct disk *disk = directory->disk;
	int error;

	if (S_ISREG(directory->mode))
		return disk_sync(file);
	if (!S_ISDIR(directory->mode))
		return -EINVAL;
	error = disk_fault(disk, DISK_SYNC_NAMES, directory->inode);
	if (error == -ENODEV)
		return error;
	if (error < 0)
		lose_names(directory);
	else if (disk->options.keeps_order)
		disk_items_apply_until(disk, directory->changed);
	else
		while (directory->first != NULL)
			disk_item_apply(directory->first);
	return error;
}

int disk_sync_all(struct disk *disk)
{
	int error = disk_fault(disk, DISK_SYNC_ALL, 0);

	if (error == -ENODEV)
		return error;
	if (error < 0) {
		disk->is_broken = true;
		while (disk->first != NULL)
			disk_item_lose(disk->first);
	}
	while (disk->first != NULL)
		disk_item_apply(disk->first);
	for (struct disk_node *node = disk->changed, *after; node != NULL; node = after) {
		after = node->changed_after;
		if (error < 0)
			lose_pages(node);
		else
			keep_pages(node);
	}
	return error;
}

/* Each was made before this time came for the first, as this is asked before each change. */
void disk_live(struct disk *disk, int64_t uptime_us)
{
	disk->uptime_us = uptime_us;
	if (!disk->options.keeps_order || disk->is_broken || disk->first == NULL ||
	    uptime_us < disk->first->made_us + DISK_COMMIT_US)
		return;
	disk_items_apply_until(disk, disk->changes);
}

/* --- the power is cut --- */

/* Sectors of PAGE that came to the disk. */
static void keep_sectors(struct disk_node *node, size_t number, const struct disk_page *page)
{
	uint64_t sectors = disk_chance(node->disk, 3);
	struct disk_page *mixed;
	bool has_old = number < node->durable.count && node->durable.pages[number] != NULL;

	if (sectors == 0)
		return;
	sectors = sectors == 1 ? (1 << SECTORS) - 1 : disk_chance(node->disk, 1 << SECTORS);
	mixed = disk_alloc(sizeof *mixed);
	mixed->references = 1;
	if (has_old)
		memcpy(mixed->bytes, node->durable.pages[number]->bytes, DISK_PAGE);
	for (size_t i = 0; i < SECTORS; i++)
		if ((sectors >> i & 1) != 0)
			memcpy(mixed->bytes + i * DISK_SECTOR, page->bytes + i * DISK_SECTOR,
			       DISK_SECTOR);
	disk_image_set(&node->durable, number, mixed);
}

/* BOUND: what lies behind it was cut off later, and that is not undone. */
static void keep_some(struct disk_node *node, const struct disk_image *image, const bool *is_dirty,
		      uint64_t bound)
{
	for (size_t i = 0; i < image->count && (uint64_t)i * DISK_PAGE < bound; i++)
		if (image->pages[i] != NULL && (is_dirty == NULL || is_dirty[i]))
			keep_sectors(node, i, image->pages[i]);
}

/* Names, cuts and what was written out, where there is an order: up to some change. */
static void keep_first_items(struct disk *disk)
{
	uint64_t left = disk_chance(disk, disk->item_count + 1);
	uint64_t order = 0;

	if (disk_chance(disk, 4) == 0)
		left = disk->item_count;
	for (const struct disk_item *item = disk->first; item != NULL && left > 0; left--) {
		order = item->order;
		item = item->after;
	}
	disk_items_apply_until(disk, order);
}

/* Items of NODE that no order decides; then what was written and never synced. */
static void keep_some_items(struct disk_node *node)
{
	uint64_t bound = UINT64_MAX;
	bool keeps_order = node->disk->options.keeps_order;

	while (node->first != NULL) {
		struct disk_item *item = node->first;

		if (item->kind == DISK_ITEM_OUT)
			keep_some(node, &item->out, NULL, bound);
		if (item->kind != DISK_ITEM_OUT && !keeps_order &&
		    disk_chance(node->disk, 2) == 0) {
			disk_item_apply(item);
			continue;
		}
		if (item->kind == DISK_ITEM_CUT && item->out.size < bound)
			bound = item->out.size;
		disk_item_lose(item);
	}
	if (node->dirty_count > 0)
		keep_some(node, &node->seen, node->is_dirty, bound);
	if (bound == UINT64_MAX && node->seen.size > node->durable.size)
		switch (disk_chance(node->disk, 3)) {
		case 0:
			break;
		case 1:
			node->durable.size +=
				disk_chance(node->disk, node->seen.size - node->durable.size + 1);
			break;
		default:
			node->durable.size = node->seen.size;
		}
}

/* What is seen is what is durable; sectors behind the end went with the memory that knew of
 * them. */
static void see_durable(struct disk_node *node)
{
	disk_image_resize(&node->durable, node->durable.size);
	disk_node_leave_bytes(node);
	node->seen.size = node->durable.size;
	node->seen.count = node->durable.count;
	node->seen.pages = node->seen.count > 0
				   ? disk_alloc(node->seen.count * sizeof(struct disk_page *))
				   : NULL;
	node->is_dirty = node->seen.count > 0 ? disk_alloc(node->seen.count) : NULL;
	for (size_t i = 0; i < node->seen.count; i++)
		if (node->durable.pages[i] != NULL) {
			node->seen.pages[i] = disk_page_share(node->durable.pages[i]);
			node->disk->pages++;
		}
	node->links = 0;
	node->references = 0;
	node->is_left = false;
	node->is_number_free = false;
	node->is_reached = false;
	node->changed = 0;
	node->entry_count = 0;
	node->name_count = 0;
	node->folder_count = 0;
}

/* The durable entries of DIRECTORY are what is there. */
static void see_entries(struct disk_node *directory)
{
	for (size_t i = 0; i < directory->bucket_count; i++)
		for (struct disk_entry **place = &directory->buckets[i]; *place != NULL;) {
			struct disk_entry *entry = *place;

			entry->seen = entry->durable;
			if (entry->seen == NULL) {
				*place = entry->next;
				free(entry);
				continue;
			}
			directory->entry_count++;
			directory->name_count++;
			directory->folder_count += S_ISDIR(entry->seen->mode);
			entry->seen->references += 2;
			entry->seen->links++;
			place = &entry->next;
		}
}

static void reach(struct disk_node *node)
{
	node->is_reached = true;
	if (!S_ISDIR(node->mode))
		return;
	see_entries(node);
	for (size_t i = 0; i < node->bucket_count; i++)
		for (const struct disk_entry *entry = node->buckets[i]; entry != NULL;
		     entry = entry->next) {
			if (entry->seen->is_reached)
				continue;
			entry->seen->parent = node;
			reach(entry->seen);
		}
}

/* Numbers that nobody has are free, the lowest first. Two files of one number, which only a commit
 * that failed can leave, have two again. */
static void count_inodes(struct disk *disk)
{
	bool *is_used = disk_alloc(disk->next_inode);
	uint64_t next = disk->next_inode;

	disk->inodes = 0;
	for (struct disk_node *node = disk->nodes; node != NULL; node = node->after) {
		if (is_used[node->inode])
			node->inode = disk->next_inode++;
		else
			is_used[node->inode] = true;
		disk->inodes++;
	}
	disk->free_count = 0;
	for (uint64_t i = next; i-- > DISK_FIRST_INODE;)
		if (!is_used[i])
			disk_inode_give_back(disk, i);
	free(is_used);
}

void disk_cut_power(struct disk *disk)
{
	if (disk->open_count > 0)
		errx(1, "the power is cut while files are open");
	for (struct disk_node *node = disk->nodes; node != NULL; node = node->after)
		disk_node_hold(node); /* until all is decided */
	if (disk->options.keeps_order)
		keep_first_items(disk);
	for (struct disk_node *node = disk->nodes; node != NULL; node = node->after)
		keep_some_items(node);
	for (struct disk_node *node = disk->nodes; node != NULL; node = node->after)
		see_durable(node);
	disk->root->references = 1;
	disk->root->links = 1;
	reach(disk->root);
	for (struct disk_node *node = disk->nodes, *after; node != NULL; node = after) {
		after = node->after;
		if (!node->is_reached)
			disk_node_free(node);
	}
	count_inodes(disk);
	disk->is_broken = false;
	if (disk->watch != NULL)
		disk->watch->cut(disk->watch->context);
}
