// SPDX-License-Identifier: ISC
/*
 * deliver/local/group.h - mailbox jobs, split into deliveries that are written together.
 */
#ifndef DELIVER_LOCAL_GROUP_H
#define DELIVER_LOCAL_GROUP_H

#include "deliver/helper.h"
#include "deliver/local/worker.h"
#include "deliver/quotas.h"

/* A job that waits, or whose deliveries are being made; lives in the job's arena. */
struct local_entry {
	struct deliver_helper_job *job;
	struct local_entry *next;
	size_t left;                         /* recipients that are neither reported nor given up */
	struct deliver_quotas_wanted wanted; /* of the recipients */
	bool refuses_over_quota;
	struct hash_key site_key;
	/* Of each recipient: the earlier one with the same mailbox, whose delivery is his, too;
	 * else himself. */
	size_t *first;
};

struct local_list {
	struct local_entry *first;
	struct local_entry **last; /* NULL: empty */
};

struct local_target {
	struct local_entry *entry; /* NULL: the delivery was moved elsewhere */
	size_t index;              /* of the recipient */
	struct str path;
	struct os_process_user owner;
	int64_t locked_us; /* monotonic, since when its mailbox is known to be locked; 0: it is
			    * not */
};

/* A group, and the target of each of its deliveries. Zeroed: empty. */
struct local_batch {
	struct local_group group;
	struct local_target *targets; /* for group.deliveries[i] */
};

void local_list_append(struct local_list *list, struct local_entry *entry);
/* The first entry, removed from LIST; NULL if it is empty. */
struct local_entry *local_list_take(struct local_list *list);

/* One recipient is done, with all whose delivery is his: reported with WHY, or given up if WHY is
 * NULL. The last one finishes the job, and frees ENTRY with it. */
void local_entry_finish_one(struct local_entry *entry, size_t index,
			    const struct mail_verdict *why);

/* Sorts the group.count TARGETS by owner and makes their deliveries. */
void local_batch_fill(struct local_batch *batch);
/* Keeps only the deliveries of targets for which MAY_GO returns true, in their order. */
void local_batch_keep(struct local_batch *batch,
		      bool (*may_go)(void *context, struct local_target *target), void *context);
/* Moves the deliveries from END on to a batch of their own. */
struct local_batch local_batch_split(struct local_batch *batch, size_t end);
/* Deliveries [FIRST, END) are done: reports their verdicts, or gives them up without a report. */
void local_batch_finish(const struct local_batch *batch, size_t first, size_t end, bool is_lost);
/* Sends to "send" the other reports of the messages of deliveries [FIRST, END). */
void local_batch_tell(const struct local_batch *batch, size_t first, size_t end);
/* Frees what it holds; jobs are not finished. */
void local_batch_clear(struct local_batch *batch);

#endif
