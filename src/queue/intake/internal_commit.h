// SPDX-License-Identifier: ISC
/*
 * queue/intake/internal_commit.h - what the files of a group commit (S3 to S4) share.
 */
#ifndef QUEUE_INTAKE_INTERNAL_COMMIT_H
#define QUEUE_INTAKE_INTERNAL_COMMIT_H

#include "queue/internal.h"

struct commit_group {
	struct queue_intake *intake;
	struct queue_message **messages;
	size_t count;
	int *results;
	bool *named;                              /* [count]: the todo/ name may exist */
	struct queue_spare_list held;             /* taken out of quarantine */
	uint64_t retired;                         /* so many files had come there */
	bool must_settle;                         /* removals before the group began must become
						   * durable */
	uint64_t moved;                           /* so many of names of messages at S5 */
	bool *dirty;                              /* [QUEUE_DIRTY_COUNT][split] must be synced for
						   * that */
	enum queue_sync sync;                     /* how the whole group is synced */
	bool is_whole;                            /* sync the whole filesystem at the end */
	const struct queue_message *last;         /* the message whose todo/ name was made last;
						   * NULL: none */
	struct queue_directories directories;     /* to be synced */
	size_t *own;                              /* [count]: index in DIRECTORIES of the one with
						   * its todo/ name */
	const struct queue_message *last_in_list; /* ordered: the message whose directory is in
						   * the list */
	bool must_prove;                          /* an earlier sync failed; one must succeed */
	bool has_proven;                          /* one has succeeded at the end of this group */
	bool has_packages;                        /* among MESSAGES (queue/handed.h) */
	struct queue_directories nodes;           /* theirs, to be synced with the files; or none */
	struct queue_dirty_nodes dirty_nodes;     /* as DIRTY */
	uint64_t awaited;                         /* so many changes that somebody waits for */
	bool must_reach;                          /* some of them: order is not enough */
	bool is_unreached;                        /* the sync did not reach them */
	bool must_sync_all;                       /* for them, all of the filesystem */
	bool has_lost; /* a failed sync may have been meant to make a removal durable */
};

/* commit_directories.c: before any name is made, opens the directories that will be synced after
 * all are made. Sets the results of messages whose directory cannot be opened. */
void commit_directories_open(struct commit_group *group);
/* Makes durable what the names in todo/ must not come before: the names of packages in handed/. */
void commit_directories_sync_nodes(struct commit_group *group);
/* Makes names and removals durable. Sets the results of messages whose name is not durable. */
void commit_directories_sync(struct commit_group *group);

#endif
