// SPDX-License-Identifier: ISC
/* pipe - delivers to programs: one helper for each pipe service. The programs are started by
 * "launch". */
#include "stage/pipe.h"
#include "base/panic.h"
#include "program/child.h"
#include "program/service.h"
#include <stdlib.h>
#include <utlist.h>

enum { CONCURRENCY = 1000 };

struct stage {
	struct stage_pipe *pipe;
	struct stage *next, *previous;
};

static struct {
	const struct child *child;
	struct launch_client *launcher; /* of all, from the first on */
	struct stage *stages;
} program;

static void on_ready(void *unused)
{
	struct stage *stage;

	(void)unused;
	DL_FOREACH2 (program.stages, stage, next)
		stage_pipe_go_on(stage->pipe);
}

static struct launch_client *connect_launcher(struct os_loop *loop)
{
	char path[108];

	child_path(program.child, "launch", path);
	return launch_client_new(loop, path, child_token(program.child, "pipe"), on_ready, NULL);
}

static void *new_stage(struct os_loop *loop, const struct config *config,
		       const struct config_service *service)
{
	struct stage *stage = memory_alloc_zero(1, sizeof *stage);

	if (program.launcher == NULL)
		program.launcher = connect_launcher(loop);
	stage->pipe = stage_pipe_new(loop, program.launcher, config, service);
	DL_APPEND2(program.stages, stage, previous, next);
	return stage;
}

static void configure(void *context, const struct config *config,
		      const struct config_service *service)
{
	const struct stage *stage = context;

	stage_pipe_configure(stage->pipe, config, service);
}

static void deliver(void *context, struct stage_helper_job *job)
{
	const struct stage *stage = context;

	stage_pipe_deliver(stage->pipe, job);
}

static void drain(void *context)
{
	const struct stage *stage = context;

	stage_pipe_drain(stage->pipe);
}

static void lost(void *context)
{
	const struct stage *stage = context;

	stage_pipe_lost(stage->pipe);
}

/* Without a service nobody asks "launch", which ends as well. */
static void free_stage(void *context)
{
	struct stage *stage = context;

	DL_DELETE2(program.stages, stage, previous, next);
	stage_pipe_free(stage->pipe);
	free(stage);
	if (program.stages != NULL)
		return;
	launch_client_free(program.launcher);
	program.launcher = NULL;
}

static int open_pipe(struct child *child)
{
	program.child = child;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{CONFIG_SERVICE_PIPE, CONCURRENCY, new_stage, configure, deliver, drain, lost,
		 free_stage},
		{0},
	};

	return service_main(argc, argv, "pipe", kinds, open_pipe);
}
