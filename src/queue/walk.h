// SPDX-License-Identifier: ISC
/*
 * queue/walk.h - queue_store_each() in steps, for callers that must not block for long.
 */
#ifndef QUEUE_WALK_H
#define QUEUE_WALK_H

#include "queue/store.h"

struct os_file_info;
struct os_file_list;

/* Storage of the caller. */
struct queue_walk {
	const struct queue_store *store;
	enum queue_folder folder;
	const char *name;
	uint32_t x;
	struct os_file_list *list; /* of the directory X, or NULL */
	const char *entry;         /* the last name returned, in LIST */
};

/* NAME is borrowed. */
void queue_walk_begin(struct queue_walk *walk, const struct queue_store *store,
		      enum queue_folder folder, const char *name);
/* 1 and a number; 0 at the end; -errno: the directory is skipped, and the walk can continue.
 * Names added or removed meanwhile may or may not be seen. A name that is not a number is passed
 * to STRAY (may be NULL), as a path. */
MUST_CHECK int queue_walk_next(struct queue_walk *walk, uint64_t *number_out,
			       void (*stray)(const char *path));
/* os_file_info_at() for the last name returned: cheaper than by its path. */
MUST_CHECK int queue_walk_info(const struct queue_walk *walk, struct os_file_info *info_out);
/* Also in the middle of a walk. */
void queue_walk_end(struct queue_walk *walk);

#endif
