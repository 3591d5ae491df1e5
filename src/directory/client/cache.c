// SPDX-License-Identifier: ISC
#include "directory/client/cache.h"
#include "base/panic.h"
#include "base/table.h"
#include <stdlib.h>
#include <string.h>

struct dependency { /* a record on which cached answers depend */
	UT_hash_handle hh;
	struct link *first;
	bool is_dropping; /* every answer that depends on it is being dropped, and frees it */
	char text[];      /* "TABLE KEY" */
};

struct link {
	struct entry *entry;
	struct dependency *dependency;
	struct link *next; /* of the dependency */
	struct link **previous;
};

/* One allocation, which also holds its links, results, dependencies and all texts. */
struct entry {
	UT_hash_handle hh;
	struct cache_answer answer;
	struct entry *newer;
	struct entry *older;
	struct link *links;
	unsigned users; /* between find and release */
	bool is_dropped;
	char text[]; /* "TABLE KEY" of the question */
};

struct cache {
	struct entry *entries;
	struct dependency *dependencies;
	struct entry *newest;
	struct entry *oldest;
	size_t capacity;
};

enum { NAME_MAX_LENGTH = 2048 }; /* of a table, a space and a key */

struct cache *cache_new(size_t capacity)
{
	struct cache *cache = memory_alloc_zero(1, sizeof *cache);

	cache->capacity = capacity;
	return cache;
}

static void unlink_used(struct cache *cache, struct entry *entry)
{
	*(entry->newer != NULL ? &entry->newer->older : &cache->newest) = entry->older;
	*(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry->newer;
}

static void link_newest(struct cache *cache, struct entry *entry)
{
	entry->newer = NULL;
	entry->older = cache->newest;
	*(entry->older != NULL ? &entry->older->newer : &cache->oldest) = entry;
	cache->newest = entry;
}

static void unlink_dependency(struct cache *cache, struct link *link)
{
	struct dependency *dependency = link->dependency;

	*link->previous = link->next;
	if (link->next != NULL)
		link->next->previous = link->previous;
	if (dependency->first == NULL && !dependency->is_dropping) {
		HASH_DEL(cache->dependencies, dependency);
		free(dependency);
	}
}

static void drop_cached_answer(struct cache *cache, struct entry *entry)
{
	HASH_DEL(cache->entries, entry);
	unlink_used(cache, entry);
	for (size_t i = 0; i < entry->answer.dependency_count; i++)
		unlink_dependency(cache, &entry->links[i]);
	entry->is_dropped = true;
	if (entry->users == 0)
		free(entry);
}

static void trim_answer_cache(struct cache *cache)
{
	while (HASH_COUNT(cache->entries) > cache->capacity)
		drop_cached_answer(cache, cache->oldest);
}

void cache_set_capacity(struct cache *cache, size_t capacity)
{
	cache->capacity = capacity;
	trim_answer_cache(cache);
}

/* Writes "TABLE KEY" to TEXT: its length; 0 if it is longer than any key. */
static size_t join_table_and_key(struct str table, struct str key, char text[NAME_MAX_LENGTH])
{
	size_t length = table.length + 1 + key.length;

	if (length > NAME_MAX_LENGTH)
		return 0;
	memcpy(text, table.data, table.length);
	text[table.length] = ' ';
	if (key.length > 0)
		memcpy(text + table.length + 1, key.data, key.length);
	return length;
}

const struct cache_answer *cache_find(struct cache *cache, struct str table, struct str key,
				      int64_t now_us)
{
	char text[NAME_MAX_LENGTH];
	size_t length = join_table_and_key(table, key, text);
	struct entry *entry = NULL;

	if (length > 0)
		HASH_FIND(hh, cache->entries, text, length, entry);
	if (entry == NULL)
		return NULL;
	if (entry->answer.until_us <= now_us) {
		drop_cached_answer(cache, entry);
		return NULL;
	}
	if (entry != cache->newest) {
		unlink_used(cache, entry);
		link_newest(cache, entry);
	}
	entry->users++;
	return &entry->answer;
}

void cache_release(struct cache *cache, const struct cache_answer *answer)
{
	struct entry *entry =
		CONTAINER_OF((struct cache_answer *)(uintptr_t)answer, struct entry, answer);

	(void)cache;
	entry->users--;
	if (entry->users == 0 && entry->is_dropped)
		free(entry);
}

static size_t texts_size(const struct str *texts, size_t count)
{
	size_t size = 0;

	for (size_t i = 0; i < count; i++)
		size += texts[i].length;
	return size;
}

/* Copies COUNT texts to *BYTES, and views of the copies to *VIEWS; advances both. */
static const struct str *copy_texts(const struct str *texts, size_t count, struct str **views,
				    char **bytes)
{
	struct str *first = *views;

	for (size_t i = 0; i < count; i++) {
		if (texts[i].length > 0)
			memcpy(*bytes, texts[i].data, texts[i].length);
		*(*views)++ = str_slice(*bytes, texts[i].length);
		*bytes += texts[i].length;
	}
	return first;
}

static size_t align_to_pointer(size_t size)
{
	return (size + sizeof(void *) - 1) / sizeof(void *) * sizeof(void *);
}

static struct entry *entry_new(struct str name, const struct cache_answer *answer)
{
	size_t texts = answer->result_count + answer->dependency_count;
	size_t head = align_to_pointer(sizeof(struct entry) + name.length);
	size_t links = answer->dependency_count * sizeof(struct link);
	size_t size = head + links + texts * sizeof(struct str) +
		      texts_size(answer->results, answer->result_count) +
		      texts_size(answer->dependencies, answer->dependency_count);
	char *memory = memory_alloc(size);
	struct entry *entry = (struct entry *)(void *)memory;
	struct str *views = (struct str *)(void *)(memory + head + links);
	char *bytes = (char *)(views + texts);

	memset(entry, 0, sizeof *entry);
	memcpy(entry->text, name.data, name.length);
	entry->answer = *answer;
	entry->links = (struct link *)(void *)(memory + head);
	entry->answer.results = copy_texts(answer->results, answer->result_count, &views, &bytes);
	entry->answer.dependencies =
		copy_texts(answer->dependencies, answer->dependency_count, &views, &bytes);
	return entry;
}

static struct dependency *dependency_of(struct cache *cache, struct str name)
{
	struct dependency *dependency;

	HASH_FIND(hh, cache->dependencies, name.data, name.length, dependency);
	if (dependency != NULL)
		return dependency;
	dependency = memory_alloc(sizeof *dependency + name.length);
	dependency->first = NULL;
	dependency->is_dropping = false;
	memcpy(dependency->text, name.data, name.length);
	HASH_ADD_KEYPTR(hh, cache->dependencies, dependency->text, name.length, dependency);
	return dependency;
}

static void link_dependency(struct cache *cache, struct entry *entry, size_t index)
{
	struct dependency *dependency = dependency_of(cache, entry->answer.dependencies[index]);
	struct link *link = &entry->links[index];

	*link = (struct link){entry, dependency, dependency->first, &dependency->first};
	if (link->next != NULL)
		link->next->previous = &link->next;
	dependency->first = link;
}

void cache_keep(struct cache *cache, struct str table, struct str key,
		const struct cache_answer *answer)
{
	char text[NAME_MAX_LENGTH];
	size_t length = join_table_and_key(table, key, text);
	struct entry *entry = NULL;

	if (length == 0 || cache->capacity == 0)
		return;
	HASH_FIND(hh, cache->entries, text, length, entry);
	if (entry != NULL)
		drop_cached_answer(cache, entry);
	entry = entry_new(str_slice(text, length), answer);
	HASH_ADD_KEYPTR(hh, cache->entries, entry->text, length, entry);
	link_newest(cache, entry);
	for (size_t i = 0; i < answer->dependency_count; i++)
		link_dependency(cache, entry, i);
	trim_answer_cache(cache);
}

void cache_drop(struct cache *cache, struct str table, struct str key)
{
	char text[NAME_MAX_LENGTH];
	size_t length = join_table_and_key(table, key, text);
	struct dependency *dependency = NULL;

	if (length > 0)
		HASH_FIND(hh, cache->dependencies, text, length, dependency);
	if (dependency == NULL)
		return;
	dependency->is_dropping = true;
	while (dependency->first != NULL)
		drop_cached_answer(cache, dependency->first->entry);
	HASH_DEL(cache->dependencies, dependency);
	free(dependency);
}

void cache_drop_all(struct cache *cache)
{
	while (cache->oldest != NULL)
		drop_cached_answer(cache, cache->oldest);
}

size_t cache_count(const struct cache *cache)
{
	return HASH_COUNT(cache->entries);
}

void cache_free(struct cache *cache)
{
	cache_drop_all(cache);
	free(cache);
}
