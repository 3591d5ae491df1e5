// SPDX-License-Identifier: ISC
#include "limit/client.h"
#include "base/panic.h"
#include "base/table.h"
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKET_SLOTS = 8, BUCKETS_OF_KEY = 2, CLIENT_TRIES = 4 };

/* No row can say more than that of one client: sums do not overflow. */
static const uint64_t BYTES_MAX = UINT64_C(1) << 48;

/* What a process counts for a client. Nothing in it is right unless the key is that of the client
 * before and after it was read. */
struct client_slot {
	_Atomic uint64_t key; /* 0: it is free */
	_Atomic uint64_t bytes;
	_Atomic uint32_t sessions;
};

struct bucket {
	struct client_slot slots[BUCKET_SLOTS];
};

/* The area of a row begins with it; buckets follow. */
struct clients_area {
	struct hash_key key;
	_Atomic uint32_t used; /* slots: who has none is not searched */
	uint32_t reserved;
	struct bucket buckets[];
};

struct limit_client {
	struct limit_clients *clients;
	struct in6_addr network;
	uint64_t key;
	struct client_slot *slot; /* NULL: it counts in this process only */
	uint32_t sessions;
	uint64_t bytes;
	UT_hash_handle hh;
};

struct limit_clients {
	const struct limit_memory *memory; /* NULL: alone */
	struct clients_area *own;
	size_t own_row;
	size_t buckets; /* in each row */
	struct limit_client *by_network;
};

/* --- rows --- */

static size_t buckets_in(size_t size)
{
	return size < sizeof(struct clients_area)
		       ? 0
		       : (size - sizeof(struct clients_area)) / sizeof(struct bucket);
}

uint32_t limit_clients_area_size(const struct config *config)
{
	size_t buckets = 2 * (size_t)config->maxsessions / BUCKET_SLOTS + 1;

	if (config->maxsessions_client == 0 && config->maxunfinished_client == 0)
		return 0;
	return (uint32_t)(sizeof(struct clients_area) + buckets * sizeof(struct bucket));
}

static struct clients_area *area_at(const struct limit_memory *memory, size_t row)
{
	return limit_memory_area(memory, row, LIMIT_AREA_CLIENTS, sizeof(struct clients_area));
}

static void clear_slot(struct client_slot *slot)
{
	atomic_store(&slot->key, 0);
	atomic_store(&slot->sessions, 0);
	atomic_store(&slot->bytes, 0);
}

void limit_clients_prepare(const struct limit_memory *memory, size_t row, struct hash_key key)
{
	if (limit_memory_area_size(memory, LIMIT_AREA_CLIENTS) > 0)
		area_at(memory, row)->key = key;
}

void limit_clients_clear(const struct limit_memory *memory, size_t row)
{
	size_t buckets = buckets_in(limit_memory_area_size(memory, LIMIT_AREA_CLIENTS));
	struct clients_area *area;

	if (buckets == 0)
		return;
	area = area_at(memory, row);
	for (size_t i = 0; i < buckets; i++)
		for (size_t j = 0; j < BUCKET_SLOTS; j++)
			if (atomic_load(&area->buckets[i].slots[j].key) != 0)
				clear_slot(&area->buckets[i].slots[j]);
	atomic_store(&area->used, 0);
}

/* The slot with KEY among those where CLIENT_KEY may be: KEY is the same, or 0. */
static struct client_slot *find_client_slot(struct clients_area *area, size_t buckets,
					    uint64_t client_key, uint64_t key)
{
	for (unsigned which = 0; which < BUCKETS_OF_KEY; which++) {
		uint64_t part = which == 0 ? client_key & UINT32_MAX : client_key >> 32;
		struct bucket *bucket = &area->buckets[part % buckets];

		for (size_t i = 0; i < BUCKET_SLOTS; i++)
			if (atomic_load(&bucket->slots[i].key) == key)
				return &bucket->slots[i];
	}
	return NULL;
}

/* --- what this process writes --- */

static void publish_client(const struct limit_client *client)
{
	if (client->slot == NULL)
		return;
	atomic_store(&client->slot->bytes, client->bytes);
	atomic_store(&client->slot->sessions, client->sessions);
}

static void take_client_slot(struct limit_client *client)
{
	const struct limit_clients *clients = client->clients;
	struct clients_area *own = clients->own;

	client->slot = NULL;
	if (own == NULL)
		return;
	client->key = hash_keyed(own->key, &client->network, sizeof client->network);
	client->key += client->key == 0;
	client->slot = find_client_slot(own, clients->buckets, client->key, 0);
	if (client->slot == NULL)
		return;
	publish_client(client);
	atomic_store(&client->slot->key, client->key);
	atomic_fetch_add(&own->used, 1);
}

static void give_slot_back(struct limit_client *client)
{
	if (client->slot == NULL)
		return;
	clear_slot(client->slot);
	atomic_fetch_sub(&client->clients->own->used, 1);
	client->slot = NULL;
}

/* --- what all have --- */

struct total {
	uint64_t sessions;
	uint64_t bytes;
};

static void add_client_row(const struct limit_client *client, size_t row, struct total *total)
{
	const struct limit_clients *clients = client->clients;
	struct clients_area *area = area_at(clients->memory, row);
	struct client_slot *slot;
	uint64_t sessions;
	uint64_t bytes;

	if (atomic_load(&area->used) == 0)
		return;
	slot = find_client_slot(area, clients->buckets, client->key, client->key);
	if (slot == NULL)
		return;
	sessions = atomic_load(&slot->sessions);
	bytes = atomic_load(&slot->bytes);
	if (atomic_load(&slot->key) != client->key) /* it has just left */
		return;
	total->sessions += sessions;
	total->bytes += bytes < BYTES_MAX ? bytes : BYTES_MAX;
}

static struct total total_of(const struct limit_client *client)
{
	const struct limit_clients *clients = client->clients;
	struct total total = {client->sessions, client->bytes};

	for (size_t i = 0; client->slot != NULL && i < limit_memory_count(clients->memory); i++)
		if (i != clients->own_row)
			add_client_row(client, i, &total);
	return total;
}

/* --- clients --- */

static struct in6_addr network_of(const struct in6_addr *address)
{
	struct in6_addr network = *address;

	if (!IN6_IS_ADDR_V4MAPPED(address))
		memset(&network.s6_addr[8], 0, 8);
	return network;
}

static struct limit_client *find_client(struct limit_clients *clients,
					const struct in6_addr *address)
{
	struct in6_addr network = network_of(address);
	struct limit_client *client;

	HASH_FIND(hh, clients->by_network, &network, sizeof network, client);
	if (client != NULL)
		return client;
	client = memory_alloc_zero(1, sizeof *client);
	client->clients = clients;
	client->network = network;
	HASH_ADD(hh, clients->by_network, network, sizeof client->network, client);
	take_client_slot(client);
	return client;
}

static void forget_idle(struct limit_client *client)
{
	if (client->sessions > 0)
		return;
	give_slot_back(client);
	HASH_DEL(client->clients->by_network, client);
	free(client);
}

struct limit_client *limit_client_enter(struct limit_clients *clients,
					const struct in6_addr *address, uint32_t limit)
{
	struct limit_client *client = find_client(clients, address);

	for (unsigned tries = 0; tries < CLIENT_TRIES && total_of(client).sessions < limit;
	     tries++) {
		client->sessions++;
		publish_client(client);
		if (total_of(client).sessions <= limit)
			return client;
		client->sessions--;
		publish_client(client);
	}
	forget_idle(client);
	return NULL;
}

void limit_client_leave(struct limit_client *client)
{
	if (client->sessions == 0)
		panic("a session ends that was not counted");
	client->sessions--;
	publish_client(client);
	forget_idle(client);
}

void limit_client_change_bytes(struct limit_client *client, uint64_t before, uint64_t after)
{
	if (client->bytes < before)
		panic("more bytes of a client are finished than were begun");
	client->bytes += after - before;
	publish_client(client);
}

uint64_t limit_client_bytes(const struct limit_client *client)
{
	return total_of(client).bytes;
}

/* --- the process --- */

struct limit_clients *limit_clients_new(void)
{
	return memory_alloc_zero(1, sizeof(struct limit_clients));
}

void limit_clients_free(struct limit_clients *clients)
{
	if (clients == NULL)
		return;
	if (clients->by_network != NULL)
		panic("clients have sessions at the end");
	free(clients);
}

void limit_clients_use(struct limit_clients *clients, const struct limit_memory *memory)
{
	ptrdiff_t own = memory != NULL ? limit_memory_own(memory) : -1;
	struct limit_client *client;
	struct limit_client *next;

	if (clients->memory == memory)
		return;
	clients->own = own >= 0 ? area_at(memory, (size_t)own) : NULL;
	clients->memory = clients->own != NULL ? memory : NULL;
	clients->own_row = own >= 0 ? (size_t)own : 0;
	clients->buckets = clients->own != NULL
				   ? buckets_in(limit_memory_area_size(memory, LIMIT_AREA_CLIENTS))
				   : 0;
	HASH_ITER (hh, clients->by_network, client, next)
		take_client_slot(client);
}
