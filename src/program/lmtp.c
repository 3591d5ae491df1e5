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

static void renew_lmtp_process(void *context)
{
	child_renew(context);
}

/* Reads authorities and the system's DNS configuration once. */
static int open_lmtp(struct child *child)
{
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
static void present_certificates_to_lmtp(struct child *child, const struct config *config)
{
	char path[108];

	if (remote_policies_certificates(policies) != NULL ||
	    !config_has_tls_out_certificates(config))
		return;
	child_path(child, "keys", path);
	remote_policies_present(policies, remote_keys_new(child->loop, path));
}

/* Files of authorities that were not read at the start, and another name server, need a new
 * process. */
static bool fits_lmtp_process(struct child *child, const struct config *config)
{
	bool has_server = dns_server == NULL || strcmp(dns_server, config->dns_server) == 0;

	remote_places_configure(places, config, child->limits);
	present_certificates_to_lmtp(child, config);
	return remote_policies_configure(policies, config) && has_server;
}

static void *new_lmtp_transport(struct child *child, const struct config *config,
				const struct config_service *service)
{
	struct deliver_lmtp *lmtp;

	present_certificates_to_lmtp(child, config);
	remote_places_configure(places, config, child->limits);
	lmtp = deliver_lmtp_new(child->loop, config, service, resolver, policies);
	deliver_lmtp_count(lmtp, places);
	return lmtp;
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.kind = CONFIG_SERVICE_LMTP,
		 .concurrency = CONCURRENCY,
		 .new = new_lmtp_transport,
		 .configure = deliver_lmtp_configure,
		 .jobs = {deliver_lmtp_start, deliver_lmtp_drain, deliver_lmtp_give_up},
		 .free = deliver_lmtp_free},
		{0},
	};

	return service_main(argc, argv,
			    &(struct service_program){.name = "lmtp",
						      .kinds = kinds,
						      .open = open_lmtp,
						      .fits = fits_lmtp_process});
}
