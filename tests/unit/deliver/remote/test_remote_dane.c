// SPDX-License-Identifier: ISC
/* What TLSA records make of a host's policy. */
#include "deliver/remote/policy/dane.h"
#include "os/file/file.h"
#include "scratch.h"
#include "test.h"
#include "unit/dns/fake_dns.h"
#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define DIGEST "0123456789abcdef0123456789abcdef"
#define TLSA   "_25._tcp.mx.x"

static struct scene {
	char directory[SCRATCH_SIZE];
	char anchor[SCRATCH_SIZE + 16];
	struct os_loop *loop;
	struct config config;
	struct remote_dane *dane;
	struct arena *arena;
	struct dns_server server;
	struct remote_policy_question question;
	size_t done;
} scene;

static int set_up(void **state)
{
	static const char text[] = ". IN DS 1 8 2 AB\n";
	int file;

	(void)state;
	scene = (struct scene){0};
	assert_int_equal(scratch_make(scene.directory), 0);
	snprintf(scene.anchor, sizeof scene.anchor, "%s/root.key", scene.directory);
	file = os_file_open(OS_FILE_HERE, scene.anchor, OS_FILE_WRITE | OS_FILE_CREATE);
	assert_int_equal(os_file_write(file, text, sizeof text - 1, 0), 0);
	os_file_close(file);
	scene.loop = os_loop_new();
	scene.arena = arena_new();
	scene.config =
		(struct config){.dns_server = "", .dane = true, .dns_trust_anchor = scene.anchor};
	scene.server = (struct dns_server){.host = "mx.x",
					   .canonical = "mx.x",
					   .is_host_secure = true,
					   .is_addresses_secure = true};
	scene.server.address.v4 =
		(struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(25)};
	scene.question = (struct remote_policy_question){
		.domain = "d.x", .server = &scene.server, .arena = scene.arena};
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remote_dane_free(scene.dane);
	arena_free(scene.arena);
	os_loop_free(scene.loop);
	fake_dns_end();
	return scratch_remove(scene.directory);
}

static void on_done(void *context)
{
	(void)context;
	scene.done++;
}

/* The policy for the scene's server where the configuration says LEVEL. */
static struct remote_policy find(enum config_tls_level level, bool is_by_section,
				 const struct dns_record *records)
{
	struct remote_policy policy = {.level = level,
				       .source = REMOTE_POLICY_SETTING,
				       .origin = "remote_tls",
				       .is_by_section = is_by_section,
				       .certificate = ""};
	struct remote_dane_search *search;

	fake_dns_play(records);
	scene.done = 0;
	if (!remote_dane_applies(scene.dane, &scene.question, &policy))
		return policy;
	search = remote_dane_find(scene.dane, &scene.question, &policy, on_done, NULL);
	assert_int_equal(scene.done, 0);
	fake_dns_answer_all();
	assert_int_equal(scene.done, 1);
	remote_dane_search_free(search);
	return policy;
}

#define RECORD(status, data)                                                   \
	{                                                                      \
		{                                                              \
			TLSA, DNS_TYPE_TLSA, status, true, NULL, DATA(data), 1 \
		}                                                              \
	}

static const struct dns_record usable[2] = RECORD(DNS_FOUND, "\3\1\1" DIGEST);
static const struct dns_record unusable[2] = RECORD(DNS_FOUND, "\1\1\1" DIGEST);
static const struct dns_record bogus[2] = RECORD(DNS_FAILED, "");
static const struct dns_record none[1] = {{0}};

static void what_becomes_of_each_level(void **state)
{
	static const struct {
		enum config_tls_level level;
		bool is_by_section;
		const struct dns_record *records;
		enum config_tls_level result;
		bool is_by_dane;
		const char *refusal; /* its status; NULL: none */
	} cases[] = {
		{CONFIG_TLS_MAY, false, usable, CONFIG_TLS_DANE, true, NULL},
		{CONFIG_TLS_MAY, false, unusable, CONFIG_TLS_ENCRYPT, true, NULL},
		{CONFIG_TLS_MAY, false, none, CONFIG_TLS_MAY, false, NULL},
		{CONFIG_TLS_MAY, false, bogus, CONFIG_TLS_MAY, false, "4.4.3"},
		{CONFIG_TLS_ENCRYPT, false, usable, CONFIG_TLS_DANE, true, NULL},
		{CONFIG_TLS_ENCRYPT, false, none, CONFIG_TLS_ENCRYPT, false, NULL},
		{CONFIG_TLS_VERIFY, false, usable, CONFIG_TLS_DANE, true, NULL},
		{CONFIG_TLS_VERIFY, false, unusable, CONFIG_TLS_VERIFY, false, NULL},
		{CONFIG_TLS_VERIFY, false, none, CONFIG_TLS_VERIFY, false, NULL},
		{CONFIG_TLS_NONE, false, usable, CONFIG_TLS_NONE, false, NULL},
		{CONFIG_TLS_DANE, true, usable, CONFIG_TLS_DANE, true, NULL},
		{CONFIG_TLS_DANE, true, unusable, CONFIG_TLS_ENCRYPT, true, NULL},
		{CONFIG_TLS_DANE, true, none, CONFIG_TLS_MAY, false, NULL},
		{CONFIG_TLS_DANE, true, bogus, CONFIG_TLS_DANE, false, "4.4.3"},
		{CONFIG_TLS_DANE_ONLY, true, usable, CONFIG_TLS_DANE_ONLY, true, NULL},
		{CONFIG_TLS_DANE_ONLY, true, unusable, CONFIG_TLS_DANE_ONLY, false, "4.7.5"},
		{CONFIG_TLS_DANE_ONLY, true, none, CONFIG_TLS_DANE_ONLY, false, "4.7.5"},
		{CONFIG_TLS_DANE_ONLY, true, bogus, CONFIG_TLS_DANE_ONLY, false, "4.4.3"},
		{CONFIG_TLS_MAY, true, usable, CONFIG_TLS_MAY, false, NULL},
		{CONFIG_TLS_SECURE, true, usable, CONFIG_TLS_SECURE, false, NULL},
		{CONFIG_TLS_FINGERPRINT, true, usable, CONFIG_TLS_FINGERPRINT, false, NULL},
	};

	(void)state;
	assert_int_equal(remote_dane_new(scene.loop, &scene.config, &scene.dane), 0);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct remote_policy policy =
			find(cases[i].level, cases[i].is_by_section, cases[i].records);

		assert_int_equal(policy.level, cases[i].result);
		assert_int_equal(policy.source,
				 cases[i].is_by_dane ? REMOTE_POLICY_DANE : REMOTE_POLICY_SETTING);
		if (cases[i].refusal == NULL)
			assert_null(policy.refusal);
		else
			assert_string_equal(policy.refusal->status, cases[i].refusal);
	}
}

static void what_is_verified(void **state)
{
	struct remote_policy policy;

	(void)state;
	assert_int_equal(remote_dane_new(scene.loop, &scene.config, &scene.dane), 0);
	policy = find(CONFIG_TLS_MAY, false, usable);
	assert_int_equal(policy.verify.by, TLS_VERIFY_TLSA);
	assert_int_equal(policy.verify.record_count, 1);
	assert_int_equal(policy.verify.records[0].usage, 3);
	assert_true(str_equal(policy.verify.records[0].data, STR(DIGEST)));
	assert_string_equal(policy.server_name, "mx.x");
	assert_string_equal(policy.dane, "_25._tcp.mx.x has usable TLSA records: 1");
	policy = find(CONFIG_TLS_MAY, false, unusable);
	assert_int_equal(policy.verify.by, TLS_VERIFY_NOTHING);
	assert_int_equal(policy.verify.record_count, 0);
	assert_string_equal(policy.server_name, "mx.x");
}

/* RFC 7672 sections 2.2.3, 3.2.2 and 8.1 */
static void names_of_an_alias(void **state)
{
	static const struct dns_record real[2] = {{"_25._tcp.real.y", DNS_TYPE_TLSA, DNS_FOUND,
						   true, NULL, DATA("\2\0\1" DIGEST), 1}};
	struct remote_policy policy;

	(void)state;
	assert_int_equal(remote_dane_new(scene.loop, &scene.config, &scene.dane), 0);
	scene.server.canonical = "real.y";
	policy = find(CONFIG_TLS_MAY, false, real);
	assert_string_equal(policy.server_name, "real.y");
	assert_int_equal(policy.verify.name_count, 3);
	assert_string_equal(policy.verify.names[0], "real.y");
	assert_string_equal(policy.verify.names[1], "d.x");
	assert_string_equal(policy.verify.names[2], "mx.x");
	scene.question.relay = "relay.x";
	policy = find(CONFIG_TLS_MAY, false, real);
	assert_string_equal(policy.verify.names[1], "relay.x");
}

static void addresses_have_no_records(void **state)
{
	struct remote_policy policy;

	(void)state;
	assert_int_equal(remote_dane_new(scene.loop, &scene.config, &scene.dane), 0);
	scene.server.canonical = NULL;
	assert_int_equal(find(CONFIG_TLS_DANE, true, usable).level, CONFIG_TLS_MAY);
	policy = find(CONFIG_TLS_DANE_ONLY, true, usable);
	assert_non_null(strstr(policy.refusal->text, "an address has no TLSA records"));
	fake_dns_check_asked("");
}

static void when_it_is_off(void **state)
{
	(void)state;
	scene.config.dane = false;
	scene.config.dns_trust_anchor = "/nowhere";
	assert_int_equal(remote_dane_new(scene.loop, &scene.config, &scene.dane), 0);
	assert_int_equal(find(CONFIG_TLS_MAY, false, usable).level, CONFIG_TLS_MAY);
	assert_non_null(find(CONFIG_TLS_DANE_ONLY, true, usable).refusal);
	fake_dns_check_asked("");
}

static void without_a_trust_anchor(void **state)
{
	struct remote_policy policy;

	(void)state;
	scene.config.dns_trust_anchor = "/nowhere";
	assert_int_equal(remote_dane_new(scene.loop, &scene.config, &scene.dane), 0);
	policy = find(CONFIG_TLS_MAY, false, usable);
	assert_string_equal(policy.refusal->status, "4.3.5");
	assert_non_null(strstr(policy.refusal->text,
			       "dns_trust_anchor /nowhere: No such file or directory"));
	assert_null(find(CONFIG_TLS_ENCRYPT, true, usable).refusal);
	fake_dns_check_asked("");
}

static void settings_that_need_another_resolver(void **state)
{
	const char *domains[] = {"lan"};
	struct config config;

	(void)state;
	assert_int_equal(remote_dane_new(scene.loop, &scene.config, &scene.dane), 0);
	config = scene.config;
	config.remote_timeout = 5;
	assert_true(remote_dane_fits(scene.dane, &config));
	config.dns_server = "::1@53";
	assert_false(remote_dane_fits(scene.dane, &config));
	config = scene.config;
	config.dane = false;
	assert_false(remote_dane_fits(scene.dane, &config));
	config = scene.config;
	config.dns_trust_anchor = "/other";
	assert_false(remote_dane_fits(scene.dane, &config));
	config = scene.config;
	config.dns_unsigned = domains;
	config.dns_unsigned_count = 1;
	assert_false(remote_dane_fits(scene.dane, &config));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_becomes_of_each_level, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_verified, set_up, tear_down),
		cmocka_unit_test_setup_teardown(names_of_an_alias, set_up, tear_down),
		cmocka_unit_test_setup_teardown(addresses_have_no_records, set_up, tear_down),
		cmocka_unit_test_setup_teardown(when_it_is_off, set_up, tear_down),
		cmocka_unit_test_setup_teardown(without_a_trust_anchor, set_up, tear_down),
		cmocka_unit_test_setup_teardown(settings_that_need_another_resolver, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
