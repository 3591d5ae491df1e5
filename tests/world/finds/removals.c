// SPDX-License-Identifier: ISC
#include "removals.h"
#include "place.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct removal {
	struct disk_node *directory, *target;
	char name[DISK_NAME_MAX + 1];
};

/* What ITEM, which removes a name, takes it from. */
static struct disk_node *target_of(const struct disk_item *item)
{
	for (const struct disk_item *before = item->own_before; before != NULL;
	     before = before->own_before)
		if (before->kind == DISK_ITEM_NAME && before->entry == item->entry)
			return before->target;
	return item->entry->durable;
}

struct removals removals_find(struct disk *disk, const char *place)
{
	struct removals found = {0};

	if (place == NULL)
		return found;
	for (struct disk_item *item = disk->first; item != NULL; item = item->after) {
		struct disk_node *target = item->kind == DISK_ITEM_NAME && item->target == NULL
						   ? target_of(item)
						   : NULL;

		if (target == NULL || strcmp(place_of(item->node), place) != 0)
			continue;
		found.list = disk_resize(found.list, (found.count + 1) * sizeof *found.list);
		found.list[found.count] = (struct removal){item->node, target, ""};
		snprintf(found.list[found.count++].name, DISK_NAME_MAX + 1, "%s",
			 item->entry->name);
		disk_node_hold(target);
	}
	return found;
}

void removals_forget(struct removals *found)
{
	for (size_t i = 0; i < found->count; i++) {
		const struct removal *removal = &found->list[i];

		if (removal->target->links > 0 &&
		    disk_entry_find(removal->directory, removal->name) == NULL) {
			disk_entry_see(removal->directory, removal->name, removal->target, 0);
			disk_item_apply(removal->directory->last);
			disk_entry_see(removal->directory, removal->name, NULL, 0);
		}
		disk_node_drop(removal->target);
	}
	free(found->list);
}
