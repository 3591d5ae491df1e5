// SPDX-License-Identifier: ISC
/*
 * world/finds/removals.h - removals of names that a sync passes over: a power cut may bring each
 * back.
 */
#ifndef WORLD_FINDS_REMOVALS_H
#define WORLD_FINDS_REMOVALS_H

#include "disk_internal.h"

struct removals {
	struct disk_item **list;
	size_t count;
};

/* Takes those from directories of PLACE that are not decided yet out of the disk's sight; PLACE
 * NULL: none. */
struct removals removals_take(struct disk *disk, const char *place);
/* After the sync they are there again, undecided, but for names that have been made again. */
void removals_put_back(struct removals *removals);

#endif
