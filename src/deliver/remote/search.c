// SPDX-License-Identifier: ISC
#include "deliver/remote/search.h"
#include "deliver/remote/attempt/origin.h"
#include "deliver/remote/report.h"
#include "deliver/remote/session/content.h"
#include "dns/search.h"
#include "log/event.h"
#include "os/socket/interface.h"
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
	bool is_strict;            /* the policy of a server demands more than may */
	bool is_backup;            /* this host is an exchanger of the domain */
	size_t fallback_count;     /* fallback_relays that were begun; 0: none */
	unsigned configuration;    /* the client's when it began */
	struct remote_login login; /* its relay is that for policies */
	const char *key;
};

/* "host.NAME" of the first server tried, with ":PORT" if that is not 25: another port is another
 * server. */
static void set_host_trigger(struct remote_search *search, const struct dns_server *servers)
{
	uint16_t port = os_socket_address_port(&servers[0].address);

	snprintf(search->trigger, TRIGGER_SIZE, "host.%s", servers[0].host);
	for (char *c = search->trigger; *c != '\0'; c++)
		if (*c == ':')
			*c = '-';
	if (port != SMTP_PORT)
		snprintf(search->trigger + strlen(search->trigger),
			 TRIGGER_SIZE - strlen(search->trigger), ":%u", port);
}

/* With fallback relays mail waits for the domain's own server. */
static void try_found_servers(struct remote_search *search, const struct dns_server *servers,
			      size_t count)
{
	if (search->fallback_count == 0)
		set_host_trigger(search, servers);
	remote_attempt_try(search->attempt, servers, count, search->trigger);
}

static bool is_self(const struct remote_search *search, const struct dns_server *server)
{
	const char *hostname = search->self.hostname;

	return dns_self_target(&search->self, &server->address) == DNS_TARGET_SELF ||
	       str_equal_nocase(str_from(server->host), str_from(hostname));
}

/* The servers of a fallback relay, but none that is this machine: it would send the mail to itself
 * for ever. */
static void try_others(struct remote_search *search, const struct dns_server *servers, size_t count)
{
	struct dns_server *others = arena_alloc(search->job->arena, (count + 1) * sizeof *others);
	size_t other_count = 0;

	for (size_t i = 0; i < count; i++)
		if (!is_self(search, &servers[i]))
			others[other_count++] = servers[i];
	if (other_count < count)
		log_event_rated(EVENT_FALLBACK_SELF, log_string(relay, search->hop.name));
	try_found_servers(search, others, other_count);
}

static void on_remote_servers(void *context, const struct dns_servers *servers)
{
	struct remote_search *search = context;

	if (search->fallback_count == 0)
		search->is_backup = servers->is_backup;
	if (search->fallback_count > 0)
		try_others(search, servers->list, servers->count);
	else if (servers->verdict.class == MAIL_OK)
		try_found_servers(search, servers->list, servers->count);
	else
		remote_attempt_fail(search->attempt, &servers->verdict);
}

/* By the configuration in force: a search may outlast a reload. */
static bool is_own_address_of_node(const void *context, const struct in6_addr *address)
{
	const struct deliver_remote *remote = context;

	return config_is_own_address(remote->config, address);
}

static void learn_self(struct remote_search *search)
{
	struct arena *arena = search->job->arena;
	struct in6_addr *list = arena_alloc(arena, SELF_ADDRESSES_MAX * sizeof *list);
	int count = os_interface_addresses(list, SELF_ADDRESSES_MAX);

	search->self = (struct dns_self){
		.hostname = arena_copy(arena, str_from(search->remote->client.settings.hostname)),
		.addresses = list,
		.address_count = count > 0 ? (size_t)count : 0,
		.is_own = is_own_address_of_node,
		.context = search->remote,
	};
}

static void try_hop_address(struct remote_search *search)
{
	enum dns_target target = DNS_TARGET_HOST;
	struct mail_verdict verdict;

	search->single.address = search->hop.address;
	search->single.host = search->hop.name;
	if (search->fallback_count > 0) {
		try_others(search, &search->single, 1);
		return;
	}
	if (search->hop.kind == REMOTE_HOP_LITERAL)
		target = dns_self_target(&search->self, &search->single.address);
	if (target == DNS_TARGET_HOST) {
		try_found_servers(search, &search->single, 1);
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

static enum dns_families find_families(const struct config *config)
{
	static const enum dns_families families[] = {
		[CONFIG_IPV6_FIRST] = DNS_IPV6_FIRST,
		[CONFIG_IPV4_FIRST] = DNS_IPV4_FIRST,
		[CONFIG_IPV4] = DNS_IPV4_ONLY,
		[CONFIG_IPV6] = DNS_IPV6_ONLY,
	};

	return families[config->remote_ip];
}

static void find_remote_servers(void *context, struct remote_attempt *attempt)
{
	struct remote_search *search = context;
	struct dns_resolver *resolver = search->remote->resolver;
	const struct remote_hop *hop = &search->hop;

	search->attempt = attempt;
	dns_search_free(search->dns);
	search->dns = NULL;
	if (hop->kind == REMOTE_HOP_EXCHANGERS || hop->kind == REMOTE_HOP_LITERAL ||
	    search->fallback_count > 0)
		learn_self(search);
	if (hop->kind == REMOTE_HOP_EXCHANGERS)
		search->dns = dns_search_exchangers(resolver, hop->name, &search->self, hop->port,
						    on_remote_servers, search);
	else if (hop->kind == REMOTE_HOP_RELAY)
		search->dns =
			dns_search_relay(resolver, hop->name, hop->port, on_remote_servers, search);
	if (search->dns != NULL)
		dns_search_prefer(search->dns, find_families(search->remote->config));
	else
		try_hop_address(search);
}

/* What follows from the hop. */
static void set_relay(struct remote_search *search)
{
	search->relay = remote_hop_relay(&search->hop, search->job->arena);
	search->login = (struct remote_login){0};
	if (*search->hop.user != '\0')
		search->login = (struct remote_login){
			.relay = search->relay, .user = search->hop.user, .port = search->hop.port};
	search->job->tells_origin = remote_origin_is_told(search->remote->config, search->relay);
}

static void end_remote_search(void *context)
{
	struct remote_search *search = context;

	dns_search_free(search->dns);
	remote_policy_search_free(search->policy);
}

/* A relay of the operator's takes the place of the domain's servers, unless a policy says which
 * servers may see the mail, or the relay would bring it back, since this host is an exchanger. */
static bool fall_back_to_next_relay(void *context, struct remote_attempt *attempt)
{
	struct remote_search *search = context;
	const struct config *config = search->remote->config;
	bool is_first = search->fallback_count == 0;

	if (is_first && (search->hop.kind != REMOTE_HOP_EXCHANGERS || search->is_strict ||
			 search->is_backup || search->wish == REMOTE_POLICY_REQUIRED))
		return false;
	while (search->fallback_count < config->fallback_relay_count) {
		if (!remote_route_hop(&config->fallback_relays[search->fallback_count++], false,
				      &search->hop))
			continue;
		set_relay(search);
		find_remote_servers(search, attempt);
		return true;
	}
	return false;
}

/* A password goes by TLS, whatever is enough for mail. */
static void demand_login(struct remote_search *search, struct remote_policy *policy)
{
	search->is_strict |= policy->refusal != NULL || policy->level > CONFIG_TLS_MAY;
	if (search->login.user == NULL)
		return;
	search->login.may_be_plain = search->remote->may_login_plainly;
	search->login.may_bind = search->remote->may_bind_login;
	search->login.weakest = search->remote->weakest_login;
	policy->login = &search->login;
	if (search->login.may_be_plain || policy->refusal != NULL)
		return;
	if (policy->level == CONFIG_TLS_MAY || policy->level == CONFIG_TLS_NONE) {
		policy->level = CONFIG_TLS_ENCRYPT;
		policy->origin = "the login to the relay";
	}
}

static void on_remote_policy(void *context, const struct remote_policy *policy);

/* As protect_remote_server(), of the server of the question. */
static bool find_policy(struct remote_search *search, struct remote_policy *policy_out)
{
	remote_policy_search_free(search->policy);
	search->configuration = search->remote->client.configurations;
	search->policy = remote_policy_find(search->remote->policies, &search->question, policy_out,
					    on_remote_policy, search);
	if (search->policy != NULL)
		return false;
	demand_login(search, policy_out);
	return true;
}

/* What was asked before a reload is asked again. */
static void on_remote_policy(void *context, const struct remote_policy *policy)
{
	struct remote_search *search = context;
	struct remote_policy found = *policy;

	if (search->configuration == search->remote->client.configurations)
		demand_login(search, &found);
	else if (!find_policy(search, &found))
		return;
	remote_attempt_connect(search->attempt, &found);
}

static bool protect_remote_server(void *context, struct remote_attempt *attempt,
				  const struct dns_server *server, struct remote_policy *policy_out)
{
	struct remote_search *search = context;

	(void)attempt;
	search->question = (struct remote_policy_question){search->domain, search->relay, server,
							   search->job->arena, search->wish};
	return find_policy(search, policy_out);
}

static void tell_tls_report(void *context, const struct dns_server *server,
			    const struct remote_policy *policy,
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

/* Of the mail, or else of the server. */
static const struct config_source *find_source(void *context, const struct dns_server *server,
					       struct remote_sources **sources_out)
{
	const struct remote_search *search = context;
	const struct config_source *source;

	*sources_out = search->remote->sources;
	source =
		remote_sources_of_mail(*sources_out, search->job->sender, str_from(search->domain));
	return source != NULL ? source : remote_sources_of_server(*sources_out, server);
}

const struct remote_finder remote_search_finder = {.find = find_remote_servers,
						   .end = end_remote_search,
						   .protect = protect_remote_server,
						   .tell = tell_tls_report,
						   .fall_back = fall_back_to_next_relay,
						   .source = find_source};

/* Where nothing could be waived, nobody looks. */
static enum remote_policy_wish find_wish(const struct deliver_remote *remote,
					 const struct deliver_helper_job *job)
{
	if (job->requires_tls)
		return REMOTE_POLICY_REQUIRED;
	if (remote_policies_can_demand(remote->policies) &&
	    remote_content_waives_tls(&job->content, remote->client.settings.chunk))
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
					  search->remote->client.settings.chunk);
}

/* A source that only the server decides is the same for all who meet it there. Made for each
 * message, so without a format. */
static const char *make_key(const struct remote_search *search)
{
	static const char *const wishes[] = {"", " required", " waived"};
	const struct config_source *source = remote_sources_of_mail(
		search->remote->sources, search->job->sender, search->job->destination);
	const char *const words[] = {
		search->hop.key,
		" ",
		remote_policy_key(search->remote->policies, search->domain, search->relay),
		wishes[search->wish],
		source != NULL ? " from " : "",
		source != NULL ? source->name : "",
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
	set_relay(search);
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
