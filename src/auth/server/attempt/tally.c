// SPDX-License-Identifier: ISC
/* How many attempts each client has open, whatever connection they come by. */
#include "auth/server/internal.h"
#include <stdlib.h>

static struct auth_tally *find_tally(struct auth_server *server, const struct in6_addr *client)
{
	struct auth_tally *tally;

	HASH_FIND(hh, server->tallies, client, sizeof *client, tally);
	return tally;
}

void auth_tally_add(struct auth_server *server, const struct in6_addr *client)
{
	struct auth_tally *tally = find_tally(server, client);

	if (tally == NULL) {
		tally = memory_alloc_zero(1, sizeof *tally);
		tally->client = *client;
		HASH_ADD(hh, server->tallies, client, sizeof tally->client, tally);
	}
	tally->open++;
}

void auth_tally_remove(struct auth_server *server, const struct in6_addr *client)
{
	struct auth_tally *tally = find_tally(server, client);

	if (--tally->open > 0)
		return;
	HASH_DEL(server->tallies, tally);
	free(tally);
}

unsigned auth_tally_count(struct auth_server *server, const struct in6_addr *client)
{
	const struct auth_tally *tally = find_tally(server, client);

	return tally == NULL ? 0 : tally->open;
}
