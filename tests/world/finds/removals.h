// SPDX-License-Identifier: ISC
/*
 * world/finds/removals.h - removals of names that no sync decides: a power cut may bring each back.
 */
#ifndef WORLD_FINDS_REMOVALS_H
#define WORLD_FINDS_REMOVALS_H

#include "disk_internal.h"

struct removals {
	struct removal *list;
	size_t count;
};

/* Those from directories of PLACE that are not decided yet; PLACE NULL: none. */
struct removals removals_find(struct disk *disk, const char *place);
/* Those that were decided since are undecided again. */
void removals_forget(struct removals *found);

#endif
