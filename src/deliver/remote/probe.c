// SPDX-License-Identifier: ISC
#include "deliver/remote/probe.h"
#include "base/panic.h"
#include "deliver/remote/route/peer.h"
#include "deliver/remote/route/route.h"
#include "deliver/remote/route/source.h"
#include "mail/server.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct remote_probe {
	const struct remote_probe_settings *settings;
	const struct remote_probe_handler *handler;
	void *context;
	struct arena *arena;
	struct remote_hop hop;
	const char *domain;
	const char *relay; /* as sections "tls" name it; NULL: none */
	const char *route;
	struct remote_sources *sources;
	char source[REMOTE_SOURCE_SIZE];
	struct dns_self self;
	struct os_timer *begin;
	struct dns_search *dns;
	struct dns_server single;
	const struct dns_server *servers;
	size_t count, next;
	struct remote_policy_question question;
	struct remote_policy_search *search;
	struct remote_policy policy;
	struct remote_session *session;
};

static void probe_next_server(struct remote_probe *probe);

static void tell_probe_result(struct remote_probe *probe, enum remote_probe_outcome outcome,
			      const char *reason)
{
	const struct remote_session *session = probe->session;
	const struct remote_probe_result result = {
		.server = probe->question.server,
		.route = probe->route,
		.source = session != NULL ? remote_session_source(session) : probe->source,
		.policy = &probe->policy,
		.outcome = outcome,
		.reason = reason,
		.tls = session != NULL ? remote_session_tls(session) : NULL,
		.connection = session != NULL ? remote_session_connection(session) : NULL,
	};

	probe->handler->tried(probe->context, &result);
	remote_session_free(probe->session);
	probe->session = NULL;
}

static void judge_plain(struct remote_probe *probe)
{
	if (probe->policy.level == CONFIG_TLS_NONE)
		tell_probe_result(probe, REMOTE_PROBE_PLAIN, "the policy is none");
	else if (remote_session_is_tls_refused(probe->session))
		tell_probe_result(probe, REMOTE_PROBE_PLAIN, "the server refuses STARTTLS");
	else if (probe->hop.is_qmtp)
		tell_probe_result(probe, REMOTE_PROBE_PLAIN,
				  "with QMTP a server cannot offer TLS: it must be demanded");
	else
		tell_probe_result(probe, REMOTE_PROBE_PLAIN, "the server does not offer STARTTLS");
}

static void on_probe_session_done(void *context, enum remote_outcome outcome)
{
	struct remote_probe *probe = context;
	const char *reason = remote_session_failure(probe->session)->text;
	bool may_be_plain = outcome == REMOTE_INSECURE && probe->policy.level == CONFIG_TLS_MAY;

	if (!remote_session_is_reusable(probe->session))
		tell_probe_result(probe, may_be_plain ? REMOTE_PROBE_PLAIN : REMOTE_PROBE_WAITS,
				  reason);
	else if (remote_session_tls(probe->session) != NULL)
		tell_probe_result(probe, REMOTE_PROBE_SECURED, "");
	else
		judge_plain(probe);
	probe_next_server(probe);
}

static const struct config_source *find_source_of_probe(const struct remote_probe *probe)
{
	const struct config_source *source = remote_sources_of_mail(
		probe->sources, probe->settings->sender, str_from(probe->domain));

	return source != NULL ? source
			      : remote_sources_of_server(probe->sources, probe->question.server);
}

/* What there is no address of, perhaps. */
static void fail_probe_connection(struct remote_probe *probe, const struct config_source *source,
				  int error)
{
	struct mail_verdict verdict;

	if (source != NULL && error == -EADDRNOTAVAIL)
		remote_source_explain(source, probe->question.server, &verdict);
	else
		remote_peer_unreachable(&verdict, probe->question.server, strerror(-error));
	tell_probe_result(probe, REMOTE_PROBE_WAITS, verdict.text);
	probe_next_server(probe);
}

static void connect_by_policy(struct remote_probe *probe)
{
	const struct remote_transaction none = {.done = on_probe_session_done, .context = probe};
	struct remote_session_settings settings = *probe->settings->session;
	int result;

	settings.sources = probe->sources;
	settings.source = find_source_of_probe(probe);
	snprintf(probe->source, sizeof probe->source, "%s",
		 settings.source != NULL ? settings.source->name : "");

	if (probe->policy.refusal != NULL) {
		tell_probe_result(probe, REMOTE_PROBE_WAITS, probe->policy.refusal->text);
		probe_next_server(probe);
		return;
	}
	if (probe->settings->session->certificates == NULL)
		probe->policy.certificate = ""; /* who cannot sign sees what anybody does */
	settings.protocol = probe->hop.is_qmtp ? SMTP_CLIENT_QMTP : SMTP_CLIENT_SMTP;
	result = remote_session_new(&settings, "", probe->question.server, &probe->policy,
				    &probe->session);
	if (result == 0) {
		remote_session_run(probe->session, &none);
		return;
	}
	fail_probe_connection(probe, settings.source, result);
}

static void on_probe_policy(void *context, const struct remote_policy *policy)
{
	struct remote_probe *probe = context;

	probe->policy = *policy;
	connect_by_policy(probe);
}

static void probe_next_server(struct remote_probe *probe)
{
	remote_policy_search_free(probe->search);
	probe->search = NULL;
	if (probe->next == probe->count) {
		probe->handler->ended(probe->context, NULL);
		return;
	}
	probe->question = (struct remote_policy_question){
		probe->domain, probe->relay, &probe->servers[probe->next++], probe->arena};
	probe->search = remote_policy_find(probe->settings->policies, &probe->question,
					   &probe->policy, on_probe_policy, probe);
	if (probe->search == NULL)
		connect_by_policy(probe);
}

static void try_servers(struct remote_probe *probe, const struct dns_server *servers, size_t count)
{
	probe->servers = servers;
	probe->count = count;
	probe_next_server(probe);
}

static void on_probe_servers(void *context, const struct dns_servers *servers)
{
	struct remote_probe *probe = context;

	if (servers->verdict.class == MAIL_OK)
		try_servers(probe, servers->list, servers->count);
	else
		probe->handler->ended(probe->context, &servers->verdict);
}

/* This host is tried like any other. */
static void begin_probe(void *context)
{
	struct remote_probe *probe = context;
	struct dns_resolver *resolver = probe->settings->resolver;
	const struct remote_hop *hop = &probe->hop;

	if (hop->kind == REMOTE_HOP_EXCHANGERS) {
		probe->dns = dns_search_exchangers(resolver, hop->name, &probe->self, hop->port,
						   on_probe_servers, probe);
	} else if (hop->kind == REMOTE_HOP_RELAY) {
		probe->dns =
			dns_search_relay(resolver, hop->name, hop->port, on_probe_servers, probe);
	} else {
		probe->single = (struct dns_server){.address = hop->address, .host = hop->name};
		try_servers(probe, &probe->single, 1);
	}
}

/* HOST:PORT, as a route would have it. */
static bool choose_host(struct remote_probe *probe, struct str destination)
{
	ptrdiff_t colon = str_find_last(destination, ':');
	struct config_route route = {.domain = ""};
	struct remote_routes *routes;
	uint64_t port;
	bool is_good;

	if (colon <= 0 || !str_to_u64(str_skip(destination, (size_t)colon + 1), &port) ||
	    port == 0 || port > UINT16_MAX)
		return false;
	route.relay = arena_copy(probe->arena, str_slice(destination.data, (size_t)colon));
	route.port = (uint16_t)port;
	routes = remote_routes_new(&route, 1);
	is_good = remote_routes_choose(routes, STR("x"), STR("x"), &probe->hop);
	remote_routes_free(routes);
	return is_good;
}

static bool choose_domain(struct remote_probe *probe, struct str destination)
{
	const struct config *config = probe->settings->config;
	struct remote_routes *routes = remote_routes_of(config);
	bool is_good =
		remote_routes_choose(routes, probe->settings->sender, destination, &probe->hop);

	remote_routes_free(routes);
	return is_good;
}

static const char *describe_route(const struct remote_probe *probe)
{
	const struct remote_hop *hop = &probe->hop;
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (hop->kind == REMOTE_HOP_EXCHANGERS)
		return "mail exchangers";
	buffer_append_format(&text, "%s %s:%u%s", probe->relay != NULL ? "relay" : "host",
			     probe->relay != NULL ? probe->relay : hop->name, hop->port,
			     hop->is_qmtp ? " by QMTP" : "");
	if (*hop->user != '\0')
		buffer_append_format(&text, " as %s", hop->user);
	return arena_copy(probe->arena, buffer_view(&text));
}

struct remote_probe *remote_probe_new(const struct remote_probe_settings *settings,
				      struct str destination,
				      const struct remote_probe_handler *handler, void *context)
{
	struct remote_probe *probe = memory_alloc_zero(1, sizeof *probe);
	char *domain;

	probe->arena = arena_new();
	probe->settings = settings;
	probe->handler = handler;
	probe->context = context;
	probe->self.hostname = "";
	domain = arena_copy(probe->arena, destination);
	str_lower(domain, destination.length);
	if (!choose_host(probe, str_from(domain)) && !choose_domain(probe, str_from(domain))) {
		remote_probe_free(probe);
		return NULL;
	}
	probe->domain = domain;
	probe->relay = remote_hop_relay(&probe->hop, probe->arena);
	probe->route = describe_route(probe);
	probe->sources = remote_sources_new(settings->config);
	probe->begin = os_timer_new(settings->session->loop, begin_probe, probe);
	os_timer_start(probe->begin, 0);
	return probe;
}

void remote_probe_free(struct remote_probe *probe)
{
	if (probe == NULL)
		return;
	remote_session_free(probe->session);
	remote_policy_search_free(probe->search);
	dns_search_free(probe->dns);
	os_timer_free(probe->begin);
	remote_sources_free(probe->sources);
	arena_free(probe->arena);
	free(probe);
}
