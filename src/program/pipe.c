// SPDX-License-Identifier: ISC
/* pipe - delivers to programs: one transport for each pipe service. "launch" starts the
 * programs. */
#include "deliver/pipe/pipe.h"
#include "base/panic.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"
#include <stdlib.h>
#include <utlist.h>

enum { CONCURRENCY = 1000 };

struct pipe_entry {
	struct deliver_pipe *pipe;
	struct pipe_entry *next, *previous;
};

static struct {
	const struct child *child;
	struct launch_client *launcher; /* shared by all services, since the first one */
	struct pipe_entry *entries;
} pipe_program;

static void on_launcher_ready(void *unused)
{
	struct pipe_entry *entry;

	(void)unused;
	DL_FOREACH2 (pipe_program.entries, entry, next)
		deliver_pipe_go_on(entry->pipe);
}

static struct launch_client *connect_launcher(struct os_loop *loop)
{
	char path[108];

	child_path(pipe_program.child, "launch", path);
	return launch_client_new(loop, path, child_token(pipe_program.child, "pipe"),
				 on_launcher_ready, NULL);
}

static void *new_stage(struct os_loop *loop, const struct config *config,
		       const struct config_service *service)
{
	struct pipe_entry *entry = memory_alloc_zero(1, sizeof *entry);

	if (pipe_program.launcher == NULL)
		pipe_program.launcher = connect_launcher(loop);
	entry->pipe = deliver_pipe_new(loop, pipe_program.launcher, config, service);
	DL_APPEND2(pipe_program.entries, entry, previous, next);
	return entry;
}

static void configure_pipe_transport(void *context, const struct config *config,
				     const struct config_service *service)
{
	const struct pipe_entry *entry = context;

	deliver_pipe_configure(entry->pipe, config, service);
}

static void deliver_pipe_job(void *context, struct deliver_helper_job *job)
{
	const struct pipe_entry *entry = context;

	deliver_pipe_start(entry->pipe, job);
}

static void drain_pipe_transport(void *context)
{
	const struct pipe_entry *entry = context;

	deliver_pipe_drain(entry->pipe);
}

static void on_pipe_manager_lost(void *context)
{
	const struct pipe_entry *entry = context;

	deliver_pipe_lost(entry->pipe);
}

/* Without a service "launch" is not needed, and ends as well. */
static void free_stage(void *context)
{
	struct pipe_entry *entry = context;

	DL_DELETE2(pipe_program.entries, entry, previous, next);
	deliver_pipe_free(entry->pipe);
	free(entry);
	if (pipe_program.entries != NULL)
		return;
	launch_client_free(pipe_program.launcher);
	pipe_program.launcher = NULL;
}

static int open_pipe_process(struct child *child)
{
	pipe_program.child = child;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.kind = CONFIG_SERVICE_PIPE,
		 .concurrency = CONCURRENCY,
		 .new = new_stage,
		 .configure = configure_pipe_transport,
		 .deliver = deliver_pipe_job,
		 .drain = drain_pipe_transport,
		 .lost = on_pipe_manager_lost,
		 .free = free_stage},
		{0},
	};

	return service_main(argc, argv,
			    &(struct service_program){
				    .name = "pipe", .kinds = kinds, .open = open_pipe_process});
}
