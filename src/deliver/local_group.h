// SPDX-License-Identifier: ISC
/*
 * deliver/local_group.h - jobs for mailboxes as deliveries that go to the disk together.
 */
#ifndef DELIVER_LOCAL_GROUP_H
#define DELIVER_LOCAL_GROUP_H

#include "deliver/helper.h"
#include "deliver/local_hand.h"
#include "mail/quota.h"

struct local_quota {
	struct mail_quota quota;
	bool is_counted; /* else nothing is */
};

/* A job in the list of those that wait, or with deliveries to be made; lives in the job's
 * arena. */
struct local_entry {
	struct deliver_helper_job *job;
	struct local_entry *next;
	size_t left;                /* recipients that are neither reported nor given up */
	struct local_quota *quotas; /* of the recipients; NULL: nothing is counted */
	bool refuses_over_quota;
};

struct local_list {
	struct local_entry *first;
	struct local_entry **last; /* NULL: empty */
};

struct local_target {
	struct local_entry *entry;
	size_t index; /* of the recipient */
	struct str path;
	struct os_process_user owner;
};

/* A group, and what each of its deliveries is for. Zeroed: none. */
struct local_batch {
	struct local_group group;
	struct local_target *targets; /* of group.deliveries[i] */
};

void local_list_append(struct local_list *list, struct local_entry *entry);
/* NULL when it is empty. */
struct local_entry *local_list_take(struct local_list *list);

/* One recipient is done: reported, or without a WHY given up. The last one finishes the job,
 * and ENTRY with it. */
void local_entry_finish_one(struct local_entry *entry, size_t index,
			    const struct mail_verdict *why);

/* Sorts the group.count TARGETS by owner and makes their deliveries. */
void local_batch_fill(struct local_batch *batch);
/* Only the deliveries of those targets that MAY_GO stay, in their order. */
void local_batch_keep(struct local_batch *batch,
		      bool (*may_go)(void *context, struct local_target *target), void *context);
/* The deliveries from END on, as a batch of their own. */
struct local_batch local_batch_split(struct local_batch *batch, size_t end);
/* Deliveries [FIRST, END) are done, with their verdicts, or lost and have no report. */
void local_batch_finish(const struct local_batch *batch, size_t first, size_t end, bool is_lost);
/* "send" learns what else was reported of the messages of deliveries [FIRST, END). */
void local_batch_tell(const struct local_batch *batch, size_t first, size_t end);
/* Frees what it holds; jobs are not finished. */
void local_batch_clear(struct local_batch *batch);

#endif
