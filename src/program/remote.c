// SPDX-License-Identifier: ISC
/* remote - delivers to other hosts. */
#include "deliver/remote.h"
#include "deliver/remote_policy.h"
#include "program/child.h"
#include "program/service.h"

enum { CONCURRENCY = 2000 };

static struct deliver_remote *remote;
static struct remote_policies *policies;

/* Reads the system's DNS configuration and authorities once. */
static int open_remote(struct child *child)
{
	policies = remote_policies_new(child->config, false);
	remote_policies_log(policies);
	return deliver_remote_new(child->loop, child->config, policies, &remote);
}

/* Files of authorities that were not read at the start need a new process. */
static bool fits(const struct config *config)
{
	return remote_policies_configure(policies, config);
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

	return service_main(argc, argv,
			    &(struct service_program){"remote", kinds, open_remote, fits});
}
