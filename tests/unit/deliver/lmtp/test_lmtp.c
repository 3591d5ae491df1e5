// SPDX-License-Identifier: ISC
/* Where an LMTP service's jobs go: to its own server, which a reload may change while jobs are
 * open, or to one that the directory names. Attempts and the DNS are this test's. */
#include "base/timestamp.h"
#include "deliver/lmtp/lmtp.h"
#include "deliver/lmtp/search.h"
#include "deliver/remote/attempt/loop.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

enum { ATTEMPTS = 8 };

/* What attempts, the DNS and "send" heard. */
static struct {
	const struct remote_finder *finders[ATTEMPTS];
	void *contexts[ATTEMPTS];
	char keys[ATTEMPTS][128];
	size_t started;
	char answer[256]; /* "try HOST ADDRESS TRIGGER", "fail STATUS TEXT" */
	char searched[160];
	void (*found)(void *context, const struct dns_servers *servers);
	void *found_context;
	unsigned searches, frees;
	char reported[256];
	unsigned finished, policies, configured, given_up, drained;
	int64_t timeout_us;
	bool is_loop;
	struct remote_client *client;
} world;

/* --- deliver/remote/ --- */

void remote_client_init(struct remote_client *client, struct os_loop *loop)
{
	assert_ptr_equal(loop, &world);
	client->site_key = (struct hash_key){1, 2};
	world.client = client;
}

void remote_client_configure(struct remote_client *client, const struct config *config,
			     int64_t reply_timeout_us)
{
	(void)client;
	(void)config;
	world.timeout_us = reply_timeout_us;
	world.configured++;
}

void remote_client_clear(struct remote_client *client)
{
	(void)client;
}

void remote_client_give_up(struct remote_client *client)
{
	(void)client;
	world.given_up++;
}

void remote_client_drain(struct remote_client *client)
{
	(void)client;
	world.drained++;
}

void remote_attempt_start(struct remote_client *client, enum smtp_client_protocol protocol,
			  struct deliver_helper_job *job, const char *key,
			  const struct remote_finder *finder, void *context)
{
	assert_non_null(client);
	assert_non_null(job);
	assert_int_equal(protocol, SMTP_CLIENT_LMTP);
	assert_true(world.started < ATTEMPTS);
	world.finders[world.started] = finder;
	world.contexts[world.started] = context;
	snprintf(world.keys[world.started++], sizeof world.keys[0], "%s", key);
}

void remote_attempt_try(struct remote_attempt *attempt, const struct dns_server *servers,
			size_t count, const char *trigger)
{
	char address[OS_SOCKET_TEXT_SIZE] = "a socket";

	assert_ptr_equal(attempt, &world);
	assert_int_equal(count, 1);
	if (servers[0].address.any.sa_family != AF_UNIX)
		os_socket_address_format(&servers[0].address, address);
	snprintf(world.answer, sizeof world.answer, "try %s %s %s", servers[0].host, address,
		 trigger);
}

void remote_attempt_fail(struct remote_attempt *attempt, const struct mail_verdict *verdict)
{
	assert_ptr_equal(attempt, &world);
	snprintf(world.answer, sizeof world.answer, "fail %s %s", verdict->status, verdict->text);
}

/* Its name says for which server it was made. */
void remote_policy_of_service(const struct remote_policies *policies,
			      const struct config_service *service, const struct dns_server *server,
			      struct arena *arena, struct remote_policy *policy_out)
{
	assert_ptr_equal(policies, &world.policies);
	assert_true(strcmp(service->name, "box") == 0);
	*policy_out = (struct remote_policy){.origin = arena_copy(arena, str_from(server->host))};
	world.policies++;
}

struct remote_certificates *remote_policies_certificates(const struct remote_policies *policies)
{
	assert_ptr_equal(policies, &world.policies);
	return (struct remote_certificates *)&world.keys;
}

bool remote_loop_deliver(struct hash_key key, struct deliver_helper_job *job, char *chunk)
{
	(void)job;
	(void)chunk;
	assert_true(key.low == 1 && key.high == 2);
	return !world.is_loop;
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	(void)job;
	assert_null(trigger);
	snprintf(world.reported, sizeof world.reported, "%s %s", verdict->status, verdict->text);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	(void)job;
	world.finished++;
}

/* --- dns/search.h --- */

struct dns_search *dns_search_relay(struct dns_resolver *resolver, const char *host, uint16_t port,
				    void (*done)(void *context, const struct dns_servers *servers),
				    void *context)
{
	assert_ptr_equal(resolver, &world.searches);
	snprintf(world.searched, sizeof world.searched, "%s %u", host, port);
	world.found = done;
	world.found_context = context;
	world.searches++;
	return (struct dns_search *)&world;
}

void dns_search_free(struct dns_search *search)
{
	if (search == NULL)
		return;
	assert_ptr_equal(search, &world);
	world.frees++;
}

/* --- a service --- */

static struct config_reach reach[] = {
	{.name = "test", .is_below = true, .port = 24},
	{.network = {.prefix = 0}, .port = 2424},
};

static struct config_service service_at(const char *text, const char *host, uint16_t port)
{
	return (struct config_service){.name = "box",
				       .kind = CONFIG_SERVICE_LMTP,
				       .timeout = 7,
				       .xforward = true,
				       .address = {text, host, port},
				       .servers = reach,
				       .server_count = COUNT_OF(reach)};
}

static struct deliver_lmtp *begin(const struct config_service *service, bool has_resolver)
{
	memset(&world, 0, sizeof world);
	return deliver_lmtp_new((struct os_loop *)&world, NULL, service,
				has_resolver ? (struct dns_resolver *)&world.searches : NULL,
				(struct remote_policies *)&world.policies);
}

static void find(size_t attempt)
{
	world.answer[0] = '\0';
	world.finders[attempt]->find(world.contexts[attempt], (struct remote_attempt *)&world);
}

static const char *policy_of(size_t attempt)
{
	static char origin[128];
	struct remote_policy policy = {.origin = ""};

	assert_true(world.finders[attempt]->protect(world.contexts[attempt], NULL, NULL, &policy));
	snprintf(origin, sizeof origin, "%s", policy.origin);
	return origin;
}

/* A job that is open keeps the server that it began with. */
static void a_reload_changes_the_server_of_later_jobs(void **state)
{
	const struct config_service services[] = {
		service_at("192.0.2.1:24", "192.0.2.1", 24),
		service_at("[2001:db8::1]:2003", "2001:db8::1", 2003),
		service_at("unix:/run/x", "/run/x", 0),
	};
	static const char *const tries[] = {"try 192.0.2.1 192.0.2.1:24 service.box",
					    "try 2001:db8::1 [2001:db8::1]:2003 service.box",
					    "try unix:/run/x a socket service.box"};
	static const char *const keys[] = {"192.0.2.1:24", "[2001:db8::1]:2003", "unix:/run/x"};
	static const char *const origins[] = {"192.0.2.1", "2001:db8::1", "unix:/run/x"};
	struct deliver_helper_job job = {.destination = STR("")};
	struct deliver_lmtp *lmtp = begin(&services[0], true);

	(void)state;
	assert_int_equal(world.timeout_us, 7 * SECOND_US);
	assert_ptr_equal(world.client->settings.certificates, &world.keys);
	deliver_lmtp_count(lmtp, (struct remote_places *)&world.frees);
	assert_ptr_equal(world.client->settings.places, &world.frees);
	for (size_t i = 0; i < COUNT_OF(services); i++) {
		if (i > 0)
			deliver_lmtp_configure(lmtp, NULL, &services[i]);
		job.tells_origin = false;
		deliver_lmtp_start(lmtp, &job);
		assert_true(job.tells_origin);
	}
	assert_int_equal(world.configured, 3);
	assert_int_equal(world.policies, 3);
	for (size_t i = 0; i < COUNT_OF(services); i++) {
		find(i);
		assert_string_equal(world.answer, tries[i]);
		assert_string_equal(world.keys[i], keys[i]);
		assert_string_equal(policy_of(i), origins[i]);
	}
	for (size_t i = 0; i < COUNT_OF(services); i++)
		world.finders[i]->end(world.contexts[i]);
	deliver_lmtp_give_up(lmtp);
	deliver_lmtp_drain(lmtp);
	assert_true(world.given_up == 1 && world.drained == 1);
	deliver_lmtp_free(lmtp);
	deliver_lmtp_free(NULL);
}

static void what_comes_back_is_over(void **state)
{
	const struct config_service service = service_at("192.0.2.1:24", "192.0.2.1", 24);
	struct deliver_helper_job job = {.destination = STR("")};
	struct deliver_lmtp *lmtp = begin(&service, true);

	(void)state;
	world.is_loop = true;
	deliver_lmtp_start(lmtp, &job);
	assert_int_equal(world.finished, 1);
	assert_int_equal(world.started, 0);
	deliver_lmtp_free(lmtp);
}

/* In its network or below its name, at that port, as the configuration says now. */
static void the_directory_names_a_server(void **state)
{
	static const struct {
		const char *destination;
		const char *answer; /* NULL: it is looked up */
		const char *report;
	} cases[] = {
		{"192.0.2.9:2424", "try 192.0.2.9 192.0.2.9:2424 service.box.192.0.2.9:2424", ""},
		{"[2001:db8::9]:2424",
		 "try 2001:db8::9 [2001:db8::9]:2424 service.box.[2001:db8::9]:2424", ""},
		{"a.test:24", NULL, ""},
		{"a.test:25", "",
		 "4.3.5 Server a.test:25: service box may not deliver there (setting servers)"},
		{"test:24", "",
		 "4.3.5 Server test:24: service box may not deliver there (setting servers)"},
		{"A.test:24", "",
		 "4.3.5 Server A.test:24: service box cannot deliver to what is not HOST:PORT"},
		{"192.0.2.9", "",
		 "4.3.5 Server 192.0.2.9: service box cannot deliver to what is not HOST:PORT"},
	};
	const struct config_service service = service_at("192.0.2.1:24", "192.0.2.1", 24);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct deliver_helper_job job = {.destination = str_from(cases[i].destination),
						 .arena = arena_new()};
		struct deliver_lmtp *lmtp = begin(&service, true);

		deliver_lmtp_start(lmtp, &job);
		assert_string_equal(world.reported, cases[i].report);
		assert_int_equal(world.finished, cases[i].report[0] != '\0');
		assert_int_equal(world.started, cases[i].report[0] == '\0');
		if (world.started > 0) {
			assert_string_equal(world.keys[0], cases[i].destination);
			find(0);
			assert_string_equal(world.answer,
					    cases[i].answer != NULL ? cases[i].answer : "");
			assert_int_equal(world.searches, cases[i].answer == NULL);
			world.finders[0]->end(world.contexts[0]);
			assert_int_equal(world.frees, world.searches);
		}
		deliver_lmtp_free(lmtp);
		arena_free(job.arena);
	}
}

/* Each time anew; and without a resolver not at all. */
static void a_name_is_looked_up(void **state)
{
	const struct config_service service = service_at("192.0.2.1:24", "192.0.2.1", 24);
	struct dns_server server = {.host = "a.test"};
	struct dns_servers servers = {.count = 1};
	struct deliver_helper_job job = {.destination = STR("a.test:24"), .arena = arena_new()};
	struct deliver_lmtp *lmtp = begin(&service, true);

	(void)state;
	assert_true(os_socket_address_parse("192.0.2.5", 24, &server.address));
	servers.list[0] = server;
	deliver_lmtp_start(lmtp, &job);
	for (unsigned i = 1; i < 4; i++) {
		find(0);
		assert_string_equal(world.searched, "a.test 24");
		assert_int_equal(world.searches, i);
		assert_int_equal(world.frees, i - 1);
		mail_verdict_set(&servers.verdict, i == 2 ? "4.4.3" : "2.0.0", "no answer");
		world.found(world.found_context, &servers);
		assert_string_equal(world.answer,
				    i == 2 ? "fail 4.4.3 no answer"
					   : "try a.test 192.0.2.5:24 service.box.a.test:24");
	}
	assert_string_equal(policy_of(0), "a.test");
	world.finders[0]->end(world.contexts[0]);
	assert_int_equal(world.frees, 3);
	deliver_lmtp_free(lmtp);
	lmtp = begin(&service, false);
	deliver_lmtp_start(lmtp, &job);
	find(0);
	assert_string_equal(world.answer,
			    "fail 4.3.5 a.test: this process cannot look for names yet");
	world.finders[0]->end(world.contexts[0]);
	deliver_lmtp_free(lmtp);
	arena_free(job.arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reload_changes_the_server_of_later_jobs),
		cmocka_unit_test(what_comes_back_is_over),
		cmocka_unit_test(the_directory_names_a_server),
		cmocka_unit_test(a_name_is_looked_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
