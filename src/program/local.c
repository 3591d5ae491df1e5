// SPDX-License-Identifier: ISC
/* local - delivers into mailboxes and to programs: one helper for each service. */
#include "stage/local.h"
#include "program/service.h"
#include "stage/pipe.h"

enum { MAILDIR_CONCURRENCY = 1000, PIPE_CONCURRENCY = 1000 };

static void *maildir_new_stage(struct os_loop *loop, const struct config *config,
			       const struct config_service *service)
{
	return stage_local_new(loop, config, service);
}

static void maildir_configure(void *stage, const struct config *config,
			      const struct config_service *service)
{
	stage_local_configure(stage, config, service);
}

static void maildir_deliver(void *stage, struct stage_helper_job *job)
{
	stage_local_deliver(stage, job);
}

static void maildir_lost(void *stage)
{
	stage_local_lost(stage);
}

static void maildir_free_stage(void *stage)
{
	stage_local_free(stage);
}

static void *pipe_new_stage(struct os_loop *loop, const struct config *config,
			    const struct config_service *service)
{
	return stage_pipe_new(loop, config, service);
}

static void pipe_configure(void *stage, const struct config *config,
			   const struct config_service *service)
{
	stage_pipe_configure(stage, config, service);
}

static void pipe_deliver(void *stage, struct stage_helper_job *job)
{
	stage_pipe_deliver(stage, job);
}

static void pipe_lost(void *stage)
{
	stage_pipe_lost(stage);
}

static void pipe_free_stage(void *stage)
{
	stage_pipe_free(stage);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{CONFIG_SERVICE_MAILDIR, MAILDIR_CONCURRENCY, maildir_new_stage, maildir_configure,
		 maildir_deliver, maildir_lost, maildir_free_stage},
		{CONFIG_SERVICE_PIPE, PIPE_CONCURRENCY, pipe_new_stage, pipe_configure,
		 pipe_deliver, pipe_lost, pipe_free_stage},
		{0},
	};

	return service_main(argc, argv, "local", kinds);
}
