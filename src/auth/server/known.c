// SPDX-License-Identifier: ISC
#include "auth/server/known.h"
#include "base/panic.h"
#include "base/table.h"
#include <stdlib.h>
#include <utlist.h>

struct known_entry {
	struct in6_addr client;
	int64_t last_us;
	struct known_entry *next, *previous; /* the latest last */
	UT_hash_handle hh;
};

struct auth_known {
	struct known_entry *table;
	struct known_entry *entries;
	size_t count;
};

struct auth_known *auth_known_new(void)
{
	return memory_alloc_zero(1, sizeof(struct auth_known));
}

static void drop_known_entry(struct auth_known *known, struct known_entry *entry)
{
	HASH_DEL(known->table, entry);
	DL_DELETE2(known->entries, entry, previous, next);
	known->count--;
	free(entry);
}

void auth_known_free(struct auth_known *known)
{
	if (known == NULL)
		return;
	while (known->entries != NULL)
		drop_known_entry(known, known->entries);
	free(known);
}

void auth_known_add(struct auth_known *known, const struct in6_addr *client, int64_t now_us)
{
	struct known_entry *entry;

	HASH_FIND(hh, known->table, client, sizeof *client, entry);
	if (entry != NULL)
		drop_known_entry(known, entry);
	if (known->count >= AUTH_KNOWN_MAX)
		drop_known_entry(known, known->entries);
	entry = memory_alloc_zero(1, sizeof *entry);
	entry->client = *client;
	entry->last_us = now_us;
	HASH_ADD(hh, known->table, client, sizeof entry->client, entry);
	DL_APPEND2(known->entries, entry, previous, next);
	known->count++;
}

bool auth_known_has(const struct auth_known *known, const struct in6_addr *client, int64_t now_us)
{
	const struct known_entry *entry;

	HASH_FIND(hh, known->table, client, sizeof *client, entry);
	return entry != NULL && now_us - entry->last_us < AUTH_KNOWN_US;
}
