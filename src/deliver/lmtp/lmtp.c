// SPDX-License-Identifier: ISC
#include "deliver/lmtp/lmtp.h"
#include "base/panic.h"
#include "deliver/lmtp/search.h"
#include "deliver/remote/attempt/loop.h"
#include <stdio.h>
#include <stdlib.h>

enum { NAME_SIZE = 128, TRIGGER_SIZE = 64 };

/* Running jobs point into it, so it is not changed when the configuration changes. */
struct target {
	struct dns_server server;
	char name[NAME_SIZE];       /* of the server, for people */
	char key[NAME_SIZE];        /* identifies connections to it */
	char trigger[TRIGGER_SIZE]; /* "service.NAME" */
	struct arena *arena;        /* of its policy */
	struct remote_policy policy;
	unsigned users; /* jobs, and one while it is current */
};

struct deliver_lmtp {
	struct remote_client client;
	struct dns_resolver *resolver; /* or NULL */
	struct remote_policies *policies;
	const struct config_service *service;
	struct target *target; /* its own server */
};

static struct target *target_new(const struct config_service *service,
				 const struct remote_policies *policies)
{
	const struct config_endpoint *endpoint = &service->address;
	struct target *target = memory_alloc_zero(1, sizeof *target);
	bool is_address;

	if (endpoint->port == 0)
		is_address = os_socket_address_of_path(endpoint->host, &target->server.address);
	else
		is_address = os_socket_address_parse(endpoint->host, endpoint->port,
						     &target->server.address);
	if (!is_address)
		panic("the configuration has %s for an address", endpoint->text);
	snprintf(target->name, sizeof target->name, "%s",
		 endpoint->port == 0 ? endpoint->text : endpoint->host);
	snprintf(target->key, sizeof target->key, "%s", endpoint->text);
	snprintf(target->trigger, sizeof target->trigger, "service.%s", service->name);
	target->server.host = target->name;
	target->arena = arena_new();
	remote_policy_of_service(policies, service, &target->server, target->arena,
				 &target->policy);
	target->users = 1;
	return target;
}

static void target_release(struct target *target)
{
	if (target == NULL || --target->users > 0)
		return;
	arena_free(target->arena);
	free(target);
}

static void find_target_server(void *context, struct remote_attempt *attempt)
{
	const struct target *target = context;

	remote_attempt_try(attempt, &target->server, 1, target->trigger);
}

static void end_target_attempt(void *context)
{
	target_release(context);
}

static bool protect_target_server(void *context, struct remote_attempt *attempt,
				  const struct dns_server *server, struct remote_policy *policy_out)
{
	const struct target *target = context;

	(void)attempt;
	(void)server;
	*policy_out = target->policy;
	return true;
}

static const struct remote_finder finder = {find_target_server, end_target_attempt,
					    protect_target_server};

struct deliver_lmtp *deliver_lmtp_new(struct os_loop *loop, const struct config *config,
				      const struct config_service *service,
				      struct dns_resolver *resolver,
				      struct remote_policies *policies)
{
	struct deliver_lmtp *lmtp = memory_alloc_zero(1, sizeof *lmtp);

	lmtp->resolver = resolver;
	lmtp->policies = policies;
	remote_client_init(&lmtp->client, loop);
	deliver_lmtp_configure(lmtp, config, service);
	return lmtp;
}

void deliver_lmtp_count(struct deliver_lmtp *lmtp, struct remote_places *places)
{
	lmtp->client.settings.places = places;
}

void deliver_lmtp_free(void *transport)
{
	struct deliver_lmtp *lmtp = transport;

	if (lmtp == NULL)
		return;
	remote_client_clear(&lmtp->client);
	target_release(lmtp->target);
	free(lmtp);
}

void deliver_lmtp_configure(void *transport, const struct config *config,
			    const struct config_service *service)
{
	struct deliver_lmtp *lmtp = transport;

	remote_client_configure(&lmtp->client, config, service->timeout * SECOND_US);
	lmtp->client.settings.certificates = remote_policies_certificates(lmtp->policies);
	lmtp->service = service;
	target_release(lmtp->target);
	lmtp->target = target_new(service, lmtp->policies);
}

/* A job for a server that the directory names. */
static void start_there(struct deliver_lmtp *lmtp, struct deliver_helper_job *job)
{
	struct mail_verdict verdict;
	struct lmtp_search *search =
		lmtp_search_new(lmtp->resolver, lmtp->policies, lmtp->service, job, &verdict);

	if (search != NULL) {
		remote_attempt_start(&lmtp->client, SMTP_CLIENT_LMTP, job, lmtp_search_key(search),
				     &lmtp_search_finder, search);
		return;
	}
	deliver_helper_report_rest(job, &verdict, NULL);
	deliver_helper_finish(job);
}

void deliver_lmtp_start(void *transport, struct deliver_helper_job *job)
{
	struct deliver_lmtp *lmtp = transport;
	struct target *target = lmtp->target;

	if (!remote_loop_deliver(lmtp->client.site_key, job, lmtp->client.settings.chunk)) {
		deliver_helper_finish(job);
		return;
	}
	job->tells_origin = lmtp->service->xforward;
	if (job->destination.length > 0) {
		start_there(lmtp, job);
		return;
	}
	target->users++;
	remote_attempt_start(&lmtp->client, SMTP_CLIENT_LMTP, job, target->key, &finder, target);
}

void deliver_lmtp_give_up(void *transport)
{
	struct deliver_lmtp *lmtp = transport;

	remote_client_give_up(&lmtp->client);
}

void deliver_lmtp_drain(void *transport)
{
	struct deliver_lmtp *lmtp = transport;

	remote_client_drain(&lmtp->client);
}
