// SPDX-License-Identifier: ISC
#include "deliver/remote_search.h"
#include "deliver/remote_content.h"
#include "deliver/remote_origin.h"
#include "deliver/remote_report.h"
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
	const char *domain; /* of the recipients */
	enum remote_policy_wish wish;
	bool is_reported;  /* its connections are counted for reports */
	const char *relay; /* for policies: the name, or "[address]"; NULL: none */
	struct remote_policy_question question;
	struct remote_policy_search *policy;
	unsigned configuration;    /* the carrier's when it began */
	struct remote_login login; /* its relay is that for policies */
	const char *key;
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
	remote_policy_search_free(search->policy);
}

/* A password goes by TLS, whatever is enough for mail. */
static void demand_login(struct remote_search *search, struct remote_policy *policy)
{
	if (search->login.user == NULL)
		return;
	search->login.may_be_plain = search->remote->may_login_plainly;
	search->login.may_bind = search->remote->may_bind_login;
	policy->login = &search->login;
	if (search->login.may_be_plain || policy->refusal != NULL)
		return;
	if (policy->level == CONFIG_TLS_MAY || policy->level == CONFIG_TLS_NONE) {
		policy->level = CONFIG_TLS_ENCRYPT;
		policy->origin = "the login to the relay";
	}
}

static void on_policy(void *context, const struct remote_policy *policy);

/* As protect(), of the server of the question. */
static bool find_policy(struct remote_search *search, struct remote_policy *policy_out)
{
	remote_policy_search_free(search->policy);
	search->configuration = search->remote->carrier.configurations;
	search->policy = remote_policy_find(search->remote->policies, &search->question, policy_out,
					    on_policy, search);
	if (search->policy != NULL)
		return false;
	demand_login(search, policy_out);
	return true;
}

/* What was asked before a reload is asked again. */
static void on_policy(void *context, const struct remote_policy *policy)
{
	struct remote_search *search = context;
	struct remote_policy found = *policy;

	if (search->configuration == search->remote->carrier.configurations)
		demand_login(search, &found);
	else if (!find_policy(search, &found))
		return;
	remote_attempt_connect(search->attempt, &found);
}

static bool protect(void *context, struct remote_attempt *attempt, const struct dns_server *server,
		    struct remote_policy *policy_out)
{
	struct remote_search *search = context;

	(void)attempt;
	search->question = (struct remote_policy_question){search->domain, search->relay, server,
							   search->job->arena, search->wish};
	return find_policy(search, policy_out);
}

static void tell(void *context, const struct dns_server *server, const struct remote_policy *policy,
		 const struct remote_session *session, const char *failure)
{
	const struct remote_search *search = context;
	const struct remote_report report = {
		.domain = search->domain,
		.server = server,
		.policy = policy,
		.session = session,
		.has_failed = failure != NULL,
		.reason = failure,
	};

	/* reports are for domains whose servers were found by the DNS */
	if (search->hop.kind == REMOTE_HOP_EXCHANGERS)
		remote_report_tell(search->is_reported ? search->remote->reports : NULL, &report);
}

const struct remote_finder remote_search_finder = {find, end, protect, tell};

/* Where nothing could be waived, nobody looks. */
static enum remote_policy_wish find_wish(const struct deliver_remote *remote,
					 const struct deliver_helper_job *job)
{
	if (job->requires_tls)
		return REMOTE_POLICY_REQUIRED;
	if (remote_policies_can_demand(remote->policies) &&
	    remote_content_waives_tls(&job->content, remote->carrier.settings.chunk))
		return REMOTE_POLICY_WAIVED;
	return REMOTE_POLICY_NO_WISH;
}

/* Mail that waives TLS is left out, as reports are such mail: else each would be the cause of the
 * next day's, for ever. */
static bool is_reported(const struct remote_search *search)
{
	if (search->remote->reports == NULL || search->wish == REMOTE_POLICY_WAIVED)
		return false;
	return search->wish == REMOTE_POLICY_REQUIRED ||
	       !remote_content_waives_tls(&search->job->content,
					  search->remote->carrier.settings.chunk);
}

/* The policy comes last in it. Made for each message, so without a format. */
static const char *make_key(const struct remote_search *search)
{
	static const char *const wishes[] = {"", " required", " waived"};
	const char *const words[] = {
		search->hop.key,
		" ",
		remote_policy_key(search->remote->policies, search->domain, search->relay),
		wishes[search->wish],
	};
	char *key;
	size_t length = 0;

	for (size_t i = 0; i < COUNT_OF(words); i++)
		length += strlen(words[i]);
	key = arena_alloc(search->job->arena, length + 1);
	for (size_t i = 0, end = 0; i < COUNT_OF(words); i++) {
		size_t size = strlen(words[i]);

		memcpy(key + end, words[i], size + 1);
		end += size;
	}
	return key;
}

struct remote_search *remote_search_new(struct deliver_remote *remote,
					struct deliver_helper_job *job)
{
	struct remote_search *search = arena_alloc(job->arena, sizeof *search);

	search->remote = remote;
	search->job = job;
	if (!remote_routes_choose(remote->routes, job->sender, job->destination, &search->hop))
		return NULL;
	search->domain = arena_copy(job->arena, job->destination);
	search->relay = remote_hop_relay(&search->hop, job->arena);
	if (*search->hop.user != '\0')
		search->login = (struct remote_login){
			.relay = search->relay, .user = search->hop.user, .port = search->hop.port};
	job->tells_origin = remote_origin_is_told(remote->config, search->relay);
	search->wish = find_wish(remote, job);
	search->is_reported = is_reported(search);
	search->key = make_key(search);
	return search;
}

enum smtp_client_protocol remote_search_protocol(const struct remote_search *search)
{
	return search->hop.is_qmtp ? SMTP_CLIENT_QMTP : SMTP_CLIENT_SMTP;
}

const char *remote_search_key(const struct remote_search *search)
{
	return search->key;
}
