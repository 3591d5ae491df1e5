// SPDX-License-Identifier: ISC
/* lmtp - delivers to LMTP servers: one helper for each lmtp service. */
#include "stage/lmtp.h"
#include "program/service.h"

enum { CONCURRENCY = 1000 };

static void *new_stage(struct os_loop *loop, const struct config *config,
		       const struct config_service *service)
{
	return stage_lmtp_new(loop, config, service);
}

static void configure(void *stage, const struct config *config,
		      const struct config_service *service)
{
	stage_lmtp_configure(stage, config, service);
}

static void deliver(void *stage, struct stage_helper_job *job)
{
	stage_lmtp_deliver(stage, job);
}

static void drain(void *stage)
{
	stage_lmtp_drain(stage);
}

static void lost(void *stage)
{
	stage_lmtp_give_up(stage);
}

static void free_stage(void *stage)
{
	stage_lmtp_free(stage);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{CONFIG_SERVICE_LMTP, CONCURRENCY, new_stage, configure, deliver, drain, lost,
		 free_stage},
		{0},
	};

	return service_main(argc, argv, "lmtp", kinds, NULL);
}
