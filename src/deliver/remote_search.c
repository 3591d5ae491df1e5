// SPDX-License-Identifier: ISC
#include "deliver/remote_search.h"
#include "dns/search.h"
#include "os/interface.h"
#include <stdio.h>
#include <string.h>

enum {
	SELF_ADDRESSES_MAX = 256, /* limit of known addresses of our interfaces */
	TRIGGER_SIZE = DNS_NAME_SIZE + 16,
	SMTP_PORT = 25,
};

struct remote_search {
	struct deliver_remote *remote;
	struct deliver_helper_job *job;
	struct remote_attempt *attempt;
	struct remote_hop hop;
	struct dns_self self;
	struct dns_search *dns;
	struct dns_server single;
	char trigger[TRIGGER_SIZE];
};

/* "host.NAME" of the first server tried, with ":PORT" if that is not 25: another port is another
 * server. */
static void try(struct remote_search *search, const struct dns_server *servers, size_t count)
{
	uint16_t port = os_socket_address_port(&servers[0].address);

	snprintf(search->trigger, TRIGGER_SIZE, "host.%s", servers[0].host);
	for (char *c = search->trigger; *c != '\0'; c++)
		if (*c == ':')
			*c = '-';
	if (port != SMTP_PORT)
		snprintf(search->trigger + strlen(search->trigger),
			 TRIGGER_SIZE - strlen(search->trigger), ":%u", port);
	remote_attempt_try(search->attempt, servers, count, search->trigger);
}

static void on_servers(void *context, const struct dns_servers *servers)
{
	struct remote_search *search = context;

	if (servers->verdict.class == MAIL_OK)
		try(search, servers->list, servers->count);
	else
		remote_attempt_fail(search->attempt, &servers->verdict);
}

static void learn_self(struct remote_search *search)
{
	struct arena *arena = search->job->arena;
	struct in6_addr *list = arena_alloc(arena, SELF_ADDRESSES_MAX * sizeof *list);
	int count = os_interface_addresses(list, SELF_ADDRESSES_MAX);

	search->self = (struct dns_self){
		.hostname = arena_copy(arena, str_from(search->remote->carrier.settings.hostname)),
		.addresses = list,
		.address_count = count > 0 ? (size_t)count : 0,
	};
}

static void try_address(struct remote_search *search)
{
	enum dns_target target = DNS_TARGET_HOST;
	struct mail_verdict verdict;

	search->single.address = search->hop.address;
	search->single.host = search->hop.name;
	if (search->hop.kind == REMOTE_HOP_LITERAL)
		target = dns_self_target(&search->self, &search->single.address);
	if (target == DNS_TARGET_HOST) {
		try(search, &search->single, 1);
		return;
	}
	if (target == DNS_TARGET_SELF)
		mail_verdict_set(&verdict, "5.4.6", "mail for [%s] loops back to this host",
				 search->hop.name);
	else
		mail_verdict_set(&verdict, "5.4.4", "[%s] is no address of a host",
				 search->hop.name);
	remote_attempt_fail(search->attempt, &verdict);
}

static void find(void *context, struct remote_attempt *attempt)
{
	struct remote_search *search = context;
	struct dns_resolver *resolver = search->remote->resolver;
	const struct remote_hop *hop = &search->hop;

	search->attempt = attempt;
	dns_search_free(search->dns);
	search->dns = NULL;
	if (hop->kind == REMOTE_HOP_EXCHANGERS || hop->kind == REMOTE_HOP_LITERAL)
		learn_self(search);
	if (hop->kind == REMOTE_HOP_EXCHANGERS)
		search->dns = dns_search_exchangers(resolver, hop->name, &search->self, hop->port,
						    on_servers, search);
	else if (hop->kind == REMOTE_HOP_RELAY)
		search->dns = dns_search_relay(resolver, hop->name, hop->port, on_servers, search);
	else
		try_address(search);
}

static void end(void *context)
{
	struct remote_search *search = context;

	dns_search_free(search->dns);
}

const struct remote_finder remote_search_finder = {find, end};

struct remote_search *remote_search_new(struct deliver_remote *remote,
					struct deliver_helper_job *job)
{
	struct remote_search *search = arena_alloc(job->arena, sizeof *search);

	search->remote = remote;
	search->job = job;
	if (!remote_routes_choose(remote->routes, job->sender, job->destination, &search->hop))
		return NULL;
	return search;
}

const char *remote_search_key(const struct remote_search *search)
{
	return search->hop.key;
}
