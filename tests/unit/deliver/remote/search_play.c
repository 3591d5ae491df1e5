// SPDX-License-Identifier: ISC
#include "search_play.h"
#include "deliver/remote/attempt/origin.h"
#include "deliver/remote/report.h"
#include "deliver/remote/session/content.h"
#include "dns/search.h"
#include "os/socket/interface.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct search_play play;
struct remote_attempt some_attempt;

static void (*found)(void *context, const struct dns_servers *servers);
static void (*decided)(void *context, const struct remote_policy *policy);
static void *found_context, *decided_context;

static void say(const char *format, ...) PRINTF_LIKE(1, 2);

static void say(const char *format, ...)
{
	size_t length = strlen(play.said);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(play.said + length, sizeof play.said - length, format, arguments);
	va_end(arguments);
}

void check_said(const char *wanted)
{
	assert_string_equal(play.said, wanted);
	play.said[0] = '\0';
}

/* --- routes --- */

bool remote_routes_choose(const struct remote_routes *routes, struct str sender, struct str domain,
			  struct remote_hop *hop_out)
{
	assert_null(routes);
	assert_true(str_equal(sender, STR("s@us.test")));
	assert_true(str_equal(domain, STR("d.test")));
	*hop_out = play.hop;
	return !play.has_no_route;
}

bool remote_route_hop(const struct config_route *route, bool is_qmtp, struct remote_hop *hop_out)
{
	assert_false(is_qmtp);
	*hop_out = (struct remote_hop){.kind = play.is_fallback_address ? REMOTE_HOP_ADDRESS
									: REMOTE_HOP_RELAY,
				       .port = 27,
				       .key = "fallback"};
	hop_out->address.any.sa_family = AF_INET;
	snprintf(hop_out->name, sizeof hop_out->name, "%s", route->relay);
	return strcmp(route->relay, "bad") != 0;
}

const char *remote_hop_relay(const struct remote_hop *hop, struct arena *arena)
{
	char text[100];

	if (hop->kind == REMOTE_HOP_EXCHANGERS || hop->kind == REMOTE_HOP_LITERAL)
		return NULL;
	snprintf(text, sizeof text, "relay of %.50s", hop->name);
	return arena_copy(arena, str_from(text));
}

const struct config_source *remote_sources_of_mail(const struct remote_sources *sources,
						   struct str sender, struct str domain)
{
	(void)sources;
	assert_true(str_equal(sender, STR("s@us.test")));
	assert_true(str_equal(domain, STR("d.test")));
	return play.source_of_mail;
}

const struct config_source *remote_sources_of_server(const struct remote_sources *sources,
						     const struct dns_server *server)
{
	(void)sources;
	assert_string_equal(server->host, "a.test");
	return play.source_of_server;
}

bool remote_origin_is_told(const struct config *config, const char *relay)
{
	(void)config;
	return relay != NULL;
}

bool remote_content_waives_tls(const struct ipc_content *content, char *chunk)
{
	(void)content;
	(void)chunk;
	return play.waives_tls;
}

/* --- the DNS --- */

static struct dns_search *
open_search(const char *what, const char *name, uint16_t port,
	    void (*done)(void *context, const struct dns_servers *servers), void *context)
{
	found = done;
	found_context = context;
	play.open_searches++;
	say("%s %s %u, ", what, name, port);
	return (struct dns_search *)(void *)&play;
}

struct dns_search *
dns_search_exchangers(struct dns_resolver *resolver, const char *domain,
		      const struct dns_self *self, uint16_t port,
		      void (*done)(void *context, const struct dns_servers *servers), void *context)
{
	assert_null(resolver);
	assert_string_equal(self->hostname, "me.test");
	assert_int_equal(self->address_count, 1);
	assert_true(self->is_own(self->context, &self->addresses[0]));
	return open_search("exchangers", domain, port, done, context);
}

struct dns_search *dns_search_relay(struct dns_resolver *resolver, const char *host, uint16_t port,
				    void (*done)(void *context, const struct dns_servers *servers),
				    void *context)
{
	assert_null(resolver);
	return open_search("relay", host, port, done, context);
}

void dns_search_prefer(struct dns_search *search, enum dns_families families)
{
	assert_ptr_equal(search, &play);
	say("families %d; ", families);
}

void dns_search_free(struct dns_search *search)
{
	play.open_searches -= search != NULL;
}

enum dns_target dns_self_target(const struct dns_self *self, const union os_socket_address *address)
{
	assert_string_equal(self->hostname, "me.test");
	assert_int_equal(address->any.sa_family, AF_INET);
	return play.target;
}

int os_interface_addresses(struct in6_addr *list, size_t size)
{
	assert_true(size > 1);
	list[0] = in6addr_loopback;
	return 1;
}

bool config_is_own_address(const struct config *config, const struct in6_addr *address)
{
	return config != NULL && IN6_IS_ADDR_LOOPBACK(address);
}

static void add_server(struct dns_servers *servers, const char *text)
{
	struct dns_server *server = &servers->list[servers->count++];
	static char hosts[4][40];
	static unsigned next;
	char *host = hosts[next++ % 4];

	snprintf(host, sizeof hosts[0], "%s", text);
	*strchr(host, ' ') = '\0';
	server->host = host;
	server->address.v4 = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(strchr(text, ' ')))};
}

void answer(const char *first, const char *second, bool is_backup)
{
	struct dns_servers *servers = calloc(1, sizeof *servers);

	assert_non_null(servers);
	servers->is_backup = is_backup;
	if (first == NULL)
		mail_verdict_set(&servers->verdict, "4.4.3", "no answer");
	else
		mail_verdict_set(&servers->verdict, "2.0.0", "found");
	if (first != NULL)
		add_server(servers, first);
	if (second != NULL)
		add_server(servers, second);
	found(found_context, servers);
	free(servers);
}

/* --- policies --- */

bool remote_policies_can_demand(const struct remote_policies *policies)
{
	assert_null(policies);
	return play.can_demand;
}

const char *remote_policy_key(const struct remote_policies *policies, const char *domain,
			      const char *relay)
{
	assert_null(policies);
	assert_string_equal(domain, "d.test");
	assert_true(relay == NULL || strncmp(relay, "relay of ", 9) == 0);
	return "policy";
}

struct remote_policy_search *
remote_policy_find(struct remote_policies *policies, const struct remote_policy_question *question,
		   struct remote_policy *policy_out,
		   void (*done)(void *context, const struct remote_policy *policy), void *context)
{
	assert_null(policies);
	assert_non_null(question->arena);
	decided = done;
	decided_context = context;
	if (play.is_policy_late || strcmp(question->server->host, "a.test") != 0 ||
	    question->wish == REMOTE_POLICY_REQUIRED)
		say("policy for %s by %s, relay %s, wish %d; ", question->domain,
		    question->server->host, question->relay != NULL ? question->relay : "none",
		    question->wish);
	*policy_out = play.policy;
	if (!play.is_policy_late)
		return NULL;
	play.open_policies++;
	return (struct remote_policy_search *)(void *)&play;
}

void remote_policy_search_free(struct remote_policy_search *search)
{
	play.open_policies -= search != NULL;
}

void tell_policy(void)
{
	decided(decided_context, &play.policy);
}

void remote_report_tell(struct sts_client *client, const struct remote_report *report)
{
	assert_null(report->session);
	assert_int_equal(report->policy->level, CONFIG_TLS_MAY);
	assert_int_equal(report->has_failed, report->reason != NULL);
	say("%sreport of %s %s%s%s; ", client == NULL ? "no " : "", report->domain,
	    report->server->host, report->has_failed ? " failed: " : "",
	    report->has_failed ? report->reason : "");
}

/* --- the attempt --- */

void remote_attempt_try(struct remote_attempt *attempt, const struct dns_server *servers,
			size_t count, const char *trigger)
{
	assert_ptr_equal(attempt, &some_attempt);
	say("try ");
	for (size_t i = 0; i < count; i++)
		say("%s ", servers[i].host);
	say("for %s; ", trigger);
}

void remote_attempt_fail(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	assert_ptr_equal(attempt, &some_attempt);
	say("fail %s %s; ", verdict->status, verdict->text);
}

void remote_attempt_connect(struct remote_attempt *attempt, const struct remote_policy *policy)
{
	assert_ptr_equal(attempt, &some_attempt);
	say("connect by %d %s login; ", policy->level,
	    policy->login != NULL ? "with" : "without a");
}
