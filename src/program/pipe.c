// SPDX-License-Identifier: ISC
/* pipe - delivers to programs: one transport for each pipe service. "launch" starts the
 * programs. */
#include "deliver/pipe/pipe.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"

enum { CONCURRENCY = 1000 };

/* Shared by all services, since the first one. */
static struct launch_client *launcher;
static size_t services;

static void on_launcher_ready(void *unused)
{
	(void)unused;
	service_each(deliver_pipe_go_on);
}

static void *new_pipe_transport(struct child *child, const struct config *config,
				const struct config_service *service)
{
	char path[108];

	if (services++ == 0) {
		child_path(child, "launch", path);
		launcher = launch_client_new(child->loop, path, child_token(child, "pipe"),
					     on_launcher_ready, NULL);
	}
	return deliver_pipe_new(child->loop, launcher, config, service);
}

/* Without a service "launch" is not needed, and ends as well. */
static void free_pipe_transport(void *pipe)
{
	deliver_pipe_free(pipe);
	if (--services == 0)
		launch_client_free(launcher);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.kind = CONFIG_SERVICE_PIPE,
		 .concurrency = CONCURRENCY,
		 .new = new_pipe_transport,
		 .configure = deliver_pipe_configure,
		 .jobs = {deliver_pipe_start, deliver_pipe_drain, deliver_pipe_lost},
		 .free = free_pipe_transport},
		{0},
	};

	return service_main(argc, argv, &(struct service_program){.name = "pipe", .kinds = kinds});
}
