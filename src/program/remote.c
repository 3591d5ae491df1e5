// SPDX-License-Identifier: ISC
/* remote - delivers to other hosts. */
#include "deliver/remote.h"
#include "program/child.h"
#include "program/service.h"

enum { CONCURRENCY = 2000 };

static struct deliver_remote *remote;

/* Reads the system's DNS configuration once. */
static int open_remote(struct child *child)
{
	return deliver_remote_new(child->loop, child->config, &remote);
}

static void *new_transport(struct os_loop *loop, const struct config *config,
			   const struct config_service *none)
{
	(void)loop;
	(void)config;
	(void)none;
	return remote;
}

static void configure(void *transport, const struct config *config,
		      const struct config_service *none)
{
	(void)none;
	deliver_remote_configure(transport, config);
}

static void deliver(void *transport, struct deliver_helper_job *job)
{
	deliver_remote_start(transport, job);
}

static void drain(void *transport)
{
	deliver_remote_drain(transport);
}

static void lost(void *transport)
{
	deliver_remote_give_up(transport);
}

static void free_transport(void *transport)
{
	deliver_remote_free(transport);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.name = "remote",
		 .concurrency = CONCURRENCY,
		 .new = new_transport,
		 .configure = configure,
		 .deliver = deliver,
		 .drain = drain,
		 .lost = lost,
		 .free = free_transport},
		{0},
	};

	return service_main(argc, argv, "remote", kinds, open_remote);
}
