// SPDX-License-Identifier: ISC
/* What the attempts of a process share: made, configured, freed. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/attempt.h"
#include <stdlib.h>

void remote_carrier_init(struct remote_carrier *carrier, struct os_loop *loop)
{
	*carrier = (struct remote_carrier){.pool = remote_pool_new(),
					   .plain = remote_plain_new(),
					   .silent = remote_silent_new(),
					   .doubt = remote_doubt_new()};
	carrier->settings.tls = tls_client_new();
	carrier->settings.loop = loop;
	carrier->settings.chunk = memory_alloc(REMOTE_CHUNK_SIZE);
}

void remote_carrier_configure(struct remote_carrier *carrier, const struct config *config,
			      int64_t reply_timeout_us)
{
	remote_pool_clear(carrier->pool);
	carrier->configurations++;
	carrier->site_key = config->site_key;
	carrier->settings.hostname = config->hostname;
	carrier->settings.connect_timeout_us = config->remote_connect_timeout * SECOND_US;
	carrier->settings.reply_timeout_us = reply_timeout_us;
	carrier->settings.tls_timeout_us = config->tls_timeout * SECOND_US;
	carrier->settings.avoids_chunks = !config->bdat;
	carrier->settings.converts_8bit = config->convert_8bit;
}

void remote_carrier_clear(struct remote_carrier *carrier)
{
	remote_carrier_give_up(carrier);
	remote_pool_free(carrier->pool);
	remote_plain_free(carrier->plain);
	remote_silent_free(carrier->silent);
	remote_doubt_free(carrier->doubt);
	tls_client_free(carrier->settings.tls);
	free(carrier->settings.chunk);
}
