// SPDX-License-Identifier: ISC
#include "deliver/lmtp/search.h"
#include "mail/server.h"
#include "queue/trigger.h"
#include <stdio.h>

struct lmtp_search {
	struct dns_resolver *resolver;
	struct remote_attempt *attempt;
	struct dns_search *dns;
	struct dns_server single; /* if the server is given by its address */
	bool is_address;
	uint16_t port;
	const char *host;
	const char *key; /* the server as the directory names it */
	char trigger[QUEUE_TRIGGER_MAX + 1];
	struct remote_policy policy;
};

static void on_lmtp_servers(void *context, const struct dns_servers *servers)
{
	struct lmtp_search *search = context;

	if (servers->verdict.class == MAIL_OK)
		remote_attempt_try(search->attempt, servers->list, servers->count, search->trigger);
	else
		remote_attempt_fail(search->attempt, &servers->verdict);
}

static void find_lmtp_servers(void *context, struct remote_attempt *attempt)
{
	struct lmtp_search *search = context;
	struct mail_verdict verdict;

	search->attempt = attempt;
	dns_search_free(search->dns);
	search->dns = NULL;
	if (search->is_address) {
		remote_attempt_try(attempt, &search->single, 1, search->trigger);
	} else if (search->resolver != NULL) {
		search->dns = dns_search_relay(search->resolver, search->host, search->port,
					       on_lmtp_servers, search);
	} else {
		mail_verdict_set(&verdict, "4.3.5", "%s: this process cannot look for names yet",
				 search->host);
		remote_attempt_fail(attempt, &verdict);
	}
}

static void end_lmtp_search(void *context)
{
	struct lmtp_search *search = context;

	dns_search_free(search->dns);
}

static bool protect_lmtp_server(void *context, struct remote_attempt *attempt,
				const struct dns_server *server, struct remote_policy *policy_out)
{
	const struct lmtp_search *search = context;

	(void)attempt;
	(void)server;
	*policy_out = search->policy;
	return true;
}

const struct remote_finder lmtp_search_finder = {find_lmtp_servers, end_lmtp_search,
						 protect_lmtp_server};

/* Checks the configuration again: the name comes from "send", which has it from the directory. */
struct lmtp_search *lmtp_search_new(struct dns_resolver *resolver,
				    const struct remote_policies *policies,
				    const struct config_service *service,
				    struct deliver_helper_job *job,
				    struct mail_verdict *verdict_out)
{
	const char *problem = config_service_server_problem(service, job->destination);
	struct lmtp_search *search = arena_alloc(job->arena, sizeof *search);
	struct mail_server server;

	if (problem == NULL && mail_server_parse(job->destination, &server) < 0)
		problem = "is no server";
	if (problem != NULL) {
		mail_verdict_set(verdict_out, "4.3.5", "Server " STR_FORMAT ": service %s %s",
				 STR_ARGUMENTS(job->destination), service->name, problem);
		return NULL;
	}
	*search = (struct lmtp_search){.resolver = resolver,
				       .port = server.port,
				       .host = arena_copy(job->arena, server.host),
				       .key = arena_copy(job->arena, job->destination)};
	search->is_address =
		os_socket_address_parse(search->host, server.port, &search->single.address);
	search->single.host = search->host;
	remote_policy_of_service(policies, service, &search->single, job->arena, &search->policy);
	snprintf(search->trigger, sizeof search->trigger, "service.%s.%s", service->name,
		 search->key);
	return search;
}

const char *lmtp_search_key(const struct lmtp_search *search)
{
	return search->key;
}
