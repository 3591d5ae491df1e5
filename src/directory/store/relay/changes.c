// SPDX-License-Identifier: ISC
/* A log of the latest changes, so that a client can ask what it has missed. */
#include "base/panic.h"
#include "directory/store/relay/internal.h"
#include "directory/store/relay/relay.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static struct relay_change *relayed_change_at(const struct relay_changes *changes, size_t index)
{
	return &changes->entries[(changes->first + index) % STORE_RELAY_CHANGES_MAX];
}

static void drop_oldest_change(struct relay_changes *changes)
{
	struct relay_change *oldest = relayed_change_at(changes, 0);

	/* others of the same version may be missing now, too */
	changes->begin = oldest->version;
	free(oldest->name);
	changes->first = (changes->first + 1) % STORE_RELAY_CHANGES_MAX;
	changes->count--;
}

void relay_changes_begin(struct relay_changes *changes, uint64_t version)
{
	while (changes->count > 0)
		drop_oldest_change(changes);
	changes->begin = version;
}

static bool is_change_of_key(const struct relay_change *change, const struct directory_key *key,
			     uint64_t version)
{
	return change->version == version && change->table == key->table &&
	       str_equal(str_slice(change->name, change->length), key->name);
}

/* The position for a change of VERSION. They arrive nearly in order: after a reconnect, some new
 * ones may come before missed ones. */
static size_t place_for_change(const struct relay_changes *changes, uint64_t version)
{
	size_t index = changes->count;

	while (index > 0 && relayed_change_at(changes, index - 1)->version > version)
		index--;
	return index;
}

static bool is_known_relayed_change(const struct relay_changes *changes,
				    const struct directory_key *key, uint64_t version, size_t place)
{
	while (place > 0 && relayed_change_at(changes, place - 1)->version == version)
		if (is_change_of_key(relayed_change_at(changes, --place), key, version))
			return true;
	return false;
}

bool relay_changes_add(struct relay_changes *changes, const struct directory_key *key,
		       uint64_t version)
{
	size_t place = place_for_change(changes, version);
	struct relay_change *added;

	if (version <= changes->begin || is_known_relayed_change(changes, key, version, place))
		return false;
	if (changes->entries == NULL)
		changes->entries =
			memory_alloc_zero(STORE_RELAY_CHANGES_MAX, sizeof *changes->entries);
	if (changes->count == STORE_RELAY_CHANGES_MAX) {
		drop_oldest_change(changes);
		place = place > 0 ? place - 1 : 0;
	}
	for (size_t i = changes->count++; i > place; i--)
		*relayed_change_at(changes, i) = *relayed_change_at(changes, i - 1);
	added = relayed_change_at(changes, place);
	added->version = version;
	added->table = key->table;
	added->length = key->name.length;
	added->name = memory_alloc(key->name.length + 1);
	memcpy(added->name, key->name.data, key->name.length);
	return true;
}

/* The position of the first change after VERSION. Versions ascend. */
static size_t find_change_after_version(const struct relay_changes *changes, uint64_t version)
{
	size_t low = 0;
	size_t high = changes->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (relayed_change_at(changes, middle)->version > version)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

void relay_changes_tell(const struct relay_changes *changes, uint64_t version, uint64_t newest,
			size_t limit, directory_missed *missed, void *context)
{
	size_t first = find_change_after_version(changes, version);
	size_t count = changes->count - first;
	struct directory_key *keys;
	uint64_t *versions;

	if (version < changes->begin || version > newest || count > limit) {
		missed(context, -ESTALE, NULL, NULL, 0);
		return;
	}
	keys = memory_alloc_zero(count + 1, sizeof *keys);
	versions = memory_alloc_zero(count + 1, sizeof *versions);
	for (size_t i = 0; i < count; i++) {
		const struct relay_change *change = relayed_change_at(changes, first + i);

		keys[i] = (struct directory_key){change->table,
						 str_slice(change->name, change->length)};
		versions[i] = change->version;
	}
	missed(context, 0, keys, versions, count);
	free(keys);
	free(versions);
}

void relay_changes_clear(struct relay_changes *changes)
{
	relay_changes_begin(changes, 0);
	free(changes->entries);
	*changes = (struct relay_changes){0};
}
