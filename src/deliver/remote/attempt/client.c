// SPDX-License-Identifier: ISC
/* What the attempts of a process share: made, configured, freed. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/attempt.h"
#include <stdlib.h>

void remote_client_init(struct remote_client *client, struct os_loop *loop)
{
	*client = (struct remote_client){.pool = remote_pool_new(),
					 .plain = remote_plain_new(),
					 .silent = remote_silent_new(),
					 .doubt = remote_doubt_new()};
	client->settings.tls = tls_client_new();
	client->settings.loop = loop;
	client->settings.chunk = memory_alloc(REMOTE_CHUNK_SIZE);
}

void remote_client_configure(struct remote_client *client, const struct config *config,
			     int64_t reply_timeout_us)
{
	remote_pool_clear(client->pool);
	client->configurations++;
	client->site_key = config->site_key;
	client->settings.hostname = config->hostname;
	client->settings.connect_timeout_us = config->remote_connect_timeout * SECOND_US;
	client->settings.reply_timeout_us = reply_timeout_us;
	client->settings.tls_timeout_us = config->tls_timeout * SECOND_US;
	client->settings.avoids_chunks = !config->bdat;
	client->settings.converts_8bit = config->convert_8bit;
}

void remote_client_clear(struct remote_client *client)
{
	remote_client_give_up(client);
	remote_pool_free(client->pool);
	remote_plain_free(client->plain);
	remote_silent_free(client->silent);
	remote_doubt_free(client->doubt);
	tls_client_free(client->settings.tls);
	free(client->settings.chunk);
}
