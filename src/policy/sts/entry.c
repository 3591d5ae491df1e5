// SPDX-License-Identifier: ISC
/* The domains of a cache: by name, in lists by when they were asked for, and in a queue. */
#include "policy/sts/internal.h"
#include <stdlib.h>
#include <utlist.h>

static struct sts_list *list_of_sts_entry(const struct sts_entry *entry)
{
	return entry->is_kept ? &entry->cache->kept : &entry->cache->plain;
}

void sts_entry_leave_list(struct sts_entry *entry)
{
	struct sts_list *list = list_of_sts_entry(entry);

	DL_DELETE2(list->first, entry, previous, next);
	list->count--;
}

void sts_entry_enter_list(struct sts_entry *entry)
{
	struct sts_list *list = list_of_sts_entry(entry);

	DL_APPEND2(list->first, entry, previous, next);
	list->count++;
}

void sts_entry_leave_queue(struct sts_entry *entry)
{
	if (entry->is_queued)
		DL_DELETE2(entry->cache->queues[entry->rank], entry, queue_previous, queue_next);
	entry->is_queued = false;
}

void sts_entry_forget_policy(struct sts_entry *entry)
{
	if (entry->cache->disk_cache != NULL)
		disk_cache_remove(entry->cache->disk_cache, str_from(entry->domain));
	sts_entry_leave_list(entry);
	sts_policy_clear(&entry->policy);
	entry->is_kept = false;
	sts_entry_enter_list(entry);
}

void sts_entry_drop(struct sts_entry *entry)
{
	sts_entry_leave_queue(entry);
	sts_entry_leave_list(entry);
	if (entry->lookup != NULL)
		entry->cache->lookups--;
	sts_lookup_cancel(entry->lookup);
	HASH_DEL(entry->cache->entries, entry);
	sts_policy_clear(&entry->policy);
	free(entry);
}

void sts_entry_make_room(const struct sts_entry *new)
{
	const struct sts_list *list = list_of_sts_entry(new);
	struct sts_entry *entry;

	if (list->count <= STS_KEPT_MAX)
		return;
	DL_FOREACH2 (list->first, entry, next) {
		if (entry->requests != NULL || entry->lookup != NULL || entry == new)
			continue;
		if (entry->is_kept)
			sts_entry_forget_policy(entry);
		sts_entry_drop(entry);
		return;
	}
}

struct sts_entry *sts_entry_find(struct sts_cache *cache, struct str domain)
{
	struct sts_entry *entry;

	HASH_FIND(hh, cache->entries, domain.data, domain.length, entry);
	return entry;
}

struct sts_entry *sts_entry_add(struct sts_cache *cache, struct str domain)
{
	struct sts_entry *entry = memory_alloc_zero(1, sizeof *entry);

	entry->cache = cache;
	memcpy(entry->domain, domain.data, domain.length);
	HASH_ADD(hh, cache->entries, domain[0], domain.length, entry);
	sts_entry_enter_list(entry);
	sts_entry_make_room(entry);
	return entry;
}
