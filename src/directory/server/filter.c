// SPDX-License-Identifier: ISC
/* Two Bloom filters: keys are added to the newer one, and looked up in both. */
#include "base/panic.h"
#include "directory/server/internal.h"
#include <stdlib.h>
#include <string.h>

enum { BITS = 1 << 18 }; /* with 20,000 keys, one in fifty others is a false positive */

struct filter {
	uint64_t young[BITS / 64];
	uint64_t old[BITS / 64];
};

struct filter *filter_new(void)
{
	return memory_alloc_zero(1, sizeof(struct filter));
}

/* FNV-1a, with a final step that makes each half depend on all bytes. */
uint64_t filter_hash(enum directory_table table, struct str key)
{
	uint64_t hash = UINT64_C(14695981039346656037) ^ (uint64_t)table;

	for (size_t i = 0; i < key.length; i++)
		hash = (hash ^ (unsigned char)key.data[i]) * UINT64_C(1099511628211);
	hash ^= hash >> 32;
	hash *= UINT64_C(0x9e3779b97f4a7c15);
	return hash ^ hash >> 29;
}

static bool filter_has_bit(const uint64_t *bits, uint64_t place)
{
	return (bits[place % BITS / 64] >> place % 64 & 1) != 0;
}

void filter_add(struct filter *filter, uint64_t hash)
{
	uint64_t other = hash >> 32;

	filter->young[hash % BITS / 64] |= UINT64_C(1) << hash % 64;
	filter->young[other % BITS / 64] |= UINT64_C(1) << other % 64;
}

bool filter_may_have(const struct filter *filter, uint64_t hash)
{
	uint64_t other = hash >> 32;

	return (filter_has_bit(filter->young, hash) && filter_has_bit(filter->young, other)) ||
	       (filter_has_bit(filter->old, hash) && filter_has_bit(filter->old, other));
}

void filter_age(struct filter *filter)
{
	memcpy(filter->old, filter->young, sizeof filter->old);
	memset(filter->young, 0, sizeof filter->young);
}

void filter_free(struct filter *filter)
{
	free(filter);
}
