// SPDX-License-Identifier: ISC
/*
 * What is told of a domain's servers to who asks how mail would go there: each of them is tried, in
 * its order, whatever became of the one before. Sessions, policies and the DNS are this test's.
 */
#include "base/timestamp.h"
#include "deliver/remote/probe.h"
#include "deliver/remote/route/route.h"
#include "os/loop.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { SERVERS = 2 };

/* How the session with a server goes. */
static const struct play {
	int error;           /* of its connection; 0: it runs */
	const char *refusal; /* of the policy; NULL: none */
	enum remote_outcome outcome;
	bool is_reusable, has_tls, is_refused;
	enum config_tls_level level;
	const char *told; /* "OUTCOME REASON" */
} plays[] = {
	{.is_reusable = true, .has_tls = true, .level = CONFIG_TLS_MAY, .told = "secured "},
	{.is_reusable = true, .level = CONFIG_TLS_NONE, .told = "plain the policy is none"},
	{.is_reusable = true,
	 .is_refused = true,
	 .level = CONFIG_TLS_MAY,
	 .told = "plain the server refuses STARTTLS"},
	{.is_reusable = true,
	 .level = CONFIG_TLS_MAY,
	 .told = "plain the server does not offer STARTTLS"},
	{.outcome = REMOTE_INSECURE, .level = CONFIG_TLS_MAY, .told = "plain it failed"},
	{.outcome = REMOTE_INSECURE, .level = CONFIG_TLS_ENCRYPT, .told = "waits it failed"},
	{.outcome = REMOTE_UNREACHABLE, .level = CONFIG_TLS_MAY, .told = "waits it failed"},
	{.refusal = "no policy", .level = CONFIG_TLS_SECURE, .told = "waits no policy"},
	{.error = -ECONNREFUSED,
	 .level = CONFIG_TLS_MAY,
	 .told = "waits connect to mx.test[192.0.2.1]:%u: Connection refused"},
};

static struct {
	const struct play *play;
	const struct remote_transaction *transaction;
	struct remote_transaction kept;
	bool is_open;
	char connected[128]; /* "HOST ADDRESS PROTOCOL CERTIFICATE" */
	void (*policy_done)(void *context, const struct remote_policy *policy);
	void *policy_context;
	bool policy_is_late;
	unsigned searches, search_frees, policies, policy_frees, tried, ended;
	void (*found)(void *context, const struct dns_servers *servers);
	void *found_context;
	char searched[160];
	char told[256], route[160], failure[160], relay[64];
} world;

/* --- os/loop.h: one timer --- */

struct os_timer {
	void (*call)(void *context);
	void *context;
	bool is_running;
};

static struct os_timer timer;

struct os_timer *os_timer_new(struct os_loop *loop, void (*call)(void *context), void *context)
{
	assert_null(loop);
	timer = (struct os_timer){call, context, false};
	return &timer;
}

void os_timer_start(struct os_timer *of, int64_t delay_us)
{
	assert_int_equal(delay_us, 0);
	of->is_running = true;
}

void os_timer_free(struct os_timer *of)
{
	if (of != NULL)
		of->is_running = false;
}

/* --- deliver/remote/session/session.h --- */

int remote_session_new(const struct remote_session_settings *settings, const char *key,
		       const struct dns_server *server, const struct remote_policy *policy,
		       struct remote_session **session_out)
{
	char address[OS_SOCKET_TEXT_SIZE];

	assert_string_equal(key, "");
	assert_false(world.is_open);
	os_socket_address_format(&server->address, address);
	snprintf(world.connected, sizeof world.connected, "%s %s %s %s", server->host, address,
		 settings->protocol == SMTP_CLIENT_QMTP ? "qmtp" : "smtp", policy->certificate);
	if (world.play->error != 0)
		return world.play->error;
	world.is_open = true;
	*session_out = (struct remote_session *)&world;
	return 0;
}

void remote_session_run(struct remote_session *session,
			const struct remote_transaction *transaction)
{
	assert_ptr_equal(session, &world);
	world.kept = *transaction;
}

void remote_session_free(struct remote_session *session)
{
	if (session == NULL)
		return;
	assert_true(world.is_open);
	world.is_open = false;
}

const struct mail_verdict *remote_session_failure(const struct remote_session *session)
{
	static const struct mail_verdict failure = {.text = "it failed"};

	assert_ptr_equal(session, &world);
	return &failure;
}

bool remote_session_is_reusable(const struct remote_session *session)
{
	assert_ptr_equal(session, &world);
	return world.play->is_reusable;
}

const struct ipc_job_tls *remote_session_tls(const struct remote_session *session)
{
	assert_ptr_equal(session, &world);
	return world.play->has_tls ? (const struct ipc_job_tls *)&world : NULL;
}

const struct tls_connection *remote_session_connection(const struct remote_session *session)
{
	assert_ptr_equal(session, &world);
	return (const struct tls_connection *)&world;
}

const char *remote_session_source(const struct remote_session *session)
{
	assert_ptr_equal(session, &world);
	return "src[192.0.2.9]";
}

bool remote_session_is_tls_refused(const struct remote_session *session)
{
	assert_ptr_equal(session, &world);
	return world.play->is_refused;
}

/* --- policies, the DNS --- */

static struct remote_policy policy_of_play(void)
{
	static struct mail_verdict refusal;

	snprintf(refusal.text, sizeof refusal.text, "%s",
		 world.play->refusal != NULL ? world.play->refusal : "");
	return (struct remote_policy){.level = world.play->level,
				      .certificate = "ours",
				      .refusal = world.play->refusal != NULL ? &refusal : NULL};
}

struct remote_policy_search *
remote_policy_find(struct remote_policies *policies, const struct remote_policy_question *question,
		   struct remote_policy *policy_out,
		   void (*done)(void *context, const struct remote_policy *policy), void *context)
{
	assert_ptr_equal(policies, &world.policies);
	assert_string_equal(question->domain, "a.test");
	snprintf(world.relay, sizeof world.relay, "%s",
		 question->relay != NULL ? question->relay : "-");
	world.policies++;
	*policy_out = policy_of_play();
	if (!world.policy_is_late)
		return NULL;
	policy_out->level = CONFIG_TLS_DANE_ONLY; /* what is not known yet */
	world.policy_done = done;
	world.policy_context = context;
	return (struct remote_policy_search *)&world;
}

void remote_policy_search_free(struct remote_policy_search *search)
{
	world.policy_frees += search != NULL;
}

static struct dns_search *search_for(const char *how, const char *host, uint16_t port,
				     void (*done)(void *context, const struct dns_servers *servers),
				     void *context)
{
	snprintf(world.searched, sizeof world.searched, "%s %s %u", how, host, port);
	world.found = done;
	world.found_context = context;
	world.searches++;
	return (struct dns_search *)&world;
}

struct dns_search *dns_search_relay(struct dns_resolver *resolver, const char *host, uint16_t port,
				    void (*done)(void *context, const struct dns_servers *servers),
				    void *context)
{
	assert_ptr_equal(resolver, &world.searches);
	return search_for("relay", host, port, done, context);
}

struct dns_search *
dns_search_exchangers(struct dns_resolver *resolver, const char *domain,
		      const struct dns_self *self, uint16_t port,
		      void (*done)(void *context, const struct dns_servers *servers), void *context)
{
	assert_ptr_equal(resolver, &world.searches);
	assert_int_equal(self->address_count, 0); /* this host is tried like any other */
	return search_for("exchangers", domain, port, done, context);
}

void dns_search_free(struct dns_search *search)
{
	world.search_frees += search != NULL;
}

/* --- who asks --- */

static void on_tried(void *context, const struct remote_probe_result *result)
{
	static const char *const outcomes[] = {[REMOTE_PROBE_SECURED] = "secured",
					       [REMOTE_PROBE_PLAIN] = "plain",
					       [REMOTE_PROBE_WAITS] = "waits"};

	assert_ptr_equal(context, &world);
	world.tried++;
	snprintf(world.told, sizeof world.told, "%s %s", outcomes[result->outcome], result->reason);
	snprintf(world.route, sizeof world.route, "%s", result->route);
	assert_string_equal(result->server->host, "mx.test");
	assert_string_equal(result->source, world.is_open ? "src[192.0.2.9]" : "");
	assert_int_equal(result->tls != NULL, world.is_open && world.play->has_tls);
	assert_int_equal(result->connection != NULL, world.is_open);
	assert_int_equal(result->policy->level, world.play->level);
}

static void on_ended(void *context, const struct mail_verdict *failure)
{
	assert_ptr_equal(context, &world);
	world.ended++;
	snprintf(world.failure, sizeof world.failure, "%s", failure != NULL ? failure->text : "");
}

static const struct remote_probe_handler handler = {on_tried, on_ended};
static struct remote_session_settings session_settings;
static struct config config;
static struct remote_probe_settings settings;

static struct remote_probe *begin(const char *destination)
{
	struct remote_probe *probe;

	memset(&world, 0, sizeof world);
	settings = (struct remote_probe_settings){
		.session = &session_settings,
		.config = &config,
		.resolver = (struct dns_resolver *)&world.searches,
		.policies = (struct remote_policies *)&world.policies,
		.sender = STR("s@x.test")};
	world.play = &plays[0];
	probe = remote_probe_new(&settings, str_from(destination), &handler, &world);
	assert_int_equal(world.searches, 0); /* nothing before it returns */
	assert_int_equal(timer.is_running, probe != NULL);
	if (probe != NULL)
		timer.call(timer.context);
	return probe;
}

static void answer_search(size_t count, uint16_t port)
{
	static struct dns_servers servers; /* of the search */

	servers.count = count;
	mail_verdict_set(&servers.verdict, "2.0.0", "found");
	for (size_t i = 0; i < count; i++) {
		servers.list[i].host = "mx.test";
		assert_true(os_socket_address_parse("192.0.2.1", port, &servers.list[i].address));
	}
	world.found(world.found_context, &servers);
}

static void play_session(bool is_late)
{
	if (is_late) {
		const struct remote_policy policy = policy_of_play();

		assert_false(world.is_open);
		world.policy_done(world.policy_context, &policy);
	}
	if (world.is_open)
		world.kept.done(world.kept.context, world.play->outcome);
}

/* Each way for the first of two, which are found by the DNS. */
static void each_server_is_tried(void **state)
{
	(void)state;
	for (unsigned i = 0; i < COUNT_OF(plays) * 4; i++) {
		struct remote_probe *probe;
		bool is_late = i & 1;
		char told[160];

		session_settings.certificates =
			i & 2 ? (struct remote_certificates *)&session_settings : NULL;
		probe = begin("A.test");
		world.play = &plays[i / 4];
		world.policy_is_late = is_late;
		assert_string_equal(world.searched, "exchangers a.test 25");
		snprintf(told, sizeof told, world.play->told, 26);
		answer_search(SERVERS, 26);
		for (unsigned server = 1; server <= SERVERS; server++) {
			assert_int_equal(world.policies,
					 world.play->error == 0 && world.play->refusal == NULL
						 ? server
					 : is_late ? server
						   : SERVERS);
			play_session(is_late);
			assert_string_equal(world.told, told);
			assert_string_equal(world.relay, "-");
			if (world.play->refusal == NULL)
				assert_string_equal(world.connected,
						    i & 2 ? "mx.test 192.0.2.1:26 smtp ours"
							  : "mx.test 192.0.2.1:26 smtp ");
		}
		assert_string_equal(world.route, "mail exchangers");
		assert_int_equal(world.tried, SERVERS);
		assert_int_equal(world.ended, 1);
		assert_string_equal(world.failure, "");
		assert_false(world.is_open);
		remote_probe_free(probe);
		assert_int_equal(world.search_frees, 1);
		assert_int_equal(world.policy_frees, is_late ? SERVERS : 0);
	}
	remote_probe_free(NULL);
}

static void without_a_server_it_ends(void **state)
{
	struct dns_servers servers = {.count = 0};
	struct remote_probe *probe = begin("a.test");

	(void)state;
	mail_verdict_set(&servers.verdict, "4.4.3", "no answer");
	world.found(world.found_context, &servers);
	assert_int_equal(world.ended, 1);
	assert_string_equal(world.failure, "no answer");
	remote_probe_free(probe);
	probe = begin("a.test"); /* before anything is found; and while a session runs */
	remote_probe_free(probe);
	probe = begin("a.test");
	answer_search(1, 25);
	assert_true(world.is_open);
	remote_probe_free(probe);
	assert_false(world.is_open);
	assert_int_equal(world.tried + world.ended, 0);
}

static void what_is_neither_is_refused(void **state)
{
	static const char *const bad[] = {":25", "mx.test:0x", "", "a b"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		if (begin(bad[i]) != NULL)
			fail_msg("%s", bad[i]);
}

/* A route of the configuration, by its relay, protocol and login; or a host alone. */
static void a_route_is_described(void **state)
{
	static const struct {
		const char *destination, *searched;
		struct config_route route;
		const char *told;
	} cases[] = {
		{"a.test",
		 "relay relay.test 2525",
		 {.domain = "", .relay = "relay.test", .port = 2525},
		 "relay relay.test:2525"},
		{"a.test",
		 "relay relay.test 587",
		 {.domain = "a.test", .relay = "relay.test", .port = 587, .user = "me"},
		 "relay relay.test:587 as me"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct config_route route = cases[i].route;
		struct remote_probe *probe;

		config = (struct config){.smtproutes = &route, .smtproute_count = 1};
		probe = begin(cases[i].destination);
		assert_non_null(probe);
		assert_string_equal(world.searched, cases[i].searched);
		answer_search(1, 25);
		world.kept.done(world.kept.context, REMOTE_DECIDED);
		assert_string_equal(world.route, cases[i].told);
		assert_string_equal(world.relay, "relay.test");
		remote_probe_free(probe);
	}
	config = (struct config){.smtproute_count = 0};
}

/* Whatever the routes of the configuration are. */
static void a_host_and_port_are_a_relay(void **state)
{
	static const struct {
		const char *destination, *searched;
	} cases[] = {{"host.test:26", "relay host.test 26"},
		     {"host.test:65535", "relay host.test 65535"}};
	struct config_route route = {.domain = "", .relay = "relay.test", .port = 2525};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct remote_probe *probe;

		config = (struct config){.smtproutes = &route, .smtproute_count = 1};
		probe = begin(cases[i].destination);
		assert_non_null(probe);
		assert_string_equal(world.searched, cases[i].searched);
		remote_probe_free(probe);
	}
	config = (struct config){.smtproute_count = 0};
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_server_is_tried),
		cmocka_unit_test(without_a_server_it_ends),
		cmocka_unit_test(what_is_neither_is_refused),
		cmocka_unit_test(a_route_is_described),
		cmocka_unit_test(a_host_and_port_are_a_relay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
