// SPDX-License-Identifier: ISC
#include "disk.h"
#include "base/panic.h"
#include <stdlib.h>
#include <string.h>

struct disk *disk_new(void)
{
	struct disk *disk = memory_alloc_zero(1, sizeof *disk);
	struct disk_node *root = memory_alloc_zero(1, sizeof *root);

	root->inode = DISK_ROOT;
	root->parent = DISK_ROOT;
	root->is_directory = true;
	disk->nodes[DISK_ROOT] = root;
	return disk;
}

static void free_node(struct disk *disk, uint64_t inode)
{
	struct disk_node *node = disk->nodes[inode];

	if (node == NULL)
		return;
	free(node->seen.bytes);
	free(node->durable.bytes);
	free(node->seen_names.items);
	free(node->durable_names.items);
	free(node->items);
	free(node);
	disk->nodes[inode] = NULL;
}

void disk_free(struct disk *disk)
{
	if (disk == NULL)
		return;
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		free_node(disk, i);
	free(disk);
}

static struct disk_image copy_image(const struct disk_image *image)
{
	struct disk_image copy = *image;

	if (image->capacity > 0) {
		copy.bytes = memory_alloc(image->capacity);
		memcpy(copy.bytes, image->bytes, image->capacity);
	}
	return copy;
}

static struct disk_entries copy_entries(const struct disk_entries *entries)
{
	struct disk_entries copy = *entries;

	copy.capacity = entries->count;
	copy.items = NULL;
	if (entries->count > 0) {
		copy.items = memory_alloc(entries->count * sizeof *copy.items);
		memcpy(copy.items, entries->items, entries->count * sizeof *copy.items);
	}
	return copy;
}

struct disk *disk_copy(const struct disk *disk)
{
	struct disk *copy = memory_alloc_zero(1, sizeof *copy);

	copy->changes = disk->changes;
	copy->is_ordered = disk->is_ordered;
	copy->durable = disk->durable;
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++) {
		const struct disk_node *from = disk->nodes[i];
		struct disk_node *to;

		if (from == NULL)
			continue;
		to = memory_alloc(sizeof *to);
		*to = *from;
		to->seen = copy_image(&from->seen);
		to->durable = copy_image(&from->durable);
		to->seen_names = copy_entries(&from->seen_names);
		to->durable_names = copy_entries(&from->durable_names);
		to->item_capacity = from->item_count;
		to->items = NULL;
		if (from->item_count > 0) {
			to->items = memory_alloc(from->item_count * sizeof *to->items);
			memcpy(to->items, from->items, from->item_count * sizeof *to->items);
		}
		copy->nodes[i] = to;
	}
	return copy;
}

static struct disk_entry *find(const struct disk_entries *entries, const char *name)
{
	for (size_t i = 0; i < entries->count; i++)
		if (strcmp(entries->items[i].name, name) == 0)
			return &entries->items[i];
	return NULL;
}

size_t disk_copy_name(char name[DISK_NAME_SIZE], const char *path)
{
	size_t length = (size_t)(strchrnul(path, '/') - path);
	size_t kept = length < DISK_NAME_SIZE ? length : DISK_NAME_SIZE - 1;

	memcpy(name, path, kept);
	name[kept] = '\0';
	return length;
}

struct disk_entry *disk_find(const struct disk_node *directory, const char *name)
{
	return find(&directory->seen_names, name);
}

static void put_entry(struct disk_entries *entries, const struct disk_entry *entry)
{
	struct disk_entry *there = find(entries, entry->name);

	if (there != NULL) {
		*there = *entry;
		return;
	}
	if (entries->count == entries->capacity) {
		entries->capacity = entries->capacity * 2 + 4;
		entries->items =
			memory_resize(entries->items, entries->capacity * sizeof *entries->items);
	}
	entries->items[entries->count++] = *entry;
}

static void take_entry(struct disk_entries *entries, const char *name)
{
	struct disk_entry *there = find(entries, name);

	if (there != NULL)
		*there = entries->items[--entries->count];
}

static bool has_inode(const struct disk_entries *entries, uint64_t inode)
{
	for (size_t i = 0; i < entries->count; i++)
		if (entries->items[i].inode == inode)
			return true;
	return false;
}

static bool is_referred_to(const struct disk *disk, uint64_t inode)
{
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++) {
		const struct disk_node *node = disk->nodes[i];

		if (node == NULL || !node->is_directory)
			continue;
		if (has_inode(&node->seen_names, inode) || has_inode(&node->durable_names, inode))
			return true;
		for (size_t k = 0; k < node->item_count; k++)
			if (node->items[k].kind == DISK_ADD && node->items[k].entry.inode == inode)
				return true;
	}
	return false;
}

struct disk_node *disk_add_node(struct disk *disk, bool is_directory)
{
	for (uint64_t i = DISK_ROOT + 1; i < DISK_NODES_MAX; i++) {
		struct disk_node *node = disk->nodes[i];

		if (node != NULL &&
		    (node->is_directory || node->open_count > 0 || is_referred_to(disk, i)))
			continue;
		free_node(disk, i);
		node = memory_alloc_zero(1, sizeof *node);
		node->inode = i;
		node->is_directory = is_directory;
		disk->nodes[i] = node;
		return node;
	}
	panic("the disk is full");
}

static struct disk_item *add_item(struct disk *disk, struct disk_node *node,
				  enum disk_item_kind kind)
{
	struct disk_item *item;

	if (node->item_count == node->item_capacity) {
		node->item_capacity = node->item_capacity * 2 + 4;
		node->items = memory_resize(node->items, node->item_capacity * sizeof *node->items);
	}
	item = &node->items[node->item_count++];
	*item = (struct disk_item){.kind = kind};
	disk->changes++;
	if (kind == DISK_ADD || kind == DISK_REMOVE || kind == DISK_TIME)
		item->order = disk->changes;
	if (kind == DISK_ADD || kind == DISK_REMOVE)
		node->changed = disk->changes;
	return item;
}

static void image_reserve(struct disk_image *image, size_t capacity)
{
	if (capacity <= image->capacity)
		return;
	image->bytes = memory_resize(image->bytes, capacity);
	memset(image->bytes + image->capacity, 0, capacity - image->capacity);
	image->capacity = capacity;
}

static void image_resize(struct disk_image *image, size_t size)
{
	image_reserve(image, size);
	if (size < image->capacity && size < image->size)
		memset(image->bytes + size, 0, image->capacity - size);
	image->size = size;
}

static void apply(struct disk_image *image, struct disk_entries *names, int64_t *modified_us,
		  const struct disk_item *item)
{
	switch (item->kind) {
	case DISK_WRITE:
		image_reserve(image, item->offset + item->length);
		memcpy(image->bytes + item->offset, item->bytes, item->length);
		break;
	case DISK_SIZE:
		image_resize(image, item->offset);
		break;
	case DISK_TIME:
		*modified_us = (int64_t)item->offset;
		break;
	case DISK_ADD:
		put_entry(names, &item->entry);
		break;
	case DISK_REMOVE:
		take_entry(names, item->entry.name);
		break;
	}
}

/* Every node's links, by the names that are seen. */
static void count_links(struct disk *disk)
{
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (disk->nodes[i] != NULL)
			disk->nodes[i]->links = 0;
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++) {
		const struct disk_node *node = disk->nodes[i];

		for (size_t k = 0; node != NULL && k < node->seen_names.count; k++)
			disk->nodes[node->seen_names.items[k].inode]->links++;
	}
}

static void see(struct disk_node *node)
{
	apply(&node->seen, &node->seen_names, &node->modified_us,
	      &node->items[node->item_count - 1]);
}

void disk_add_name(struct disk *disk, struct disk_node *directory, const char *name, uint64_t inode)
{
	struct disk_item *item = add_item(disk, directory, DISK_ADD);
	const struct disk_entry *replaced = disk_find(directory, name);

	if (replaced != NULL)
		disk->nodes[replaced->inode]->links--;
	disk->nodes[inode]->links++;
	disk_copy_name(item->entry.name, name);
	item->entry.inode = inode;
	see(directory);
}

void disk_remove_name(struct disk *disk, struct disk_node *directory, const char *name)
{
	struct disk_item *item = add_item(disk, directory, DISK_REMOVE);

	disk->nodes[disk_find(directory, name)->inode]->links--;
	disk_copy_name(item->entry.name, name);
	see(directory);
}

void disk_move_name(struct disk *disk, struct disk_node *from, const char *name,
		    struct disk_node *to, const char *new_name)
{
	disk_add_name(disk, to, new_name, disk_find(from, name)->inode);
	disk_remove_name(disk, from, name);
	/* a directory that is both has the two in its list, in this order */
	to->items[to->item_count - 1 - (from == to)].order = disk->changes;
	to->changed = disk->changes;
}

void disk_touch(struct disk_node *node, int64_t now_us)
{
	node->modified_us = now_us;
	node->durable_modified_us = now_us;
}

void disk_set_time(struct disk *disk, struct disk_node *file, int64_t modified_us)
{
	add_item(disk, file, DISK_TIME)->offset = (uint64_t)modified_us;
	see(file);
}

void disk_resize(struct disk *disk, struct disk_node *file, uint64_t size)
{
	bool is_cut = size < file->seen.size;
	struct disk_item *item = add_item(disk, file, DISK_SIZE);

	item->offset = size;
	item->order = is_cut ? disk->changes : 0;
	file->changed = is_cut ? file->changed : disk->changes;
	see(file);
}

void disk_write(struct disk *disk, struct disk_node *file, const char *data, size_t size,
		uint64_t offset)
{
	if (offset + size > file->seen.size)
		disk_resize(disk, file, offset + size);
	while (size > 0) {
		size_t length = DISK_SECTOR - offset % DISK_SECTOR;
		struct disk_item *item = add_item(disk, file, DISK_WRITE);

		if (length > size)
			length = size;
		item->offset = offset;
		item->length = length;
		memcpy(item->bytes, data, length);
		see(file);
		data += length;
		offset += length;
		size -= length;
	}
}

void disk_sync(struct disk_node *node,
	       bool (*leave)(const struct disk_node *, const struct disk_item *))
{
	size_t left = 0;

	for (size_t i = 0; i < node->item_count; i++) {
		if (leave != NULL && leave(node, &node->items[i]))
			node->items[left++] = node->items[i];
		else
			apply(&node->durable, &node->durable_names, &node->durable_modified_us,
			      &node->items[i]);
	}
	node->item_count = left;
}

/* What was written before FILE was cut to SIZE and is still undecided loses what
 * was cut off. */
static size_t cut_left(struct disk_item *items, size_t count, uint64_t size)
{
	size_t left = 0;

	for (size_t i = 0; i < count; i++) {
		struct disk_item *item = &items[i];

		if (item->offset >= size && (item->kind == DISK_WRITE || item->kind == DISK_SIZE))
			continue;
		if (item->kind == DISK_WRITE && item->offset + item->length > size)
			item->length = size - item->offset;
		items[left++] = *item;
	}
	return left;
}

static bool is_before(const struct disk_item *item, uint64_t order)
{
	uint64_t when = item->order > 0 ? item->order : item->out;

	return when > 0 && when <= order;
}

static void sync_node_order(struct disk_node *node, uint64_t order,
			    bool (*leave)(const struct disk_node *, const struct disk_item *))
{
	size_t left = 0;

	for (size_t i = 0; i < node->item_count; i++) {
		struct disk_item item = node->items[i];

		if (!is_before(&item, order) || (leave != NULL && leave(node, &item))) {
			node->items[left++] = item;
			continue;
		}
		if (item.kind == DISK_SIZE)
			left = cut_left(node->items, left, item.offset);
		apply(&node->durable, &node->durable_names, &node->durable_modified_us, &item);
	}
	node->item_count = left;
}

void disk_sync_order(struct disk *disk, uint64_t order,
		     bool (*leave)(const struct disk_node *, const struct disk_item *))
{
	if (order <= disk->durable)
		return;
	disk->durable = order;
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (disk->nodes[i] != NULL)
			sync_node_order(disk->nodes[i], order, leave);
}

void disk_write_out(struct disk *disk, struct disk_node *file)
{
	disk->changes++;
	for (size_t i = 0; i < file->item_count; i++)
		if (file->items[i].order == 0 && file->items[i].out == 0)
			file->items[i].out = disk->changes;
}

void disk_lose(struct disk_node *node)
{
	node->item_count = 0;
}

void disk_lose_bytes(struct disk_node *file)
{
	size_t left = 0;

	for (size_t i = 0; i < file->item_count; i++)
		if (file->items[i].order > 0 || file->items[i].out > 0)
			file->items[left++] = file->items[i];
	file->item_count = left;
}

size_t disk_undecided(const struct disk *disk)
{
	size_t count = 0;

	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (disk->nodes[i] != NULL)
			count += disk->nodes[i]->item_count;
	return count;
}

void disk_orders(const struct disk *disk, uint64_t *orders)
{
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		for (size_t k = 0; disk->nodes[i] != NULL && k < disk->nodes[i]->item_count; k++)
			*orders++ = disk->nodes[i]->items[k].order;
}

/* The last of the names and cuts that is kept. What a mutant left behind when all
 * up to it was decided is in no order any more. */
static uint64_t last_kept(const struct disk *disk, const bool *keep)
{
	uint64_t first_lost = UINT64_MAX;
	uint64_t last = disk->durable;
	const bool *kept = keep;

	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		for (size_t k = 0; disk->nodes[i] != NULL && k < disk->nodes[i]->item_count; k++) {
			uint64_t order = disk->nodes[i]->items[k].order;

			if (!*kept++ && order > disk->durable && order < first_lost)
				first_lost = order;
		}
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		for (size_t k = 0; disk->nodes[i] != NULL && k < disk->nodes[i]->item_count; k++) {
			uint64_t order = disk->nodes[i]->items[k].order;

			if (order > last && order < first_lost)
				last = order;
		}
	return last;
}

void disk_keep_order(const struct disk *disk, bool *keep)
{
	uint64_t last = last_kept(disk, keep);

	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		for (size_t k = 0; disk->nodes[i] != NULL && k < disk->nodes[i]->item_count; k++) {
			const struct disk_item *item = &disk->nodes[i]->items[k];

			if (item->order > disk->durable)
				*keep = item->order <= last;
			else if (is_before(item, last) && item->order == 0)
				*keep = true;
			keep++;
		}
}

/* What no durable name leads to is gone. */
static void remove_lost(struct disk *disk, uint64_t inode, bool *is_reached)
{
	const struct disk_node *node = disk->nodes[inode];

	if (is_reached[inode])
		return;
	is_reached[inode] = true;
	for (size_t i = 0; i < node->seen_names.count; i++)
		remove_lost(disk, node->seen_names.items[i].inode, is_reached);
}

struct disk *disk_crash(const struct disk *disk, const bool *keep, bool is_last)
{
	struct disk *after = memory_alloc_zero(1, sizeof *after);
	bool is_reached[DISK_NODES_MAX] = {0};

	after->is_ordered = disk->is_ordered;
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++) {
		const struct disk_node *from = disk->nodes[i];
		struct disk_node *to;

		if (from == NULL)
			continue;
		to = memory_alloc(sizeof *to);
		*to = *from;
		to->open_count = 0;
		to->changed = 0;
		to->items = NULL;
		to->item_count = 0;
		to->item_capacity = 0;
		to->durable = copy_image(&from->durable);
		to->durable_names = copy_entries(&from->durable_names);
		for (size_t k = 0; k < from->item_count; k++)
			if (*keep++)
				apply(&to->durable, &to->durable_names, &to->durable_modified_us,
				      &from->items[k]);
		/* sectors beyond the size are lost with the memory that knew of them */
		if (to->durable.capacity > to->durable.size)
			memset(to->durable.bytes + to->durable.size, 0,
			       to->durable.capacity - to->durable.size);
		to->modified_us = to->durable_modified_us;
		to->seen = to->durable;
		to->seen_names = to->durable_names;
		to->durable = (struct disk_image){0};
		to->durable_names = (struct disk_entries){0};
		if (!is_last) {
			to->durable = copy_image(&to->seen);
			to->durable_names = copy_entries(&to->seen_names);
		}
		after->nodes[i] = to;
	}
	remove_lost(after, DISK_ROOT, is_reached);
	for (uint64_t i = 0; i < DISK_NODES_MAX; i++)
		if (!is_reached[i])
			free_node(after, i);
	count_links(after);
	return after;
}
