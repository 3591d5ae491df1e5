// SPDX-License-Identifier: ISC
#include "deliver/remote/remote.h"
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/loop.h"
#include "deliver/remote/policy/dane.h"
#include "deliver/remote/search.h"
#include <stdlib.h>

int deliver_remote_new(struct os_loop *loop, const struct config *config,
		       struct remote_policies *policies, struct deliver_remote **remote_out)
{
	struct remote_dane *dane;
	struct deliver_remote *remote;
	int result = remote_dane_new(loop, config, &dane);

	if (result < 0)
		return result;
	remote = memory_alloc_zero(1, sizeof *remote);
	remote->dane = dane;
	remote->resolver = remote_dane_resolver(dane);
	remote->policies = policies;
	remote_policies_use_dane(policies, dane);
	remote_client_init(&remote->client, loop);
	remote->client.shape = shape_new();
	deliver_remote_configure(remote, config);
	*remote_out = remote;
	return 0;
}

void deliver_remote_free(void *transport)
{
	struct deliver_remote *remote = transport;

	if (remote == NULL)
		return;
	remote_client_clear(&remote->client);
	shape_free(remote->client.shape);
	remote_routes_free(remote->routes);
	remote_sources_free(remote->sources);
	remote_policies_use_dane(remote->policies, NULL);
	remote_dane_free(remote->dane);
	free(remote);
}

bool deliver_remote_fits(const struct deliver_remote *remote, const struct config *config)
{
	return remote_dane_fits(remote->dane, config);
}

_Static_assert((int)CONFIG_LOGIN_LOGIN == (int)LOGIN_BY_LOGIN &&
		       (int)CONFIG_LOGIN_SCRAM_SHA_1 == (int)LOGIN_BY_SCRAM_SHA_1 &&
		       (int)CONFIG_LOGIN_SCRAM_SHA_256_PLUS == (int)LOGIN_STRENGTHS - 1,
	       "the setting and the mechanisms are in the same order");

void deliver_remote_configure(struct deliver_remote *remote, const struct config *config)
{
	remote_client_configure(&remote->client, config, config->remote_timeout * SECOND_US);
	shape_configure(remote->client.shape, config);
	remote->client.settings.certificates = remote_policies_certificates(remote->policies);
	remote->config = config;
	remote->may_login_plainly = config->login_without_tls;
	remote->may_bind_login = config->login_binding;
	remote->weakest_login = (enum login_strength)config->login_weakest;
	remote_routes_free(remote->routes);
	remote->routes = remote_routes_of(config);
	remote_sources_free(remote->sources);
	remote->sources = remote_sources_new(config);
}

void deliver_remote_use_logins(struct deliver_remote *remote, struct remote_logins *logins)
{
	remote->client.settings.logins = logins;
}

void deliver_remote_count(struct deliver_remote *remote, struct remote_places *places)
{
	remote->client.settings.places = places;
}

void deliver_remote_report(struct deliver_remote *remote, struct sts_client *client)
{
	remote->reports = client;
}

void deliver_remote_start(void *transport, struct deliver_helper_job *job)
{
	struct deliver_remote *remote = transport;
	struct remote_search *search;
	struct mail_verdict verdict;

	if (!remote_loop_lead_on(remote->client.site_key, job, remote->client.settings.chunk)) {
		deliver_helper_finish(job);
		return;
	}
	search = remote_search_new(remote, job);
	if (search != NULL) {
		remote_attempt_start(&remote->client, remote_search_protocol(search), job,
				     remote_search_key(search), &remote_search_finder, search);
		return;
	}
	mail_verdict_set(&verdict, "5.1.2", "\"" STR_FORMAT "\" is not a valid host name",
			 STR_ARGUMENTS(job->destination));
	deliver_helper_report_rest(job, &verdict, NULL);
	deliver_helper_finish(job);
}

void deliver_remote_give_up(void *transport)
{
	struct deliver_remote *remote = transport;

	remote_client_give_up(&remote->client);
}

void deliver_remote_drain(void *transport)
{
	struct deliver_remote *remote = transport;

	remote_client_drain(&remote->client);
}
