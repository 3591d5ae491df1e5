// SPDX-License-Identifier: ISC
/* A cache of domains and their catch-alls, until the store reports a change. */
#include "base/panic.h"
#include "directory/expand/internal.h"
#include <stdlib.h>
#include <string.h>

/* An entry takes about 300 bytes. Domains that are not ours are cached, too. */
enum { ENTRIES_MAX = 10000 };

struct entry {
	struct arena *arena; /* of RECORD; NULL: there is no record */
	struct directory_record record;
	UT_hash_handle hh;
	char name[]; /* "example.org" of table domain, "@example.org" of table address */
};

struct expand_cache {
	struct entry *entries; /* by name, oldest first */
};

struct expand_cache *expand_cache_new(void)
{
	return memory_alloc_zero(1, sizeof(struct expand_cache));
}

static void drop_cached_record(struct expand_cache *cache, struct entry *entry)
{
	HASH_DEL(cache->entries, entry);
	arena_free(entry->arena);
	free(entry);
}

void expand_cache_empty(struct expand_cache *cache)
{
	struct entry *entry;
	struct entry *next;

	HASH_ITER (hh, cache->entries, entry, next)
		drop_cached_record(cache, entry);
}

void expand_cache_free(struct expand_cache *cache)
{
	expand_cache_empty(cache);
	free(cache);
}

static struct entry *find_cached_record(struct expand_cache *cache, struct str name)
{
	struct entry *entry;

	HASH_FIND(hh, cache->entries, name.data, name.length, entry);
	return entry;
}

void expand_cache_forget(struct expand_cache *cache, const struct directory_key *key)
{
	struct entry *entry = NULL;

	if (key->table == DIRECTORY_DOMAIN || key->table == DIRECTORY_ADDRESS)
		entry = find_cached_record(cache, key->name);
	if (entry != NULL)
		drop_cached_record(cache, entry);
}

void expand_cache_keep(struct expand_cache *cache, const struct directory_key *key,
		       const struct directory_record *record)
{
	struct entry *entry;

	expand_cache_forget(cache, key);
	if (HASH_COUNT(cache->entries) == ENTRIES_MAX)
		drop_cached_record(cache, cache->entries);
	entry = memory_alloc_zero(1, sizeof *entry + key->name.length);
	memcpy(entry->name, key->name.data, key->name.length);
	if (record != NULL) {
		entry->arena = arena_new();
		entry->record = directory_record_copy(entry->arena, record);
	}
	HASH_ADD(hh, cache->entries, name, key->name.length, entry);
}

bool expand_cache_find(struct expand_cache *cache, const struct directory_key *key,
		       const struct directory_record **record_out)
{
	struct entry *entry = find_cached_record(cache, key->name);

	if (entry == NULL)
		return false;
	*record_out = entry->arena != NULL ? &entry->record : NULL;
	return true;
}
