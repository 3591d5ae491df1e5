// SPDX-License-Identifier: ISC
/*
 * tests/world/disk_ear.h - who is told of changes of a file, or of a name in a directory, as by
 * inotify(7).
 */
#ifndef TESTS_WORLD_DISK_EAR_H
#define TESTS_WORLD_DISK_EAR_H

#include "disk.h"

enum disk_sound {
	DISK_WRITTEN = 1, /* or cut */
	DISK_CLOSED = 2,  /* by who could write */
	DISK_NAMED = 4,   /* the name leads to it from now on */
	DISK_UNNAMED = 8, /* and no longer */
	DISK_MOVED = 16,  /* the directory has no name or another one */
};

/* Storage of the caller's, for whom it is; the rest is disk_ear.c's. */
struct disk_ear {
	unsigned sounds; /* of enum disk_sound */
	void (*heard)(struct disk_ear *ear);
	struct disk *disk;
	struct disk_node *node;         /* NULL: gone for good */
	const struct disk_node *target; /* what the name leads to */
	char name[DISK_NAME_MAX + 1];   /* "": NODE itself */
	struct disk_ear *next;
};

/* Listens to the file at PATH, as long as there is one, whatever its names. */
MUST_CHECK int disk_ear_open(struct disk *disk, const char *path, struct disk_ear *ear);
/* Listens to the name PATH, which may not exist, and to what it leads to; its directory must. */
MUST_CHECK int disk_ear_open_name(struct disk *disk, const char *path, struct disk_ear *ear);
void disk_ear_close(struct disk_ear *ear);

#endif
