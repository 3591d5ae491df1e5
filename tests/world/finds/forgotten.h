// SPDX-License-Identifier: ISC
/*
 * world/finds/forgotten.h - changes of names that nothing makes durable, no sync and no commit:
 * the next power cut decides about each.
 */
#ifndef WORLD_FINDS_FORGOTTEN_H
#define WORLD_FINDS_FORGOTTEN_H

#include "disk_internal.h"

/* Forgets the undecided removals from directories of PLACE. How many there were. */
unsigned long forget_removals(struct disk *disk, const char *place);
/* The same for all undecided names of DIRECTORY. */
void forget_names(struct disk_node *directory);
/* The same for the last change, which is one of a name. */
void forget_last(struct disk *disk);
/* Before a power cut: all that are DISK's are undecided again, but for names that have been changed
 * once more since. */
void forgotten_put_back(struct disk *disk);

#endif
