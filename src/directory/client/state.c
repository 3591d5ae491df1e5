// SPDX-License-Identifier: ISC
/* What the client reports about itself: which server answers, and the identity of its data. */
#include "directory/client/internal.h"
#include <string.h>

bool directory_client_is_up(const struct directory_client *client)
{
	return client->state == CLIENT_GREETED && !client->is_down && !client->is_broken;
}

const char *const *directory_client_servers(const struct directory_client *client)
{
	return (const char *const *)client->servers;
}

const char *directory_client_server(const struct directory_client *client)
{
	return directory_client_is_up(client) ? client->servers[client->current] : NULL;
}

void directory_client_problem(const struct directory_client *client, struct buffer *out)
{
	const char *server = client->failed;

	if (directory_client_is_up(client) || server == NULL)
		return;
	buffer_append_format(out, "%s: %s", strncmp(server, "unix:", 5) == 0 ? server + 5 : server,
			     client->reason);
}

bool directory_client_is_syncing(const struct directory_client *client)
{
	return client->is_syncing;
}

uint64_t directory_client_version(const struct directory_client *client)
{
	return client->version;
}

struct str directory_client_identity(const struct directory_client *client)
{
	return str_from(client->identity);
}
