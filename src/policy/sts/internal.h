// SPDX-License-Identifier: ISC
/* policy/sts/internal.h - the domains of a cache. */
#ifndef POLICY_STS_INTERNAL_H
#define POLICY_STS_INTERNAL_H

#include "base/table.h"
#include "os/disk_cache/disk_cache.h"
#include "policy/sts/age.h"
#include "policy/sts/cache.h"
#include "policy/sts/lookup.h"

/* A domain. It is in the cache's list "kept" if it has a policy, else in "plain"; those asked for
 * most recently last. Times are of the boot clock. */
struct sts_entry {
	struct sts_cache *cache;
	bool is_kept;
	struct sts_policy policy;
	char id[STS_ID_MAX + 1];
	struct sts_age age;
	bool is_used;       /* since it was fetched */
	int64_t checked_us; /* the id was compared, or the policy fetched; 0: never */
	int64_t wait_us;    /* no lookup before */
	unsigned failures;  /* in a row */
	enum sts_problem problem;
	struct sts_lookup *lookup;
	bool is_queued;
	enum sts_rank rank; /* in its queue */
	struct sts_request *requests;
	struct sts_entry *next, *previous;
	struct sts_entry *queue_next, *queue_previous;
	UT_hash_handle hh;
	char domain[STS_DOMAIN_MAX + 1];
};

struct sts_list {
	struct sts_entry *first;
	size_t count;
};

struct sts_cache {
	struct dns_resolver *resolver;
	struct https *https;
	struct disk_cache *disk_cache; /* NULL: there is none */
	struct os_timer *sweep;
	struct sts_entry *entries;
	struct sts_list kept;
	struct sts_list plain;
	struct sts_entry *queues[STS_RANKS]; /* for a lookup */
	size_t lookups;
};

/* NULL: DOMAIN is not known. */
struct sts_entry *sts_entry_find(struct sts_cache *cache, struct str domain);
/* A new one, without a policy. */
struct sts_entry *sts_entry_add(struct sts_cache *cache, struct str domain);
/* Ends its lookup, and frees it; its file stays. */
void sts_entry_drop(struct sts_entry *entry);

/* After a change of is_kept, or to be the last: it leaves the list before that, and enters one
 * after it. */
void sts_entry_leave_list(struct sts_entry *entry);
void sts_entry_enter_list(struct sts_entry *entry);
/* Does nothing if it is not queued. */
void sts_entry_leave_queue(struct sts_entry *entry);
/* Drops the first of the list of NEW, which has come last, that nobody waits for, if there are too
 * many. */
void sts_entry_make_room(const struct sts_entry *new);
/* Removes its policy, and the file of it. */
void sts_entry_forget_policy(struct sts_entry *entry);

#endif
