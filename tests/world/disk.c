// SPDX-License-Identifier: ISC
/* Nodes, open files, and what the power leaves. */
#include "disk.h"
#include "disk_internal.h"
#include <err.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ROOT_INODE = 2 };

void *disk_alloc(size_t size)
{
	void *made = calloc(1, size);

	if (made == NULL)
		err(1, "no memory");
	return made;
}

void *disk_resize(void *old, size_t size)
{
	void *made = realloc(old, size);

	if (made == NULL)
		err(1, "no memory");
	return made;
}

int disk_fault(const struct disk *disk, enum disk_call call, uint64_t inode)
{
	return disk->options.fault != NULL ? disk->options.fault(disk->options.context, call, inode)
					   : 0;
}

uint64_t disk_chance(const struct disk *disk, uint64_t bound)
{
	return disk->options.below(disk->options.context, bound);
}

void disk_inode_give_back(struct disk *disk, uint64_t inode)
{
	if (disk->free_count == disk->free_capacity) {
		disk->free_capacity = disk->free_capacity * 2 + 16;
		disk->free_inodes =
			disk_resize(disk->free_inodes, disk->free_capacity * sizeof(uint64_t));
	}
	disk->free_inodes[disk->free_count++] = inode;
}

struct disk_node *disk_node_new(struct disk *disk, mode_t mode)
{
	struct disk_node *node;

	if (disk->options.inodes_max > 0 && disk->inodes >= disk->options.inodes_max)
		return NULL;
	node = disk_alloc(sizeof *node);
	node->disk = disk;
	node->mode = mode;
	node->owner = disk->user;
	node->modified_us = node->changed_us = disk->now_us;
	node->inode =
		disk->free_count > 0 ? disk->free_inodes[--disk->free_count] : disk->next_inode++;
	node->after = disk->nodes;
	if (disk->nodes != NULL)
		disk->nodes->before = node;
	disk->nodes = node;
	disk->inodes++;
	return node;
}

void disk_node_hold(struct disk_node *node)
{
	node->references++;
}

void disk_node_free(struct disk_node *node)
{
	struct disk *disk = node->disk;

	*(node->before != NULL ? &node->before->after : &disk->nodes) = node->after;
	if (node->after != NULL)
		node->after->before = node->before;
	disk_sound_end(node);
	disk_node_leave_bytes(node);
	disk_image_clear(&node->durable);
	for (size_t i = 0; i < node->bucket_count; i++)
		while (node->buckets[i] != NULL) {
			struct disk_entry *entry = node->buckets[i];

			node->buckets[i] = entry->next;
			free(entry);
		}
	free(node->buckets);
	free(node);
}

/* What it was a directory of, durably, goes with it. */
static void release_entries(struct disk_node *node)
{
	for (size_t i = 0; i < node->bucket_count; i++)
		for (struct disk_entry *entry = node->buckets[i]; entry != NULL;
		     entry = entry->next) {
			struct disk_node *durable = entry->durable;

			entry->durable = NULL;
			if (durable != NULL)
				disk_node_drop(durable);
		}
}

/* Where order is kept, a number is used again as soon as the file is gone: what comes back after a
 * power cut has it alone. Elsewhere not before nothing can come back. */
static bool reuses_early(const struct disk *disk)
{
	return disk->options.keeps_order && !disk->is_broken;
}

static void leave(struct disk_node *node)
{
	node->is_left = true;
	node->disk->inodes--;
	disk_node_leave_bytes(node);
}

void disk_node_check_left(struct disk_node *node)
{
	if (node->is_left || node->links > 0 || node->readers + node->writers > 0)
		return;
	leave(node);
	if (reuses_early(node->disk)) {
		disk_inode_give_back(node->disk, node->inode);
		node->is_number_free = true;
	}
}

/* What no name can ever lead to again has changes that concern nobody. */
static void lose_items(struct disk_node *node)
{
	disk_node_hold(node);
	while (node->first != NULL)
		disk_item_lose(node->first);
	node->references--;
}

void disk_node_drop(struct disk_node *node)
{
	node->references--;
	if (node->is_left && node->item_count > 0 && node->references == node->item_count)
		lose_items(node);
	if (node->references > 0)
		return;
	if (!node->is_left)
		leave(node);
	if (!node->is_number_free)
		disk_inode_give_back(node->disk, node->inode);
	release_entries(node);
	disk_node_free(node);
}

struct disk *disk_new(const struct disk_options *options)
{
	struct disk *disk = disk_alloc(sizeof *disk);

	disk->options = *options;
	disk->next_inode = ROOT_INODE;
	disk->root = disk_node_new(disk, S_IFDIR | 0755);
	disk->next_inode = DISK_FIRST_INODE;
	disk->root->parent = disk->root;
	disk->root->links = 1;
	disk_node_hold(disk->root);
	return disk;
}

void disk_free(struct disk *disk)
{
	if (disk == NULL)
		return;
	while (disk->first != NULL)
		disk_item_lose(disk->first);
	while (disk->nodes != NULL)
		disk_node_free(disk->nodes);
	free(disk->free_inodes);
	free(disk);
}

void disk_set_watch(struct disk *disk, const struct disk_watch *watch)
{
	disk->watch = watch;
}

void disk_act(struct disk *disk, int64_t now_us, uid_t user)
{
	disk->now_us = now_us;
	disk->user = user;
}

uint64_t disk_changes(const struct disk *disk)
{
	return disk->changes;
}

bool disk_keeps_order(const struct disk *disk)
{
	return disk->options.keeps_order;
}

size_t disk_undecided(const struct disk *disk)
{
	return disk->item_count;
}

void disk_space(const struct disk *disk, struct os_file_space *space_out)
{
	uint64_t pages = disk->options.pages_max > 0 ? disk->options.pages_max : UINT64_C(1) << 40;

	space_out->free_bytes = (pages > disk->pages ? pages - disk->pages : 0) * DISK_PAGE;
	space_out->inodes = disk->options.inodes_max > 0 ? disk->options.inodes_max : UINT64_MAX;
	space_out->free_inodes =
		disk->options.inodes_max > 0 ? disk->options.inodes_max - disk->inodes : UINT64_MAX;
}
