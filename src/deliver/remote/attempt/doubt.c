// SPDX-License-Identifier: ISC
#include "deliver/remote/attempt/doubt.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/policy/memory.h"
#include <stdio.h>
#include <stdlib.h>

enum { DOUBTS_MAX = 10000 };

static const int64_t DOUBT_US = 8 * DAY_US;

struct remote_doubt {
	struct remote_memory *servers;  /* of a message: how often each */
	struct remote_memory *messages; /* how often at most a server of theirs */
};

struct remote_doubt *remote_doubt_new(void)
{
	struct remote_doubt *doubt = memory_alloc_zero(1, sizeof *doubt);

	doubt->servers = remote_memory_new(DOUBTS_MAX);
	doubt->messages = remote_memory_new(DOUBTS_MAX);
	return doubt;
}

void remote_doubt_free(struct remote_doubt *doubt)
{
	if (doubt == NULL)
		return;
	remote_memory_free(doubt->servers);
	remote_memory_free(doubt->messages);
	free(doubt);
}

/* SERVER: NULL: the message's. */
static void format_doubt(struct mail_id id, const struct dns_server *server,
			 char key[REMOTE_MEMORY_KEY_SIZE])
{
	char address[OS_SOCKET_TEXT_SIZE] = "";
	char text[MAIL_ID_SIZE];

	mail_id_format(id, text);
	if (server != NULL)
		os_socket_address_format(&server->address, address);
	snprintf(key, REMOTE_MEMORY_KEY_SIZE, "%s %s", text, address);
}

void remote_doubt_add(struct remote_doubt *doubt, struct mail_id id,
		      const struct dns_server *server)
{
	char key[REMOTE_MEMORY_KEY_SIZE];
	struct remote_memory_entry *message;
	unsigned count;

	format_doubt(id, server, key);
	count = ++remote_memory_keep(doubt->servers, key, DOUBT_US)->count;
	format_doubt(id, NULL, key);
	message = remote_memory_keep(doubt->messages, key, DOUBT_US);
	message->count = message->count > count ? message->count : count;
}

unsigned remote_doubt_count(struct remote_doubt *doubt, struct mail_id id,
			    const struct dns_server *server)
{
	struct remote_memory *memory = server != NULL ? doubt->servers : doubt->messages;
	char key[REMOTE_MEMORY_KEY_SIZE];
	const struct remote_memory_entry *entry;

	if (remote_memory_is_empty(memory))
		return 0;
	format_doubt(id, server, key);
	entry = remote_memory_find(memory, key);
	return entry != NULL ? entry->count : 0;
}
