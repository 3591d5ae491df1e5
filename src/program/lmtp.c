// SPDX-License-Identifier: ISC
/* lmtp - delivers to LMTP servers: one helper for each lmtp service. */
#include "deliver/lmtp.h"
#include "program/service.h"

enum { CONCURRENCY = 1000 };

static void *new_transport(struct os_loop *loop, const struct config *config,
			   const struct config_service *service)
{
	return deliver_lmtp_new(loop, config, service);
}

static void configure(void *transport, const struct config *config,
		      const struct config_service *service)
{
	deliver_lmtp_configure(transport, config, service);
}

static void deliver(void *transport, struct deliver_helper_job *job)
{
	deliver_lmtp_start(transport, job);
}

static void drain(void *transport)
{
	deliver_lmtp_drain(transport);
}

static void lost(void *transport)
{
	deliver_lmtp_give_up(transport);
}

static void free_transport(void *transport)
{
	deliver_lmtp_free(transport);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{CONFIG_SERVICE_LMTP, CONCURRENCY, new_transport, configure, deliver, drain, lost,
		 free_transport},
		{0},
	};

	return service_main(argc, argv, "lmtp", kinds, NULL);
}
