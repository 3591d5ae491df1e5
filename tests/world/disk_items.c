// SPDX-License-Identifier: ISC
/* Changes on their way to the disk. */
#include "disk_internal.h"
#include <stdlib.h>

struct disk_item *disk_item_add(struct disk_node *node, enum disk_item_kind kind)
{
	struct disk *disk = node->disk;
	struct disk_item *item = disk_alloc(sizeof *item);

	*item = (struct disk_item){.before = disk->last,
				   .own_before = node->last,
				   .node = node,
				   .order = ++disk->changes,
				   .made_us = disk->uptime_us,
				   .kind = kind};
	*(disk->last != NULL ? &disk->last->after : &disk->first) = item;
	*(node->last != NULL ? &node->last->own_after : &node->first) = item;
	disk->last = item;
	node->last = item;
	disk->item_count++;
	node->item_count++;
	disk_node_hold(node);
	return item;
}

/* Out of both lists; then it is nobody's. */
static void take_out(struct disk_item *item)
{
	struct disk_node *node = item->node;
	struct disk *disk = node->disk;

	*(item->before != NULL ? &item->before->after : &disk->first) = item->after;
	*(item->after != NULL ? &item->after->before : &disk->last) = item->before;
	*(item->own_before != NULL ? &item->own_before->own_after : &node->first) = item->own_after;
	*(item->own_after != NULL ? &item->own_after->own_before : &node->last) = item->own_before;
	disk->item_count--;
	node->item_count--;
}

static void finish(struct disk_item *item)
{
	struct disk_node *node = item->node;

	take_out(item);
	if (item->entry != NULL) {
		item->entry->items--;
		disk_entry_check(node, item->entry);
	}
	disk_image_clear(&item->out);
	free(item);
	disk_node_drop(node);
}

static void apply_out(struct disk_node *node, const struct disk_image *out)
{
	for (size_t i = 0; i < out->count; i++) {
		if (out->pages[i] == NULL)
			continue;
		disk_image_set(&node->durable, i, disk_page_share(out->pages[i]));
		if (i < node->seen.count && node->seen.pages[i] == out->pages[i])
			disk_node_clean(node, i);
	}
	if (out->size > node->durable.size)
		node->durable.size = out->size;
}

void disk_item_apply(struct disk_item *item)
{
	struct disk_node *old = NULL;

	switch (item->kind) {
	case DISK_ITEM_NAME:
		old = item->entry->durable;
		item->entry->durable = item->target; /* with the item's count of it */
		break;
	case DISK_ITEM_CUT:
		if (item->out.size < item->node->durable.size)
			disk_image_resize(&item->node->durable, item->out.size);
		break;
	case DISK_ITEM_OUT:
		apply_out(item->node, &item->out);
		break;
	}
	finish(item);
	if (old != NULL)
		disk_node_drop(old);
}

void disk_item_lose(struct disk_item *item)
{
	struct disk_node *target = item->target;

	finish(item);
	if (target != NULL)
		disk_node_drop(target);
}

void disk_items_apply_until(struct disk *disk, uint64_t order)
{
	while (disk->first != NULL && disk->first->order <= order)
		disk_item_apply(disk->first);
}
