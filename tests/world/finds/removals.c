// SPDX-License-Identifier: ISC
#include "removals.h"
#include "place.h"
#include <stdlib.h>
#include <string.h>

static void take(struct disk_item *item)
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

/* As the last of the changes. */
static void put(struct disk_item *item)
{
	struct disk_node *node = item->node;
	struct disk *disk = node->disk;

	item->order = ++disk->changes;
	item->after = item->own_after = NULL;
	item->before = disk->last;
	item->own_before = node->last;
	*(disk->last != NULL ? &disk->last->after : &disk->first) = item;
	*(node->last != NULL ? &node->last->own_after : &node->first) = item;
	disk->last = node->last = item;
	disk->item_count++;
	node->item_count++;
}

struct removals removals_take(struct disk *disk, const char *place)
{
	struct removals removals = {0};
	struct disk_item *next;

	for (struct disk_item *item = place != NULL ? disk->first : NULL; item != NULL;
	     item = next) {
		next = item->after;
		if (item->kind != DISK_ITEM_NAME || item->target != NULL ||
		    strcmp(place_of(item->node), place) != 0)
			continue;
		removals.list = disk_resize(removals.list,
					    (removals.count + 1) * sizeof(struct disk_item *));
		removals.list[removals.count++] = item;
		take(item);
	}
	return removals;
}

void removals_put_back(struct removals *removals)
{
	for (size_t i = 0; i < removals->count; i++) {
		struct disk_item *item = removals->list[i];

		put(item);
		if (item->entry->seen != NULL || item->entry->durable == NULL)
			disk_item_lose(item);
	}
	free(removals->list);
}
