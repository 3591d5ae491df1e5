// SPDX-License-Identifier: ISC
/* lmtp - delivers to LMTP servers: one transport for each lmtp service. */
#include "deliver/lmtp/lmtp.h"
#include "base/panic.h"
#include "deliver/remote/keys/keys.h"
#include "deliver/remote/policy/authorities.h"
#include "deliver/remote/policy/policy.h"
#include "deliver/remote/session/places.h"
#include "dns/resolver.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"
#include <string.h>

enum { CONCURRENCY = 1000 };

/* For all services; NULL while none has servers by name. */
static struct dns_resolver *resolver;
static char *dns_server; /* whom it asks */
static struct remote_policies *policies;
static struct remote_places *places; /* of sessions in their classes of hosts */
static struct child *process;

static void renew_lmtp_process(void *context)
{
	child_renew(context);
}

/* Reads authorities and the system's DNS configuration once. */
static int open_lmtp(struct child *child)
{
	process = child;
	places = remote_places_new();
	policies = remote_policies_new(
		child->config, true,
		&(struct remote_authorities_watcher){child->loop, renew_lmtp_process, child});
	remote_policies_log(policies);
	if (!config_has_server_names(child->config))
		return 0;
	dns_server = memory_copy_string(child->config->dns_server);
	return dns_resolver_new(child->loop, child->config->dns_server, &resolver);
}

/* Once they are there they stay, as sessions may need them. */
static void present_certificates_to_lmtp(const struct config *config)
{
	char path[108];

	if (remote_policies_certificates(policies) != NULL ||
	    !config_has_tls_out_certificates(config))
		return;
	child_path(process, "keys", path);
	remote_policies_present(policies, remote_keys_new(process->loop, path));
}

/* Files of authorities that were not read at the start, and another name server, need a new
 * process. */
static bool fits_lmtp_process(const struct config *config)
{
	bool has_server = dns_server == NULL || strcmp(dns_server, config->dns_server) == 0;

	remote_places_configure(places, config, process->limits);
	present_certificates_to_lmtp(config);
	return remote_policies_configure(policies, config) && has_server;
}

static void *new_lmtp_transport(struct os_loop *loop, const struct config *config,
				const struct config_service *service)
{
	struct deliver_lmtp *lmtp;

	present_certificates_to_lmtp(config);
	remote_places_configure(places, config, process->limits);
	lmtp = deliver_lmtp_new(loop, config, service, resolver, policies);
	deliver_lmtp_count(lmtp, places);
	return lmtp;
}

static void configure_lmtp_transport(void *transport, const struct config *config,
				     const struct config_service *service)
{
	deliver_lmtp_configure(transport, config, service);
}

static void deliver_lmtp_job(void *transport, struct deliver_helper_job *job)
{
	deliver_lmtp_start(transport, job);
}

static void drain_lmtp_transport(void *transport)
{
	deliver_lmtp_drain(transport);
}

static void on_lmtp_manager_lost(void *transport)
{
	deliver_lmtp_give_up(transport);
}

static void free_lmtp_transport(void *transport)
{
	deliver_lmtp_free(transport);
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.kind = CONFIG_SERVICE_LMTP,
		 .concurrency = CONCURRENCY,
		 .new = new_lmtp_transport,
		 .configure = configure_lmtp_transport,
		 .deliver = deliver_lmtp_job,
		 .drain = drain_lmtp_transport,
		 .lost = on_lmtp_manager_lost,
		 .free = free_lmtp_transport},
		{0},
	};

	return service_main(argc, argv,
			    &(struct service_program){.name = "lmtp",
						      .kinds = kinds,
						      .open = open_lmtp,
						      .fits = fits_lmtp_process});
}
