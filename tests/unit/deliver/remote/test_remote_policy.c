// SPDX-License-Identifier: ISC
/* Which policy of TLS holds for a host, and which servers are remembered as without TLS. */
#include "base/timestamp.h"
#include "deliver/remote/policy/authorities.h"
#include "deliver/remote/policy/plain.h"
#include "deliver/remote/policy/policy.h"
#include "fake_loop.h"
#include "policy/sts/client.h"
#include "scratch.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PRINT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

enum { SERVERS = 1100 };

static const char *names_below[] = {".example.net", "nexthop", "hostname"};
static const char *prints[] = {PRINT};

static struct config_tls_policy sections[] = {
	{.destination = "none.example", .level = CONFIG_TLS_NONE},
	{.destination = ".example", .level = CONFIG_TLS_ENCRYPT},
	{.destination = "verify.example", .level = CONFIG_TLS_VERIFY},
	{.destination = "match.example",
	 .level = CONFIG_TLS_VERIFY,
	 .matches = names_below,
	 .match_count = COUNT_OF(names_below)},
	{.destination = "secure.example", .level = CONFIG_TLS_SECURE},
	{.destination = "relay.test", .level = CONFIG_TLS_SECURE},
	{.destination = "[192.0.2.1]", .level = CONFIG_TLS_SECURE},
	{.destination = "print.example",
	 .level = CONFIG_TLS_FINGERPRINT,
	 .fingerprints = prints,
	 .fingerprint_count = 1},
	{.destination = "dane.example", .level = CONFIG_TLS_DANE},
	{.destination = "only.example", .level = CONFIG_TLS_DANE_ONLY},
};

static struct config config = {
	.tls_policies = sections,
	.tls_policy_count = COUNT_OF(sections),
	.remote_tls = CONFIG_TLS_MAY,
	.tls_authorities = "/nonexistent/authorities",
};

/* "LEVEL ORIGIN NAMES... FINGERPRINTS...", and "!STATUS" of a refusal. */
static void show(const struct remote_policy *policy, struct buffer *out)
{
	buffer_append_format(out, "%s %s", remote_policy_level_name(policy->level), policy->origin);
	for (size_t i = 0; i < policy->verify.name_count; i++)
		buffer_append_format(out, " %s", policy->verify.names[i]);
	for (size_t i = 0; i < policy->verify.fingerprint_count; i++)
		buffer_append_format(out, " %s", policy->verify.fingerprints[i]);
	if (policy->refusal != NULL)
		buffer_append_format(out, " !%s", policy->refusal->status);
	buffer_append_byte(out, '\0');
}

static void fill_in(void)
{
	for (size_t i = 0; i < COUNT_OF(sections); i++) {
		sections[i].authority = "";
		sections[i].certificate = "";
	}
}

static void never(void *context, const struct remote_policy *policy)
{
	(void)context;
	(void)policy;
	fail();
}

/* The file of authorities does not exist: what needs it is refused. */
static void sections_come_before_the_default(void **state)
{
	static const struct {
		const char *domain;
		const char *relay;
		const char *policy;
		enum tls_verify_by by;
	} cases[] = {
		{"other.test", NULL, "may remote_tls", TLS_VERIFY_NOTHING},
		{"none.example", NULL, "none tls \"none.example\"", TLS_VERIFY_NOTHING},
		{"a.example", NULL, "encrypt tls \".example\"", TLS_VERIFY_NOTHING},
		{"b.none.example", NULL, "encrypt tls \".example\"", TLS_VERIFY_NOTHING},
		{"verify.example", NULL, "verify tls \"verify.example\" mx.host.test !4.3.5",
		 TLS_VERIFY_AUTHORITIES},
		{"match.example", NULL,
		 "verify tls \"match.example\" .example.net match.example mx.host.test !4.3.5",
		 TLS_VERIFY_AUTHORITIES},
		{"match.example", "via.test",
		 "verify tls \"match.example\" .example.net via.test mx.host.test !4.3.5",
		 TLS_VERIFY_AUTHORITIES},
		{"secure.example", NULL,
		 "secure tls \"secure.example\" secure.example .secure.example !4.3.5",
		 TLS_VERIFY_AUTHORITIES},
		{"secure.example", "relay.test",
		 "secure tls \"relay.test\" relay.test .relay.test !4.3.5", TLS_VERIFY_AUTHORITIES},
		{"none.example", "relay.test",
		 "secure tls \"relay.test\" relay.test .relay.test !4.3.5", TLS_VERIFY_AUTHORITIES},
		{"none.example", "via.test", "none tls \"none.example\"", TLS_VERIFY_NOTHING},
		{"other.test", "[192.0.2.1]",
		 "secure tls \"[192.0.2.1]\" 192.0.2.1 .192.0.2.1 !4.3.5", TLS_VERIFY_AUTHORITIES},
		{"print.example", NULL, "fingerprint tls \"print.example\" " PRINT,
		 TLS_VERIFY_FINGERPRINTS},
		{"dane.example", NULL, "may tls \"dane.example\"", TLS_VERIFY_NOTHING},
		{"only.example", NULL, "dane-only tls \"only.example\" !4.7.5", TLS_VERIFY_NOTHING},
	};
	struct remote_policies *policies = remote_policies_new(&config, false, NULL);
	const struct dns_server server = {.host = "mx.host.test"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct arena *arena = arena_new();
		const struct remote_policy_question question = {cases[i].domain, cases[i].relay,
								&server, arena};
		struct remote_policy policy;
		struct buffer shown = {0};

		assert_null(remote_policy_find(policies, &question, &policy, never, NULL));
		show(&policy, &shown);
		assert_string_equal(buffer_data(&shown), cases[i].policy);
		assert_int_equal(policy.verify.by, cases[i].by);
		assert_int_equal(policy.source, REMOTE_POLICY_SETTING);
		buffer_clear(&shown);
		arena_free(arena);
	}
	remote_policies_free(policies);
}

static void a_key_for_each_section(void **state)
{
	static const struct {
		const char *domain;
		const char *relay;
		const char *key;
	} cases[] = {
		{"other.test", NULL, "remote_tls"},
		{"a.example", NULL, ".example"},
		{"none.example", "relay.test", "relay.test"},
		{"none.example", "via.test", "none.example"},
	};
	struct remote_policies *policies = remote_policies_new(&config, false, NULL);
	const char *key;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		key = remote_policy_key(policies, cases[i].domain, cases[i].relay);
		assert_string_equal(key, cases[i].key);
	}
	remote_policies_free(policies);
}

static void new_files_need_a_new_process(void **state)
{
	struct config_tls_policy section = sections[0];
	struct config other = {.tls_policies = &section,
			       .tls_policy_count = 1,
			       .remote_tls = CONFIG_TLS_MAY,
			       .tls_authorities = "/nonexistent/authorities"};
	struct remote_policies *policies = remote_policies_new(&other, false, NULL);

	(void)state;
	assert_true(remote_policies_configure(policies, &other));
	section.level = CONFIG_TLS_VERIFY;
	assert_false(remote_policies_configure(policies, &other));
	remote_policies_free(policies);
	policies = remote_policies_new(&other, false, NULL);
	assert_true(remote_policies_configure(policies, &other));
	section.authority = "/nonexistent/other";
	assert_false(remote_policies_configure(policies, &other));
	remote_policies_free(policies);
	policies = remote_policies_new(&other, true, NULL); /* for services only */
	assert_true(remote_policies_configure(policies, &other));
	remote_policies_free(policies);
}

/* --- a file that changes --- */

static const char *replaced_when_read; /* the name; NULL: none */

static void replace(const char *path)
{
	char fresh[SCRATCH_SIZE + 32];
	FILE *file;

	snprintf(fresh, sizeof fresh, "%s.new", path);
	file = fopen(fresh, "w");
	assert_non_null(file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(rename(fresh, path), 0);
}

static int failure; /* of reading a file; 0: it is read */

int __real_tls_authorities_open(const char *file, struct tls_authorities **authorities_out,
				struct buffer *reason);
int __wrap_tls_authorities_open(const char *file, struct tls_authorities **authorities_out,
				struct buffer *reason);
int __wrap_tls_authorities_open(const char *file, struct tls_authorities **authorities_out,
				struct buffer *reason)
{
	int result =
		failure < 0 ? failure : __real_tls_authorities_open(file, authorities_out, reason);

	if (replaced_when_read != NULL)
		replace(replaced_when_read);
	return result;
}

static void count_change(void *context)
{
	++*(unsigned *)context;
}

/* Just after it was read, or later. */
static void no_change_of_a_file_is_missed(void **state)
{
	(void)state;
	for (unsigned is_early = 0; is_early < 2; is_early++) {
		char directory[SCRATCH_SIZE];
		char path[SCRATCH_SIZE + 16];
		unsigned changes = 0;
		struct remote_policies *policies;
		struct config with_file;

		fake_begin(1);
		assert_int_equal(scratch_make(directory), 0);
		snprintf(path, sizeof path, "%s/authorities", directory);
		with_file =
			(struct config){.remote_tls = CONFIG_TLS_VERIFY, .tls_authorities = path};
		replaced_when_read = is_early ? path : NULL;
		policies = remote_policies_new(
			&with_file, false,
			&(struct remote_authorities_watcher){NULL, count_change, &changes});
		replaced_when_read = NULL;
		if (!is_early) {
			assert_false(fake_play_file());
			replace(path);
		}
		assert_true(fake_play_file());
		assert_int_equal(changes, 0);
		fake_advance(2 * SECOND_US);
		assert_int_equal(changes, 1);
		remote_policies_free(policies);
		assert_int_equal(fake_timers(), 0);
		assert_int_equal(scratch_remove(directory), 0);
	}
}

/* A lack of descriptors at the start must not last as long as the file stays as it is. */
static void a_read_that_may_succeed_later_is_repeated(void **state)
{
	static const struct {
		int error;
		unsigned changes;
	} cases[] = {{-EIO, 1},    {-EMFILE, 1}, {-ENOMEM, 1},
		     {-ENOENT, 0}, {-EACCES, 0}, {-EINVAL, 0}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct config with_file = {.remote_tls = CONFIG_TLS_VERIFY,
					   .tls_authorities = "/nonexistent/authorities"};
		struct remote_policies *policies;
		unsigned changes = 0;

		fake_begin(1);
		failure = cases[i].error;
		policies = remote_policies_new(
			&with_file, false,
			&(struct remote_authorities_watcher){NULL, count_change, &changes});
		failure = 0;
		fake_advance(9 * SECOND_US);
		assert_int_equal(changes, 0);
		fake_advance(SECOND_US);
		assert_int_equal(changes, cases[i].changes);
		remote_policies_free(policies);
		assert_int_equal(fake_timers(), 0);
	}
}

static void services_have_their_own(void **state)
{
	static const struct {
		enum config_tls_level level;
		const char *policy;
	} cases[] = {
		{CONFIG_TLS_NONE, "none "},
		{CONFIG_TLS_MAY, "may service \"box\""},
		{CONFIG_TLS_ENCRYPT, "encrypt service \"box\""},
		{CONFIG_TLS_VERIFY, "verify service \"box\" 192.0.2.7 !4.3.5"},
	};
	const struct dns_server server = {.host = "192.0.2.7"};
	struct remote_policies *policies = remote_policies_new(&config, true, NULL);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct config_service service = {.name = "box",
						       .kind = CONFIG_SERVICE_LMTP,
						       .tls = cases[i].level,
						       .authority = "",
						       .certificate = "own"};
		struct arena *arena = arena_new();
		struct remote_policy policy;
		struct buffer shown = {0};

		remote_policy_of_service(policies, &service, &server, arena, &policy);
		show(&policy, &shown);
		assert_string_equal(buffer_data(&shown), cases[i].policy);
		assert_string_equal(policy.certificate, "own");
		assert_int_equal(policy.source, REMOTE_POLICY_SETTING);
		assert_int_equal(policy.verify.by, cases[i].level == CONFIG_TLS_VERIFY
							   ? TLS_VERIFY_AUTHORITIES
							   : TLS_VERIFY_NOTHING);
		buffer_clear(&shown);
		arena_free(arena);
	}
	remote_policies_free(policies);
}

/* The first COUNT of three ciphers, and the version. */
static struct config_tls_strength strength_of(size_t count, bool is_1_3, const char **names)
{
	return (struct config_tls_strength){.min_version = is_1_3 ? CONFIG_TLS_1_3 : CONFIG_TLS_1_2,
					    .ciphers = names,
					    .cipher_count = count};
}

/* Of the section with the bits of OWN, the settings outside with those of COMMON: two for the
 * number of ciphers, one for the version; SECTION: there is one. */
static void check_strength(bool section, unsigned own, unsigned common)
{
	static const char *own_names[] = {"A", "B", "C"};
	static const char *common_names[] = {"X", "Y", "Z"};
	static const char *const own_texts[] = {NULL, "A", "A:B", "A:B:C"};
	static const char *const common_texts[] = {NULL, "X", "X:Y", "X:Y:Z"};
	struct config_tls_policy policies_of[] = {
		{.destination = "own.example",
		 .level = CONFIG_TLS_MAY,
		 .authority = "",
		 .certificate = "",
		 .strength = strength_of(own & 3, own > 3, own_names)}};
	const struct config settings = {.tls_policies = policies_of,
					.tls_policy_count = section,
					.remote_tls = CONFIG_TLS_MAY,
					.tls_authorities = "",
					.strength =
						strength_of(common & 3, common > 3, common_names)};
	struct remote_policies *policies = remote_policies_new(&settings, false, NULL);
	const struct dns_server server = {.host = "mx.host.test"};
	struct arena *arena = arena_new();
	const struct remote_policy_question question = {"own.example", NULL, &server, arena};
	const char *wanted =
		section && (own & 3) > 0 ? own_texts[own & 3] : common_texts[common & 3];
	struct remote_policy policy;

	assert_null(remote_policy_find(policies, &question, &policy, never, NULL));
	assert_int_equal(policy.is_by_section, section);
	assert_int_equal(policy.strength.is_1_3, section ? own > 3 : common > 3);
	assert_int_equal(policy.strength.ciphers == NULL, wanted == NULL);
	if (wanted != NULL)
		assert_string_equal(policy.strength.ciphers, wanted);
	arena_free(arena);
	remote_policies_free(policies);
}

static void ciphers_and_versions_are_the_sections_or_all_others(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2 * 8 * 8; i++)
		check_strength(i % 2 > 0, i / 2 % 8, i / 16);
}

static union os_socket_address address_of(unsigned number)
{
	union os_socket_address address;
	char text[32];

	snprintf(text, sizeof text, "192.0.%u.%u", number / 256, number % 256);
	assert_true(os_socket_address_parse(text, 25, &address));
	return address;
}

static void add_plain(struct remote_plain *plain, unsigned number)
{
	const struct dns_server server = {.address = address_of(number), .host = "mx.example"};

	remote_plain_add(plain, &server, "no TLS");
}

static void servers_without_tls_are_remembered_for_a_while(void **state)
{
	union os_socket_address one = address_of(1);
	union os_socket_address other = address_of(2);
	struct remote_plain *plain;

	(void)state;
	fake_begin(1);
	plain = remote_plain_new();
	assert_false(remote_plain_has(plain, &one, false));
	add_plain(plain, 1);
	assert_true(remote_plain_has(plain, &one, false));
	assert_false(remote_plain_has(plain, &other, false));
	fake_advance(15 * MINUTE_US - 1);
	assert_true(remote_plain_has(plain, &one, false));
	fake_advance(1);
	assert_false(remote_plain_has(plain, &one, false));
	assert_false(remote_plain_has(plain, &one, false));
	for (unsigned i = 0; i < SERVERS; i++) {
		add_plain(plain, i);
		add_plain(plain, i);
	}
	other = address_of(SERVERS - 1000);
	assert_true(remote_plain_has(plain, &other, false));
	other = address_of(SERVERS - 1001);
	assert_false(remote_plain_has(plain, &other, false)); /* dropped for the latest */
	remote_plain_free(plain);
}

/* Two in a row, and for an hour; never where a password would go by the connection. */
static void breaks_inside_tls_are_counted(void **state)
{
	const struct dns_server server = {.address = address_of(1), .host = "mx.example"};
	struct remote_plain *plain;

	(void)state;
	fake_begin(1);
	plain = remote_plain_new();
	for (int i = 0; i < 3; i++) {
		remote_plain_broke(plain, &server, true, "lost");
		remote_plain_held(plain, &server);
	}
	assert_false(remote_plain_has(plain, &server.address, false));
	remote_plain_broke(plain, &server, true, "lost");
	assert_false(remote_plain_has(plain, &server.address, false));
	fake_advance(10 * 60 * MINUTE_US);
	remote_plain_broke(plain, &server, true, "lost");
	assert_true(remote_plain_has(plain, &server.address, false));
	assert_false(remote_plain_has(plain, &server.address, true));
	fake_advance(60 * MINUTE_US - 1);
	assert_true(remote_plain_has(plain, &server.address, false));
	fake_advance(1);
	assert_false(remote_plain_has(plain, &server.address, false));
	/* where plain text breaks, too, TLS is not to blame */
	remote_plain_broke(plain, &server, true, "lost");
	remote_plain_broke(plain, &server, true, "lost");
	remote_plain_broke(plain, &server, false, "lost");
	assert_false(remote_plain_has(plain, &server.address, false));
	remote_plain_free(plain);
}

/* --- policies of MTA-STS --- */

/* The question that was asked, in the place of the client of "policy". */
struct sts_question {
	void (*done)(void *context, const struct sts_answer *answer);
	void *context;
};

static struct sts_question asked;

struct sts_question *sts_client_ask(struct sts_client *client, struct str domain,
				    void (*done)(void *context, const struct sts_answer *answer),
				    void *context)
{
	(void)client;
	assert_true(str_equal(domain, STR("a.b")));
	asked = (struct sts_question){done, context};
	return &asked;
}

void sts_question_cancel(struct sts_question *question)
{
	assert_null(question);
}

void sts_client_count(struct sts_client *client, const struct tlsrpt_session *session)
{
	(void)client;
	(void)session;
	fail();
}

static void on_policy(void *context, const struct remote_policy *policy)
{
	show(policy, context);
}

/* Its authorities cannot be read. */
static void only_what_is_enforced_makes_mail_wait(void **state)
{
	static const struct {
		enum sts_mode mode;
		const char *policy;
	} cases[] = {
		{STS_MODE_NONE, "may remote_tls"},
		{STS_MODE_TESTING, "may remote_tls"},
		{STS_MODE_ENFORCE, "verify mta-sts mx.a.b !4.3.5"},
	};
	static const struct dns_server server = {.host = "mx.a.b"};
	struct config with_sts = {.mta_sts = true, .tls_authorities = "/nonexistent/authorities"};
	struct remote_policies *policies;

	(void)state;
	with_sts.remote_tls = CONFIG_TLS_MAY;
	policies = remote_policies_new(&with_sts, false, NULL);
	remote_policies_use_sts(policies, (struct sts_client *)policies); /* is never looked into */
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		struct arena *arena = arena_new();
		const struct remote_policy_question question = {"a.b", NULL, &server, arena};
		const struct sts_answer answer = {.kind = STS_FOUND,
						  .mode = cases[i].mode,
						  .id = STR("1"),
						  .patterns = STR("mx.a.b")};
		struct remote_policy policy;
		struct remote_policy_search *search =
			remote_policy_find(policies, &question, &policy, on_policy, &out);

		assert_non_null(search);
		asked.done(asked.context, &answer);
		assert_string_equal(buffer_data(&out), cases[i].policy);
		remote_policy_search_free(search);
		arena_free(arena);
	}
	remote_policies_free(policies);
}

static int set_up(void **state)
{
	(void)state;
	fill_in();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_come_before_the_default),
		cmocka_unit_test(a_key_for_each_section),
		cmocka_unit_test(new_files_need_a_new_process),
		cmocka_unit_test(no_change_of_a_file_is_missed),
		cmocka_unit_test(a_read_that_may_succeed_later_is_repeated),
		cmocka_unit_test(services_have_their_own),
		cmocka_unit_test(ciphers_and_versions_are_the_sections_or_all_others),
		cmocka_unit_test(servers_without_tls_are_remembered_for_a_while),
		cmocka_unit_test(breaks_inside_tls_are_counted),
		cmocka_unit_test(only_what_is_enforced_makes_mail_wait),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
