// SPDX-License-Identifier: ISC
#include "deliver/list/seen.h"
#include "base/hash.h"
#include "base/panic.h"
#include <stdlib.h>

enum { SIZE_FIRST = 1024 };

struct list_seen_slot {
	uint64_t one; /* both 0: empty slot */
	uint64_t other;
};

static bool is_free(const struct list_seen_slot *slot)
{
	return slot->one == 0 && slot->other == 0;
}

/* The slot that has KEY, or the empty one for it. */
static struct list_seen_slot *find_seen_slot(const struct list_seen *seen,
					     struct list_seen_slot key)
{
	size_t i = (size_t)key.one & (seen->size - 1);

	while (!is_free(&seen->slots[i]) &&
	       (seen->slots[i].one != key.one || seen->slots[i].other != key.other))
		i = (i + 1) & (seen->size - 1);
	return &seen->slots[i];
}

static void grow_seen_slots(struct list_seen *seen)
{
	struct list_seen old = *seen;

	seen->size = old.size == 0 ? SIZE_FIRST : 2 * old.size;
	seen->slots = memory_alloc_zero(seen->size, sizeof *seen->slots);
	for (size_t i = 0; i < old.size; i++)
		if (!is_free(&old.slots[i]))
			*find_seen_slot(seen, old.slots[i]) = old.slots[i];
	free(old.slots);
}

static struct list_seen_slot key_of_member(struct str member)
{
	static const char salts[] = "12"; /* turn the process's key into two */
	struct hash_key second = {hash_own(&salts[0], 1), hash_own(&salts[1], 1)};
	struct list_seen_slot key = {hash_own(member.data, member.length),
				     hash_keyed(second, member.data, member.length)};

	if (is_free(&key))
		key.one = 1;
	return key;
}

bool list_seen_add(struct list_seen *seen, struct str member)
{
	struct list_seen_slot key = key_of_member(member);
	struct list_seen_slot *slot;

	if (2 * seen->count >= seen->size)
		grow_seen_slots(seen);
	slot = find_seen_slot(seen, key);
	if (!is_free(slot))
		return false;
	*slot = key;
	seen->count++;
	return true;
}

void list_seen_clear(struct list_seen *seen)
{
	free(seen->slots);
	*seen = (struct list_seen){0};
}
