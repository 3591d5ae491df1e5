// SPDX-License-Identifier: ISC
/* remote - delivers to other hosts. */
#include "deliver/remote/remote.h"
#include "deliver/remote/keys/keys.h"
#include "deliver/remote/policy/authorities.h"
#include "deliver/remote/policy/policy.h"
#include "deliver/remote/session/places.h"
#include "policy/sts/client.h"
#include "program/kind/service.h"
#include "supervisor/child/child.h"

enum { CONCURRENCY = 2000 };

static struct deliver_remote *remote;
static struct remote_policies *policies;
static struct remote_places *places; /* of sessions in their classes of hosts */
static struct sts_client *sts;       /* NULL: neither policies nor reports are wanted */
static struct remote_logins *logins; /* NULL: none is wanted */
static bool is_hidden;               /* passwords may pass through it: its memory cannot be read */
static bool has_sources;             /* it may bind */
static bool has_sts;
static bool has_reports;

static void renew_remote_process(void *context)
{
	child_renew(context);
}

/* Reads the system's DNS configuration and authorities once. */
static int open_remote(struct child *child)
{
	places = remote_places_new();
	is_hidden = config_has_logins(child->config);
	has_sources = child->config->source_count > 0;
	has_sts = child->config->mta_sts;
	has_reports = child->config->tls_reports;
	policies = remote_policies_new(
		child->config, false,
		&(struct remote_authorities_watcher){child->loop, renew_remote_process, child});
	remote_policies_log(policies);
	return deliver_remote_new(child->loop, child->config, policies, &remote);
}

/* Once they are there they stay, as sessions may need them. */
static void present_certificates_to_remote(struct child *child, const struct config *config)
{
	char path[108];

	if (remote_policies_certificates(policies) != NULL ||
	    !config_has_tls_out_certificates(config))
		return;
	child_path(child, "keys", path);
	remote_policies_present(policies, remote_keys_new(child->loop, path));
}

/* Likewise. */
static void prepare_logins(struct child *child, const struct config *config)
{
	char path[108];

	if (logins != NULL || !config_has_logins(config))
		return;
	child_path(child, "keys", path);
	logins = remote_keys_logins(child->loop, path);
}

/* What is read at the start, before the sandbox is entered, and a connection more or less need a
 * new process. */
static bool fits_remote_process(struct child *child, const struct config *config)
{
	bool has_files = remote_policies_configure(policies, config);
	bool has_hidden = is_hidden || !config_has_logins(config);
	bool has_bind = has_sources || config->source_count == 0;

	remote_places_configure(places, config, child->limits);
	present_certificates_to_remote(child, config);
	prepare_logins(child, config);
	return deliver_remote_fits(remote, config) && has_files && has_hidden && has_bind &&
	       config->mta_sts == has_sts && config->tls_reports == has_reports;
}

static void *new_remote_transport(struct child *child, const struct config *config,
				  const struct config_service *none)
{
	char path[108];

	(void)none;
	present_certificates_to_remote(child, config);
	prepare_logins(child, config);
	deliver_remote_use_logins(remote, logins);
	remote_places_configure(places, config, child->limits);
	deliver_remote_count(remote, places);
	deliver_remote_configure(remote, config);
	if (!has_sts && !has_reports)
		return remote;
	child_path(child, "policy", path);
	sts = sts_client_new(child->loop, path, STS_PATIENCE_US);
	if (has_sts)
		remote_policies_use_sts(policies, sts);
	if (has_reports)
		deliver_remote_report(remote, sts);
	return remote;
}

static void configure_remote_transport(void *transport, const struct config *config,
				       const struct config_service *none)
{
	(void)none;
	deliver_remote_use_logins(transport, logins);
	deliver_remote_configure(transport, config);
}

static void free_remote_transport(void *transport)
{
	deliver_remote_free(transport);
	remote_policies_use_sts(policies, NULL);
	sts_client_free(sts);
	sts = NULL;
}

int main(int argc, char **argv)
{
	static const struct service_kind kinds[] = {
		{.name = "remote",
		 .concurrency = CONCURRENCY,
		 .new = new_remote_transport,
		 .configure = configure_remote_transport,
		 .jobs = {deliver_remote_start, deliver_remote_drain, deliver_remote_give_up},
		 .free = free_remote_transport},
		{0},
	};

	return service_main(argc, argv,
			    &(struct service_program){.name = "remote",
						      .kinds = kinds,
						      .open = open_remote,
						      .fits = fits_remote_process});
}
