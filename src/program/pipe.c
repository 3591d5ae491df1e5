// SPDX-License-Identifier: ISC
/* pipe - delivers to programs: one helper for each pipe service. A process of its own,
 * since its programs would inherit what a sandbox takes away. */
#include "stage/pipe.h"
#include "program/service.h"

enum { CONCURRENCY = 1000 };

static void *new_stage(struct os_loop *loop, const struct config *config,
		       const struct config_service *service)
{
	return stage_pipe_new(loop, config, service);
}

static void configure(void *stage, const struct config *config,
		      const struct config_service *service)
{
	stage_pipe_configure(stage, config, service);
}

static void deliver(void *stage, struct stage_helper_job *job)
{
	stage_pipe_deliver(stage, job);
}

static void drain(void *stage)
{
	stage_pipe_drain(stage);
}

static void lost(void *stage)
{
	stage_pipe_lost(stage);
}

static void free_stage(void *stage)
{
	stage_pipe_free(stage);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{CONFIG_SERVICE_PIPE, CONCURRENCY, new_stage, configure, deliver, drain, lost,
		 free_stage},
		{0},
	};

	return service_main(argc, argv, "pipe", kinds, NULL);
}
