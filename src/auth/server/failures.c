// SPDX-License-Identifier: ISC
#include "auth/server/failures.h"
#include "base/panic.h"
#include "base/table.h"
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

enum kind { KIND_CLIENT, KIND_NETWORK, KIND_USER, KIND_PAIR /* a user at a client */, KINDS };

/* All bytes count, so those of no use are zero. */
struct failures_key {
	uint64_t kind;
	struct in6_addr address;
	uint64_t user; /* its hash */
};

struct failures_entry {
	struct failures_key key;
	unsigned count;
	int64_t last_us;
	struct failures_entry *next, *previous; /* the latest failure last */
	UT_hash_handle hh;
};

struct auth_failures {
	struct auth_failures_settings settings;
	struct failures_entry *table;
	struct failures_entry *entries;
	size_t count;
};

static bool is_mapped_ipv4(const struct in6_addr *address)
{
	return IN6_IS_ADDR_V4MAPPED(address);
}

static struct in6_addr first_bytes(const struct in6_addr *address, size_t count)
{
	struct in6_addr result = {0};

	memcpy(result.s6_addr, address->s6_addr, count);
	return result;
}

struct in6_addr auth_failures_client(const struct in6_addr *address)
{
	return is_mapped_ipv4(address) ? *address : first_bytes(address, 8);
}

static struct failures_key key_of_failures(enum kind kind, const struct in6_addr *address,
					   struct str user)
{
	struct failures_key key = {.kind = kind};

	if (kind == KIND_CLIENT || kind == KIND_PAIR)
		key.address = auth_failures_client(address);
	else if (kind == KIND_NETWORK)
		key.address = first_bytes(address, is_mapped_ipv4(address) ? 15 : 6);
	if (kind == KIND_USER || kind == KIND_PAIR)
		key.user = hash_own(user.data, user.length);
	return key;
}

static void drop_failures(struct auth_failures *failures, struct failures_entry *entry)
{
	HASH_DEL(failures->table, entry);
	DL_DELETE2(failures->entries, entry, previous, next);
	failures->count--;
	free(entry);
}

static bool are_failures_forgotten(const struct auth_failures *failures,
				   const struct failures_entry *entry, int64_t now_us)
{
	return now_us - entry->last_us >= failures->settings.memory_us;
}

static struct failures_entry *find_failures(struct auth_failures *failures,
					    const struct failures_key *key)
{
	struct failures_entry *entry;

	HASH_FIND(hh, failures->table, key, sizeof *key, entry);
	return entry;
}

static unsigned count_failures(struct auth_failures *failures, enum kind kind,
			       const struct in6_addr *client, int64_t now_us)
{
	const struct failures_key key = key_of_failures(kind, client, STR(""));
	const struct failures_entry *entry = find_failures(failures, &key);

	return entry == NULL || are_failures_forgotten(failures, entry, now_us) ? 0 : entry->count;
}

static void make_room_for_failures(struct auth_failures *failures, int64_t now_us)
{
	while (failures->entries != NULL &&
	       (failures->count >= AUTH_FAILURES_MAX ||
		are_failures_forgotten(failures, failures->entries, now_us)))
		drop_failures(failures, failures->entries);
}

/* Counts one more; returns how many there are. */
static unsigned add_failure(struct auth_failures *failures, const struct failures_key *key,
			    int64_t now_us)
{
	struct failures_entry *entry = find_failures(failures, key);

	if (entry == NULL) {
		make_room_for_failures(failures, now_us);
		entry = memory_alloc_zero(1, sizeof *entry);
		entry->key = *key;
		HASH_ADD(hh, failures->table, key, sizeof entry->key, entry);
		failures->count++;
	} else {
		DL_DELETE2(failures->entries, entry, previous, next);
		if (are_failures_forgotten(failures, entry, now_us))
			entry->count = 0;
	}
	DL_APPEND2(failures->entries, entry, previous, next);
	entry->last_us = now_us;
	if (entry->count < UINT32_MAX)
		entry->count++;
	return entry->count;
}

/* Half a second, one, two, four, five. */
static int64_t delay_for(unsigned count)
{
	int64_t delay_us = AUTH_DELAY_LEAST_US;

	for (unsigned i = 1; i < count && delay_us < AUTH_DELAY_MOST_US; i++)
		delay_us *= 2;
	return delay_us < AUTH_DELAY_MOST_US ? delay_us : AUTH_DELAY_MOST_US;
}

static bool is_exempt(const struct auth_failures *failures, const struct in6_addr *client)
{
	for (size_t i = 0; i < failures->settings.exempt_count; i++)
		if (config_network_has(&failures->settings.exempt[i], client))
			return true;
	return false;
}

int64_t auth_failures_add(struct auth_failures *failures, const struct in6_addr *client,
			  struct str user, int64_t now_us)
{
	unsigned most = 1;

	for (unsigned kind = 0; kind < KINDS; kind++) {
		const struct failures_key key = key_of_failures((enum kind)kind, client, user);
		unsigned count;

		if (user.length == 0 && (kind == KIND_USER || kind == KIND_PAIR))
			continue;
		if ((kind == KIND_CLIENT || kind == KIND_NETWORK) && is_exempt(failures, client))
			continue;
		count = add_failure(failures, &key, now_us);
		/* many others share a network: it is slow only once it is suspect */
		if (kind == KIND_NETWORK)
			count /= AUTH_FAILURES_NETWORK;
		if (count > most)
			most = count;
	}
	return delay_for(most);
}

static void subtract_failures(struct auth_failures *failures, const struct failures_key *key,
			      unsigned count)
{
	struct failures_entry *entry = find_failures(failures, key);

	if (entry == NULL)
		return;
	if (entry->count <= count)
		drop_failures(failures, entry);
	else
		entry->count -= count;
}

void auth_failures_forgive(struct auth_failures *failures, const struct in6_addr *client,
			   struct str user)
{
	const struct failures_key pair = key_of_failures(KIND_PAIR, client, user);
	struct failures_entry *entry = find_failures(failures, &pair);
	unsigned count;

	if (entry == NULL)
		return;
	count = entry->count;
	for (unsigned kind = 0; kind < KINDS; kind++) {
		const struct failures_key key = key_of_failures((enum kind)kind, client, user);

		subtract_failures(failures, &key, count);
	}
}

unsigned auth_failures_count(struct auth_failures *failures, const struct in6_addr *client,
			     int64_t now_us)
{
	return count_failures(failures, KIND_CLIENT, client, now_us);
}

bool auth_failures_is_refused(struct auth_failures *failures, const struct in6_addr *client,
			      int64_t now_us)
{
	unsigned limit = failures->settings.limit;

	if (IN6_IS_ADDR_UNSPECIFIED(client)) /* on this machine, whoever it is */
		return false;
	if (is_exempt(failures, client)) /* also what was counted before it was */
		return false;
	return limit > 0 &&
	       (count_failures(failures, KIND_CLIENT, client, now_us) >= limit ||
		count_failures(failures, KIND_NETWORK, client, now_us) / AUTH_FAILURES_NETWORK >=
			limit);
}

struct auth_failures *auth_failures_new(void)
{
	return memory_alloc_zero(1, sizeof(struct auth_failures));
}

void auth_failures_configure(struct auth_failures *failures,
			     const struct auth_failures_settings *settings)
{
	failures->settings = *settings;
}

void auth_failures_free(struct auth_failures *failures)
{
	if (failures == NULL)
		return;
	while (failures->entries != NULL)
		drop_failures(failures, failures->entries);
	free(failures);
}
