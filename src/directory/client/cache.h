// SPDX-License-Identifier: ISC
/*
 * directory/client/cache.h - what the client keeps of answers: at most so many, the least used go
 * first, and each until its time is over or something changes that it depends on.
 *
 * Times are by os_clock_boot_us(), which goes on while the machine sleeps.
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
/* The first to go are the least used. */
void cache_set_capacity(struct cache *cache, size_t capacity);
/* NULL: there is none whose time is not over. Valid until cache_release(), which has to follow. */
const struct cache_answer *cache_find(struct cache *cache, struct str table, struct str key,
				      int64_t now_us);
void cache_release(struct cache *cache, const struct cache_answer *answer);
/* Copies ANSWER, in place of one that is there. */
void cache_keep(struct cache *cache, struct str table, struct str key,
		const struct cache_answer *answer);
/* Drops all that depends on the record. */
void cache_drop(struct cache *cache, struct str table, struct str key);
void cache_drop_all(struct cache *cache);
size_t cache_count(const struct cache *cache);
/* With nothing found that was not released. */
void cache_free(struct cache *cache);

#endif
