// SPDX-License-Identifier: ISC
/* Directories: what stands under which name, and is to stand there durably. */
#include "disk_internal.h"
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static size_t bucket_of(const struct disk_node *directory, const char *name)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	for (; *name != '\0'; name++)
		hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return (size_t)(hash ^ hash >> 32) & (directory->bucket_count - 1);
}

struct disk_entry *disk_entry_find(const struct disk_node *directory, const char *name)
{
	struct disk_entry *entry;

	if (directory->bucket_count == 0)
		return NULL;
	for (entry = directory->buckets[bucket_of(directory, name)]; entry != NULL;
	     entry = entry->next)
		if (strcmp(entry->name, name) == 0)
			return entry;
	return NULL;
}

static void put_in(struct disk_node *directory, struct disk_entry *entry)
{
	struct disk_entry **bucket = &directory->buckets[bucket_of(directory, entry->name)];

	entry->next = *bucket;
	*bucket = entry;
}

static void widen(struct disk_node *directory)
{
	struct disk_entry **before = directory->buckets;
	size_t count = directory->bucket_count;

	directory->bucket_count = count > 0 ? 2 * count : 8;
	directory->buckets = disk_alloc(directory->bucket_count * sizeof(struct disk_entry *));
	for (size_t i = 0; i < count; i++)
		for (struct disk_entry *entry = before[i], *next; entry != NULL; entry = next) {
			next = entry->next;
			put_in(directory, entry);
		}
	free(before);
}

static struct disk_entry *entry_of(struct disk_node *directory, const char *name)
{
	struct disk_entry *entry = disk_entry_find(directory, name);
	size_t size = strlen(name) + 1;

	if (entry != NULL)
		return entry;
	if (directory->entry_count >= directory->bucket_count)
		widen(directory);
	entry = disk_alloc(sizeof *entry + size);
	memcpy(entry->name, name, size);
	put_in(directory, entry);
	directory->entry_count++;
	return entry;
}

/* One that means nothing any more goes. */
void disk_entry_check(struct disk_node *directory, struct disk_entry *entry)
{
	struct disk_entry **place;

	if (entry->seen != NULL || entry->durable != NULL || entry->items > 0)
		return;
	place = &directory->buckets[bucket_of(directory, entry->name)];
	while (*place != entry)
		place = &(*place)->next;
	*place = entry->next;
	free(entry);
	directory->entry_count--;
}

static void forget_seen(struct disk_node *directory, struct disk_node *node)
{
	directory->name_count--;
	directory->folder_count -= S_ISDIR(node->mode);
	node->links--;
	node->changed_us = directory->disk->now_us;
	disk_node_check_left(node);
	disk_node_drop(node);
}

static void tell(const struct disk_node *directory, const char *name,
		 const struct disk_node *before, const struct disk_node *node)
{
	const struct disk_watch *watch = directory->disk->watch;

	disk_sound_name(directory, name, before, node);
	if (watch != NULL)
		watch->named(watch->context, directory->inode, name,
			     before != NULL ? before->inode : 0, node != NULL ? node->inode : 0,
			     node != NULL && S_ISDIR(node->mode));
}

/* What NAME leads to from now on; NODE NULL: nothing. ORDER: that of another change, with which
 * it is one; 0: its own. */
void disk_entry_see(struct disk_node *directory, const char *name, struct disk_node *node,
		    uint64_t order)
{
	struct disk_entry *entry = entry_of(directory, name);
	struct disk_node *before = entry->seen;
	struct disk_item *item = disk_item_add(directory, DISK_ITEM_NAME);

	item->entry = entry;
	item->target = node;
	item->order = order > 0 ? order : item->order;
	entry->items++;
	directory->changed = item->order;
	directory->modified_us = directory->changed_us = directory->disk->now_us;
	if (node != NULL) {
		disk_node_hold(node); /* the item */
		disk_node_hold(node);
		node->links++;
		node->changed_us = directory->disk->now_us;
		directory->name_count++;
		directory->folder_count += S_ISDIR(node->mode);
		if (S_ISDIR(node->mode))
			node->parent = directory;
	}
	entry->seen = node;
	tell(directory, name, before, node);
	if (before != NULL)
		forget_seen(directory, before);
}

int disk_settle(const struct disk *disk)
{
	if (disk->watch != NULL)
		disk->watch->settled(disk->watch->context);
	return 0;
}

static struct disk_node *step(struct disk_node *node, const char *name)
{
	struct disk_entry *entry;

	if (strcmp(name, ".") == 0)
		return node;
	if (strcmp(name, "..") == 0)
		return node->parent;
	entry = disk_entry_find(node, name);
	return entry != NULL ? entry->seen : NULL;
}

/* Paths are short: that is faster than strspn() and strcspn(). */
static const char *skip_slashes(const char *path)
{
	while (*path == '/')
		path++;
	return path;
}

static size_t length_of_name(const char *path)
{
	size_t length = 0;

	while (path[length] != '/' && path[length] != '\0')
		length++;
	return length;
}

int disk_walk(struct disk *disk, struct disk_file *from, const char *path,
	      struct disk_node **directory_out, char name[DISK_NAME_MAX + 1])
{
	struct disk_node *node = from != NULL && *path != '/' ? from->node : disk->root;

	if (*path == '\0')
		return -ENOENT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	for (;;) {
		size_t length;

		path = skip_slashes(path);
		length = length_of_name(path);
		if (!S_ISDIR(node->mode))
			return -ENOTDIR;
		if (length > DISK_NAME_MAX)
			return -ENAMETOOLONG;
		memcpy(name, length > 0 ? path : ".", length > 0 ? length : 1);
		name[length > 0 ? length : 1] = '\0';
		path += length;
		if (*skip_slashes(path) == '\0') {
			*directory_out = node;
			return 0;
		}
		node = step(node, name);
		if (node == NULL)
			return -ENOENT;
	}
}

int disk_look_up(struct disk *disk, struct disk_file *from, const char *path,
		 struct disk_node **node_out)
{
	char name[DISK_NAME_MAX + 1];
	struct disk_node *directory;
	struct disk_node *node;
	int error = disk_walk(disk, from, path, &directory, name);

	if (error < 0)
		return error;
	node = step(directory, name);
	if (node == NULL)
		return -ENOENT;
	if (!S_ISDIR(node->mode) && path[strlen(path) - 1] == '/')
		return -ENOTDIR;
	*node_out = node;
	return 0;
}

int disk_list(struct disk_file *file, char **names_out, size_t *size_out)
{
	const struct disk_node *directory = file->node;
	size_t size = 0;
	char *names;
	int error = disk_fault(directory->disk, DISK_LIST, directory->inode);

	if (error < 0)
		return error;
	for (size_t i = 0; i < directory->bucket_count; i++)
		for (const struct disk_entry *entry = directory->buckets[i]; entry != NULL;
		     entry = entry->next)
			size += entry->seen != NULL ? strlen(entry->name) + 1 : 0;
	names = disk_alloc(size + 1);
	*names_out = names;
	*size_out = size;
	for (size_t i = 0; i < directory->bucket_count; i++)
		for (const struct disk_entry *entry = directory->buckets[i]; entry != NULL;
		     entry = entry->next)
			if (entry->seen != NULL)
				names = stpcpy(names, entry->name) + 1;
	return 0;
}

void disk_list_free(char *names)
{
	free(names);
}
