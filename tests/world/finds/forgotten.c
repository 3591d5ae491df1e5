// SPDX-License-Identifier: ISC
#include "forgotten.h"
#include "place.h"
#include <string.h>

static struct disk_item *first; /* by "after", in the order in which they were forgotten */
static struct disk_item **end = &first;

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
	item->after = NULL;
	*end = item;
	end = &item->after;
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

unsigned long forget_removals(struct disk *disk, const char *place)
{
	unsigned long count = 0;
	struct disk_item *next;

	for (struct disk_item *item = disk->first; item != NULL; item = next) {
		next = item->after;
		if (item->kind != DISK_ITEM_NAME || item->target != NULL ||
		    strcmp(place_of(item->node), place) != 0)
			continue;
		take(item);
		count++;
	}
	return count;
}

void forget_names(struct disk_node *directory)
{
	struct disk_item *next;

	for (struct disk_item *item = directory->first; item != NULL; item = next) {
		next = item->own_after;
		if (item->kind == DISK_ITEM_NAME)
			take(item);
	}
}

void forget_last(struct disk *disk)
{
	take(disk->last);
}

void forgotten_put_back(struct disk *disk)
{
	struct disk_item *next = first;

	first = NULL;
	end = &first;
	while (next != NULL) {
		struct disk_item *item = next;

		next = item->after;
		if (item->node->disk != disk) {
			item->after = NULL;
			*end = item;
			end = &item->after;
			continue;
		}
		put(item);
		if (item->entry->seen != item->target || item->entry->durable == item->target)
			disk_item_lose(item);
	}
}
