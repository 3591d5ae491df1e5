// SPDX-License-Identifier: ISC
/*
 * queue/commit_internal.h - between the parts of a group's way from S3 to S4.
 */
#ifndef QUEUE_COMMIT_INTERNAL_H
#define QUEUE_COMMIT_INTERNAL_H

#include "queue/internal.h"

struct commit_group {
	struct queue_intake *intake;
	struct queue_message **messages;
	size_t count;
	int *results;
	bool *named;                          /* [count]: the todo/ name may have been made */
	struct queue_spare_list held;         /* taken out of quarantine */
	bool *dirty;                          /* [QUEUE_DIRTY_COUNT][split] to be synced for HELD */
	enum queue_sync sync;                 /* how, for all of it */
	bool is_whole;                        /* the whole filesystem at the end */
	const struct queue_message *last;     /* whose todo/ name was made last; NULL: none */
	struct queue_directories directories; /* to be synced */
	size_t *own;                          /* [count]: which of them has the todo/ name */
	const struct queue_message *last_in_list; /* ordered: whose directory is in the list */
	bool must_prove;                          /* an earlier sync has failed */
	bool has_proven;                          /* and one succeeded */
	bool has_lost; /* a sync failed that may have been to make a removal durable */
};

/* commit_directories.c: before anything has a name: opens what is to be synced when all
 * have. Sets the results of those whose directory cannot be opened. */
void commit_directories_open(struct commit_group *group);
/* Makes names and removals durable. Sets the results of those whose name is not. */
void commit_directories_sync(struct commit_group *group);

#endif
