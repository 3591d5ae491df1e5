// SPDX-License-Identifier: ISC
#include "stage/remote.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "stage/remote_attempt.h"
#include <stdlib.h>

int stage_remote_new(struct os_loop *loop, const struct config *config,
		     struct stage_remote **remote_out)
{
	struct dns_resolver *resolver;
	struct stage_remote *remote;
	int result = dns_resolver_new(loop, config->dns_server, &resolver);

	if (result < 0)
		return result;
	remote = memory_alloc_zero(1, sizeof *remote);
	remote->loop = loop;
	remote->resolver = resolver;
	remote->pool = remote_pool_new();
	remote->chunk = memory_alloc(REMOTE_CHUNK_SIZE);
	stage_remote_configure(remote, config);
	*remote_out = remote;
	return 0;
}

void stage_remote_free(struct stage_remote *remote)
{
	if (remote == NULL)
		return;
	stage_remote_give_up(remote);
	remote_pool_free(remote->pool);
	remote_routes_free(remote->routes);
	dns_resolver_free(remote->resolver);
	free(remote->chunk);
	free(remote);
}

void stage_remote_configure(struct stage_remote *remote, const struct config *config)
{
	remote_pool_clear(remote->pool);
	remote_routes_free(remote->routes);
	remote->routes = remote_routes_new(config->smtproutes, config->smtproute_count);
	remote->settings = (struct remote_session_settings){
		.loop = remote->loop,
		.hostname = config->hostname,
		.connect_timeout_us = config->remote_connect_timeout * SECOND_US,
		.reply_timeout_us = config->remote_timeout * SECOND_US,
		.chunk = remote->chunk,
	};
}

void stage_remote_deliver(struct stage_remote *remote, struct stage_helper_job *job)
{
	remote_attempt_start(remote, job);
}

void stage_remote_give_up(struct stage_remote *remote)
{
	while (remote->attempts != NULL)
		remote_attempt_abandon(remote->attempts);
}
