// SPDX-License-Identifier: ISC
#include "directory/bulk/import/seen.h"
#include "base/panic.h"
#include "os/random.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 1024 };

struct entry {
	uint64_t low;
	uint32_t high : 24;
	uint32_t file : 8;
	uint32_t line; /* 0: unused */
};

struct bulk_seen {
	uint64_t secret[2];
	struct entry *entries;
	size_t capacity; /* a power of two */
	size_t count;
	size_t counts[DIRECTORY_TABLES];
};

typedef unsigned __int128 wide;

/* FNV-1a of 128 bits with a secret start value. */
static struct entry hash_of_key(const struct bulk_seen *seen, const struct directory_key *key)
{
	static const wide PRIME = ((wide)0x1000000 << 64) + 0x13b;
	wide state = ((wide)seen->secret[0] << 64) + seen->secret[1];

	state = (state ^ (unsigned)key->table) * PRIME;
	for (size_t i = 0; i < key->name.length; i++)
		state = (state ^ (unsigned char)key->name.data[i]) * PRIME;
	return (struct entry){.low = (uint64_t)(state >> 32),
			      .high = (uint32_t)(state >> 96) & 0xffffff};
}

/* WANTED's entry, or the place for it. */
static struct entry *find_seen_entry(const struct bulk_seen *seen, const struct entry *wanted)
{
	size_t at = wanted->low & (seen->capacity - 1);

	while (seen->entries[at].line != 0 &&
	       (seen->entries[at].low != wanted->low || seen->entries[at].high != wanted->high))
		at = (at + 1) & (seen->capacity - 1);
	return &seen->entries[at];
}

static void grow_seen_entries(struct bulk_seen *seen)
{
	struct entry *old = seen->entries;
	size_t old_capacity = seen->capacity;

	seen->capacity = old_capacity * 2;
	seen->entries = memory_alloc_zero(seen->capacity, sizeof *seen->entries);
	for (size_t i = 0; i < old_capacity; i++)
		if (old[i].line != 0)
			*find_seen_entry(seen, &old[i]) = old[i];
	free(old);
}

struct bulk_seen *bulk_seen_new(void)
{
	struct bulk_seen *seen = memory_alloc_zero(1, sizeof *seen);

	seen->secret[0] = os_random_u64();
	seen->secret[1] = os_random_u64();
	seen->capacity = FIRST_CAPACITY;
	seen->entries = memory_alloc_zero(seen->capacity, sizeof *seen->entries);
	return seen;
}

static struct bulk_position place_of_seen_entry(const struct entry *entry)
{
	return (struct bulk_position){.file = entry->file, .line = entry->line};
}

struct bulk_position bulk_seen_add(struct bulk_seen *seen, const struct directory_key *key,
				   struct bulk_position position)
{
	struct entry wanted = hash_of_key(seen, key);
	struct entry *entry = find_seen_entry(seen, &wanted);

	if (entry->line != 0)
		return place_of_seen_entry(entry);
	wanted.file = position.file & 0xff;
	wanted.line = position.line;
	*entry = wanted;
	seen->counts[key->table]++;
	if (++seen->count > seen->capacity / 4 * 3)
		grow_seen_entries(seen);
	return (struct bulk_position){.line = 0};
}

struct bulk_position bulk_seen_find(const struct bulk_seen *seen, const struct directory_key *key)
{
	struct entry wanted = hash_of_key(seen, key);

	return place_of_seen_entry(find_seen_entry(seen, &wanted));
}

size_t bulk_seen_count(const struct bulk_seen *seen, enum directory_table table)
{
	return seen->counts[table];
}

void bulk_seen_free(struct bulk_seen *seen)
{
	if (seen == NULL)
		return;
	free(seen->entries);
	free(seen);
}
