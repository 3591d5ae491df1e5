// SPDX-License-Identifier: ISC
#include "intake/limit/client.h"
#include "base/panic.h"
#include "base/table.h"
#include <stdlib.h>
#include <string.h>

struct intake_client {
	struct in6_addr network;
	uint32_t count;
	UT_hash_handle hh;
};

static struct in6_addr network_of(const struct in6_addr *address)
{
	struct in6_addr network = *address;

	if (!IN6_IS_ADDR_V4MAPPED(address))
		memset(&network.s6_addr[8], 0, 8);
	return network;
}

struct intake_client *intake_client_enter(struct intake_client **clients,
					  const struct in6_addr *address, uint32_t limit)
{
	struct in6_addr network = network_of(address);
	struct intake_client *client;

	HASH_FIND(hh, *clients, &network, sizeof network, client);
	if ((client != NULL ? client->count : 0) >= limit)
		return NULL;
	if (client == NULL) {
		client = memory_alloc_zero(1, sizeof *client);
		client->network = network;
		HASH_ADD(hh, *clients, network, sizeof client->network, client);
	}
	client->count++;
	return client;
}

void intake_client_leave(struct intake_client **clients, struct intake_client *client)
{
	if (--client->count > 0)
		return;
	HASH_DEL(*clients, client);
	free(client);
}
