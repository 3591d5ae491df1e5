// SPDX-License-Identifier: ISC
/*
 * directory/client/cache.h - the client's cache of answers: bounded, least recently used first out.
 * An answer is dropped when its TTL is over, or when a record changes on which it depends.
 *
 * Times are of os_clock_boot_us(), which also counts while the machine is suspended.
 */
#ifndef DIRECTORY_CLIENT_CACHE_H
#define DIRECTORY_CLIENT_CACHE_H

#include "base/attributes.h"
#include "base/str.h"

struct cache;

struct cache_answer {
	bool exists;
	const struct str *results;
	size_t result_count;
	const struct str *dependencies; /* "TABLE KEY" */
	size_t dependency_count;
	int64_t until_us;
	uint64_t version;
};

struct cache *cache_new(size_t capacity);
/* Evicts the least recently used entries over CAPACITY. */
void cache_set_capacity(struct cache *cache, size_t capacity);
/* NULL: no entry within its TTL. The answer is valid until cache_release(), which must follow. */
const struct cache_answer *cache_find(struct cache *cache, struct str table, struct str key,
				      int64_t now_us);
void cache_release(struct cache *cache, const struct cache_answer *answer);
/* Stores a copy of ANSWER, and replaces an existing entry. */
void cache_keep(struct cache *cache, struct str table, struct str key,
		const struct cache_answer *answer);
/* Drops all entries that depend on the record. */
void cache_drop(struct cache *cache, struct str table, struct str key);
void cache_drop_all(struct cache *cache);
size_t cache_count(const struct cache *cache);
/* Every answer found must have been released. */
void cache_free(struct cache *cache);

#endif
