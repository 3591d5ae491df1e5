// SPDX-License-Identifier: ISC
#include "deliver/remote/policy/memory.h"
#include "base/panic.h"
#include "base/table.h"
#include "os/clock.h"
#include <stdlib.h>
#include <string.h>

struct memory_item {
	char key[REMOTE_MEMORY_KEY_SIZE];
	struct remote_memory_entry entry;
	UT_hash_handle hh;
};

struct remote_memory {
	unsigned max;
	struct memory_item *items; /* oldest first */
};

struct remote_memory *remote_memory_new(unsigned max)
{
	struct remote_memory *memory = memory_alloc_zero(1, sizeof *memory);

	memory->max = max;
	return memory;
}

static void drop_item(struct remote_memory *memory, struct memory_item *item)
{
	HASH_DEL(memory->items, item);
	free(item);
}

void remote_memory_free(struct remote_memory *memory)
{
	if (memory == NULL)
		return;
	while (memory->items != NULL)
		drop_item(memory, memory->items);
	free(memory);
}

static struct memory_item *find_item(struct remote_memory *memory, const char *key)
{
	struct memory_item *item = NULL;

	if (memory->items == NULL)
		return NULL;
	HASH_FIND(hh, memory->items, key, strlen(key), item);
	if (item == NULL || item->entry.until_us > os_clock_monotonic_us())
		return item;
	drop_item(memory, item);
	return NULL;
}

bool remote_memory_is_empty(const struct remote_memory *memory)
{
	return memory->items == NULL;
}

struct remote_memory_entry *remote_memory_find(struct remote_memory *memory, const char *key)
{
	struct memory_item *item = find_item(memory, key);

	return item != NULL ? &item->entry : NULL;
}

struct remote_memory_entry *remote_memory_keep(struct remote_memory *memory, const char *key,
					       int64_t kept_us)
{
	struct memory_item *item = find_item(memory, key);

	if (item != NULL)
		HASH_DEL(memory->items, item);
	else
		item = memory_alloc_zero(1, sizeof *item);
	if (HASH_COUNT(memory->items) >= memory->max)
		drop_item(memory, memory->items);
	strncpy(item->key, key, sizeof item->key - 1);
	item->entry.until_us = os_clock_monotonic_us() + kept_us;
	HASH_ADD(hh, memory->items, key, strlen(item->key), item);
	return &item->entry;
}

void remote_memory_drop(struct remote_memory *memory, const char *key)
{
	struct memory_item *item = find_item(memory, key);

	if (item != NULL)
		drop_item(memory, item);
}
