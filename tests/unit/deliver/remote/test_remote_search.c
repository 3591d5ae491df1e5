// SPDX-License-Identifier: ISC
/* Where a job goes: what is asked for each kind of hop, what is made of each answer, and when a
 * fallback relay takes its place. Routes, the DNS, policies and the attempt are played here. */
#include "deliver/remote/attempt/origin.h"
#include "deliver/remote/report.h"
#include "deliver/remote/search.h"
#include "deliver/remote/session/content.h"
#include "dns/search.h"
#include "os/socket/interface.h"
#include "search_play.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

static struct config config;
static struct deliver_remote remote;
static struct deliver_helper_job job;
static struct remote_search *search;
static const struct remote_finder *const finder = &remote_search_finder;

static void begin(enum remote_hop_kind kind)
{
	memset(&play, 0, sizeof play);
	config = (struct config){.remote_ip = CONFIG_IPV4};
	remote = (struct deliver_remote){.config = &config,
					 .client = {.settings = {.hostname = "me.test"}}};
	job = (struct deliver_helper_job){
		.arena = arena_new(), .sender = STR("s@us.test"), .destination = STR("d.test")};
	play.hop = (struct remote_hop){.kind = kind, .port = 26, .name = "192.0.2.7", .key = "hop"};
	play.hop.address.v4 = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_port = htons(26), .sin_addr = {htonl(0xc0000207)}};
	if (kind == REMOTE_HOP_EXCHANGERS || kind == REMOTE_HOP_RELAY)
		snprintf(play.hop.name, sizeof play.hop.name, "hop.test");
	play.policy.level = CONFIG_TLS_MAY;
}

static void look(void)
{
	search = remote_search_new(&remote, &job);
	assert_non_null(search);
	finder->find(search, &some_attempt);
}

static void end(void)
{
	finder->end(search);
	assert_int_equal(play.open_searches, 0);
	assert_int_equal(play.open_policies, 0);
	arena_free(job.arena);
}

/* --- what is asked --- */

static void each_hop_is_looked_for_in_its_way(void **state)
{
	static const struct {
		enum remote_hop_kind kind;
		const char *said;
	} cases[] = {
		{REMOTE_HOP_EXCHANGERS, "exchangers hop.test 26, families 2; "},
		{REMOTE_HOP_RELAY, "relay hop.test 26, families 2; "},
		{REMOTE_HOP_ADDRESS, "try 192.0.2.7 for host.192.0.2.7:26; "},
		{REMOTE_HOP_LITERAL, "try 192.0.2.7 for host.192.0.2.7:26; "},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (unsigned qmtp = 0; qmtp < 2; qmtp++) {
			begin(cases[i].kind);
			play.hop.is_qmtp = qmtp == 1;
			look();
			assert_int_equal(remote_search_protocol(search),
					 qmtp == 1 ? SMTP_CLIENT_QMTP : SMTP_CLIENT_SMTP);
			check_said(cases[i].said);
			finder->find(search, &some_attempt); /* again: the old one is over */
			check_said(cases[i].said);
			end();
		}
}

static void addresses_are_wanted_as_configured(void **state)
{
	static const enum config_remote_ip ways[] = {CONFIG_IPV6_FIRST, CONFIG_IPV4_FIRST,
						     CONFIG_IPV4, CONFIG_IPV6};
	static const enum dns_families families[] = {DNS_IPV6_FIRST, DNS_IPV4_FIRST, DNS_IPV4_ONLY,
						     DNS_IPV6_ONLY};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ways); i++) {
		char said[100];

		begin(REMOTE_HOP_RELAY);
		config.remote_ip = ways[i];
		look();
		snprintf(said, sizeof said, "relay hop.test 26, families %d; ", families[i]);
		check_said(said);
		end();
	}
}

static void a_literal_of_ours_is_refused(void **state)
{
	(void)state;
	begin(REMOTE_HOP_LITERAL);
	play.target = DNS_TARGET_SELF;
	look();
	check_said("fail 5.4.6 mail for [192.0.2.7] loops back to this host; ");
	end();
	begin(REMOTE_HOP_LITERAL);
	play.target = DNS_TARGET_NONE;
	look();
	check_said("fail 5.4.4 [192.0.2.7] is no address of a host; ");
	end();
	begin(REMOTE_HOP_ADDRESS); /* the operator's choice */
	play.target = DNS_TARGET_SELF;
	look();
	check_said("try 192.0.2.7 for host.192.0.2.7:26; ");
	end();
}

static void who_has_no_route_is_not_looked_for(void **state)
{
	(void)state;
	begin(REMOTE_HOP_RELAY);
	play.has_no_route = true;
	assert_null(remote_search_new(&remote, &job));
	arena_free(job.arena);
}

/* --- what is found --- */

static void what_is_found_is_tried(void **state)
{
	(void)state;
	begin(REMOTE_HOP_EXCHANGERS);
	look();
	check_said("exchangers hop.test 26, families 2; ");
	answer("a.test 25", "b.test 26", false);
	check_said("try a.test b.test for host.a.test; ");
	answer("b.test 26", "a.test 25", false);
	check_said("try b.test a.test for host.b.test:26; ");
	answer("2001:db8::1 25", NULL, false);
	check_said("try 2001:db8::1 for host.2001-db8--1; ");
	answer(NULL, NULL, false);
	check_said("fail 4.4.3 no answer; ");
	end();
}

static void fall_back_to(const char *user)
{
	static struct config_route routes[2] = {{.relay = "bad"}, {.relay = "fallback.test"}};

	routes[1].user = user;
	config.fallback_relays = routes;
	config.fallback_relay_count = COUNT_OF(routes);
}

/* The mail waits for the domain's own server, and no relay that is this machine is tried. */
static void a_fallback_relay_comes_next(void **state)
{
	(void)state;
	begin(REMOTE_HOP_EXCHANGERS);
	fall_back_to("");
	look();
	answer("a.test 25", NULL, false);
	check_said("exchangers hop.test 26, families 2; try a.test for host.a.test; ");
	assert_true(finder->fall_back(search, &some_attempt));
	check_said("relay fallback.test 27, families 2; ");
	answer("me.test 27", "f.test 27", false);
	check_said("try f.test for host.a.test; ");
	play.target = DNS_TARGET_SELF;
	answer("g.test 27", NULL, false);
	check_said("try for host.a.test; ");
	play.target = DNS_TARGET_HOST;
	answer(NULL, NULL, false);
	check_said("try for host.a.test; ");
	assert_false(finder->fall_back(search, &some_attempt));
	end();
}

static void a_fallback_relay_may_be_an_address(void **state)
{
	(void)state;
	begin(REMOTE_HOP_EXCHANGERS);
	fall_back_to("");
	play.is_fallback_address = true;
	look();
	answer("a.test 25", NULL, false);
	assert_true(finder->fall_back(search, &some_attempt));
	check_said("exchangers hop.test 26, families 2; try a.test for host.a.test; "
		   "try fallback.test for host.a.test; ");
	end();
}

/* Not for a relay of the operator's, nor where this host is a backup, the policy is strict, or
 * REQUIRETLS was said. */
static void not_all_mail_falls_back(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct remote_policy policy;
		const struct dns_server server = {.host = "a.test"};

		begin(i == 1 ? REMOTE_HOP_RELAY : REMOTE_HOP_EXCHANGERS);
		fall_back_to("");
		job.requires_tls = i == 4;
		if (i == 3)
			play.policy.level = CONFIG_TLS_ENCRYPT;
		if (i == 5)
			config.fallback_relay_count = 1; /* it is not valid */
		look();
		answer("a.test 25", NULL, i == 2);
		assert_true(finder->protect(search, &some_attempt, &server, &policy));
		assert_int_equal(finder->fall_back(search, &some_attempt), i == 0);
		end();
	}
}

/* --- policies and logins --- */

static void a_login_demands_tls(void **state)
{
	static const enum config_tls_level levels[] = {CONFIG_TLS_NONE, CONFIG_TLS_MAY,
						       CONFIG_TLS_ENCRYPT, CONFIG_TLS_VERIFY};
	static const struct dns_server server = {.host = "a.test"};
	static const struct mail_verdict refusal = {.class = MAIL_WAIT};

	(void)state;
	for (size_t i = 0; i < 4 * COUNT_OF(levels); i++) {
		enum config_tls_level level = levels[i / 4];
		bool is_plain = (i & 1) != 0;
		bool is_refused = (i & 2) != 0;
		struct remote_policy policy;

		begin(REMOTE_HOP_RELAY);
		snprintf(play.hop.user, sizeof play.hop.user, "ann");
		remote.may_login_plainly = is_plain;
		remote.may_bind_login = !is_plain;
		remote.weakest_login = LOGIN_BY_SCRAM_SHA_1;
		play.policy = (struct remote_policy){.level = level,
						     .origin = "remote_tls",
						     .refusal = is_refused ? &refusal : NULL};
		look();
		assert_true(finder->protect(search, &some_attempt, &server, &policy));
		assert_string_equal(policy.login->user, "ann");
		assert_string_equal(policy.login->relay, "relay of hop.test");
		assert_int_equal(policy.login->port, 26);
		assert_int_equal(policy.login->may_be_plain, is_plain);
		assert_int_equal(policy.login->may_bind, !is_plain);
		assert_int_equal(policy.login->weakest, LOGIN_BY_SCRAM_SHA_1);
		assert_int_equal(policy.level, is_plain || is_refused || level > CONFIG_TLS_MAY
						       ? level
						       : CONFIG_TLS_ENCRYPT);
		assert_string_equal(policy.origin, policy.level == level
							   ? "remote_tls"
							   : "the login to the relay");
		end();
	}
}

/* A policy that is found later is asked for again after a reload. */
static void a_policy_may_be_found_later(void **state)
{
	static const struct dns_server server = {.host = "a.test"};
	struct remote_policy policy;

	(void)state;
	begin(REMOTE_HOP_EXCHANGERS);
	job.requires_tls = true;
	look();
	check_said("exchangers hop.test 26, families 2; ");
	play.is_policy_late = true;
	assert_false(finder->protect(search, &some_attempt, &server, &policy));
	check_said("policy for d.test by a.test, relay none, wish 1; ");
	remote.client.configurations++;
	tell_policy();
	check_said("policy for d.test by a.test, relay none, wish 1; ");
	tell_policy();
	check_said("connect by 1 without a login; ");
	assert_false(finder->protect(search, &some_attempt, &server, &policy));
	remote.client.configurations++;
	play.is_policy_late = false;
	tell_policy();
	check_said("policy for d.test by a.test, relay none, wish 1; policy for d.test by a.test, "
		   "relay none, wish 1; connect by 1 without a login; ");
	end();
}

/* --- keys, sources and reports --- */

static void jobs_that_go_alike_have_one_key(void **state)
{
	static const struct config_source source = {.name = "src"};

	(void)state;
	for (unsigned i = 0; i < 12; i++) {
		static const char *const wishes[] = {"", " required", " waived"};
		char wanted[100];

		begin(REMOTE_HOP_RELAY);
		job.requires_tls = i % 3 == 1;
		play.can_demand = true;
		play.waives_tls = i % 3 == 2;
		play.source_of_mail = i / 3 % 2 == 1 ? &source : NULL;
		remote.reports = i / 6 == 1 ? (struct sts_client *)(void *)&play : NULL;
		search = remote_search_new(&remote, &job);
		snprintf(wanted, sizeof wanted, "hop policy%s%s", wishes[i % 3],
			 i / 3 % 2 == 1 ? " from src" : "");
		assert_string_equal(remote_search_key(search), wanted);
		end();
	}
}

static void the_source_of_mail_comes_before_that_of_a_server(void **state)
{
	static const struct config_source sources[] = {{.name = "one"}, {.name = "other"}};
	const struct dns_server server = {.host = "a.test"};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct remote_sources *given = NULL;

		begin(REMOTE_HOP_RELAY);
		remote.sources = (struct remote_sources *)(void *)&remote;
		play.source_of_mail = (i & 1) != 0 ? &sources[0] : NULL;
		play.source_of_server = (i & 2) != 0 ? &sources[1] : NULL;
		search = remote_search_new(&remote, &job);
		assert_ptr_equal(finder->source(search, &server, &given), (i & 1) != 0 ? &sources[0]
									  : (i & 2) != 0
										  ? &sources[1]
										  : NULL);
		assert_ptr_equal(given, remote.sources);
		end();
	}
}

/* Of domains whose servers the DNS has, and not of mail that waives TLS, as reports do. */
static void sessions_are_counted_for_reports(void **state)
{
	const struct dns_server server = {.host = "a.test"};
	const struct remote_policy policy = {.level = CONFIG_TLS_MAY};

	(void)state;
	for (unsigned i = 0; i < 16; i++) {
		bool is_waived = (i & 1) != 0;
		bool is_relay = (i & 4) != 0;
		bool is_required = (i & 8) != 0;

		begin(is_relay ? REMOTE_HOP_RELAY : REMOTE_HOP_EXCHANGERS);
		remote.reports = (i & 2) != 0 ? (struct sts_client *)(void *)&play : NULL;
		play.waives_tls = is_waived;
		job.requires_tls = is_required;
		search = remote_search_new(&remote, &job);
		finder->tell(search, &server, &policy, NULL, NULL);
		finder->tell(search, &server, &policy, NULL, "why");
		check_said(
			is_relay ? ""
			: (i & 2) != 0 && (!is_waived || is_required)
				? "report of d.test a.test; report of d.test a.test failed: why; "
				: "no report of d.test a.test; no report of d.test a.test "
				  "failed: why; ");
		end();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_hop_is_looked_for_in_its_way),
		cmocka_unit_test(addresses_are_wanted_as_configured),
		cmocka_unit_test(a_literal_of_ours_is_refused),
		cmocka_unit_test(who_has_no_route_is_not_looked_for),
		cmocka_unit_test(what_is_found_is_tried),
		cmocka_unit_test(a_fallback_relay_comes_next),
		cmocka_unit_test(a_fallback_relay_may_be_an_address),
		cmocka_unit_test(not_all_mail_falls_back),
		cmocka_unit_test(a_login_demands_tls),
		cmocka_unit_test(a_policy_may_be_found_later),
		cmocka_unit_test(jobs_that_go_alike_have_one_key),
		cmocka_unit_test(the_source_of_mail_comes_before_that_of_a_server),
		cmocka_unit_test(sessions_are_counted_for_reports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
