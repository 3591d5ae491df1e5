// SPDX-License-Identifier: ISC
/* What REQUIRETLS and "TLS-Required: No" make of the policy for a host, with what the configuration
 * and MTA-STS say of it. */
#include "base/panic.h"
#include "deliver/remote/policy/policy.h"
#include "policy/sts/client.h"
#include "test.h"
#include "unit/tls/certificates.h"
#include <string.h>

#define NEVER 99
#define TLS   REMOTE_POLICY_REQUIRED
#define WAIVE REMOTE_POLICY_WAIVED

/* --- in the place of "policy" --- */

struct sts_client {
	struct sts_answer answer;
	void (*done)(void *context, const struct sts_answer *answer);
	void *context;
};

struct sts_question *sts_client_ask(struct sts_client *client, struct str domain,
				    void (*done)(void *context, const struct sts_answer *answer),
				    void *context)
{
	assert_true(str_equal(domain, STR("a.b")));
	assert_int_not_equal(client->answer.kind, NEVER);
	client->done = done;
	client->context = context;
	return (struct sts_question *)client;
}

void sts_question_cancel(struct sts_question *question)
{
	(void)question;
}

void sts_client_count(struct sts_client *client, const struct tlsrpt_session *session)
{
	(void)client;
	(void)session;
	fail();
}

/* --- the tests --- */

static const char *matches[] = {"hostname", "nexthop"};
static const char *names[] = {"mx.c.d"};
static const char *prints[] = {"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"};

/* By the destination; each case takes one. */
static struct config_tls_policy sections[] = {
	{.destination = "none.b", .level = CONFIG_TLS_NONE},
	{.destination = "encrypt.b", .level = CONFIG_TLS_ENCRYPT},
	{.destination = "verify.b", .level = CONFIG_TLS_VERIFY},
	{.destination = "match.b",
	 .level = CONFIG_TLS_VERIFY,
	 .matches = matches,
	 .match_count = COUNT_OF(matches)},
	{.destination = "named.b",
	 .level = CONFIG_TLS_VERIFY,
	 .matches = names,
	 .match_count = COUNT_OF(names)},
	{.destination = "secure.b", .level = CONFIG_TLS_SECURE},
	{.destination = "print.b",
	 .level = CONFIG_TLS_FINGERPRINT,
	 .fingerprints = prints,
	 .fingerprint_count = 1},
	{.destination = "only.b", .level = CONFIG_TLS_DANE_ONLY},
};

static const struct sts_answer UNASKED = {.kind = (enum sts_kind)NEVER};
static const struct sts_answer NO_POLICY = {.kind = STS_NONE};
static const struct sts_answer NOT_FETCHED = {.kind = STS_NONE, .problem = STS_PROBLEM_FETCH};
static const struct sts_answer LATER = {.kind = STS_LATER};

#define POLICY(mode, patterns)                                  \
	{                                                       \
		STS_FOUND, STS_PROBLEM_NONE, mode, 0, {"1", 1}, \
		{                                               \
			(patterns), sizeof(patterns) - 1        \
		}                                               \
	}

static const struct sts_answer ENFORCE = POLICY(STS_MODE_ENFORCE, "mx.a.b");
static const struct sts_answer ENFORCE_OTHER = POLICY(STS_MODE_ENFORCE, "mx.c.d");
static const struct sts_answer TESTING = POLICY(STS_MODE_TESTING, "mx.a.b");
static const struct sts_answer TESTING_OTHER = POLICY(STS_MODE_TESTING, "mx.c.d");

static char directory[SCRATCH_SIZE];

static int set_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(sections); i++)
		sections[i].authority = sections[i].certificate = "";
	return certificates_make(directory, "mx.a.b");
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(directory);
}

struct wanted {
	enum remote_policy_wish wish;
	enum config_tls_level remote_tls;
	const char *domain;
	const char *relay;
	const struct sts_answer *answer;
	bool is_secure; /* the MX records are signed */
	const char *policy;
};

/* "LEVEL ORIGIN NAMES...", "(tried)", and "!STATUS" of a refusal. */
static void show(const struct remote_policy *policy, struct buffer *out)
{
	buffer_append_format(out, "%s %s", remote_policy_level_name(policy->level), policy->origin);
	for (size_t i = 0; i < policy->verify.name_count; i++)
		buffer_append_format(out, " %s", policy->verify.names[i]);
	if (policy->verify.is_tried)
		buffer_append_string(out, " (tried)");
	if (policy->refusal != NULL)
		buffer_append_format(out, " !%s", policy->refusal->status);
	else if (policy->verify.by == TLS_VERIFY_AUTHORITIES)
		assert_non_null(policy->verify.authorities);
	buffer_append_byte(out, '\0');
}

static void take(void *context, const struct remote_policy *policy)
{
	*(struct remote_policy *)context = *policy;
}

static void check(const struct wanted *wanted, const char *authorities)
{
	const struct config config = {.mta_sts = true,
				      .tls_policies = sections,
				      .tls_policy_count = COUNT_OF(sections),
				      .remote_tls = wanted->remote_tls,
				      .tls_authorities = authorities};
	struct remote_policies *policies = remote_policies_new(&config, false, NULL);
	struct sts_client client = {.answer = *wanted->answer};
	const struct dns_server server = {.host = "mx.a.b", .is_host_secure = wanted->is_secure};
	struct arena *arena = arena_new();
	const struct remote_policy_question question = {wanted->domain, wanted->relay, &server,
							arena, wanted->wish};
	struct remote_policy policy;
	struct remote_policy_search *search;
	struct buffer shown = {0};

	remote_policies_use_sts(policies, &client);
	search = remote_policy_find(policies, &question, &policy, take, &policy);
	assert_int_equal(search != NULL, client.done != NULL);
	if (client.done != NULL)
		client.done(client.context, &client.answer);
	remote_policy_search_free(search);
	show(&policy, &shown);
	assert_string_equal(buffer_data(&shown), wanted->policy);
	buffer_clear(&shown);
	arena_free(arena);
	remote_policies_free(policies);
}

/* RFC 8689 section 4.2.1: by DNSSEC, MTA-STS or the configuration it must be known which host is
 * right; a certificate for what unsigned MX records say proves nothing. */
static void who_requires_tls_gets_it_from_the_right_host(void **state)
{
	static const struct wanted cases[] = {
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &NO_POLICY, true, "verify REQUIRETLS mx.a.b"},
		{TLS, CONFIG_TLS_NONE, "a.b", NULL, &UNASKED, true, "verify REQUIRETLS mx.a.b"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &NO_POLICY, false, "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &LATER, true, "may remote_tls !4.4.3"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &NOT_FETCHED, false, "verify REQUIRETLS !4.7.5"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &ENFORCE, false, "verify mta-sts mx.a.b"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &ENFORCE_OTHER, true, "verify mta-sts !4.7.5"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &TESTING, true, "verify REQUIRETLS mx.a.b"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &TESTING, false, "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &TESTING_OTHER, false,
		 "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_VERIFY, "a.b", NULL, &NO_POLICY, true, "verify remote_tls mx.a.b"},
		{TLS, CONFIG_TLS_VERIFY, "a.b", NULL, &NO_POLICY, false,
		 "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_VERIFY, "a.b", NULL, &TESTING_OTHER, false,
		 "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_MAY, "a.b", "mx.a.b", &UNASKED, false, "verify REQUIRETLS mx.a.b"},
		{TLS, CONFIG_TLS_MAY, "none.b", NULL, &UNASKED, true, "verify REQUIRETLS mx.a.b"},
		{TLS, CONFIG_TLS_MAY, "encrypt.b", NULL, &UNASKED, false,
		 "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_MAY, "verify.b", NULL, &UNASKED, true,
		 "verify tls \"verify.b\" mx.a.b"},
		{TLS, CONFIG_TLS_MAY, "verify.b", NULL, &UNASKED, false,
		 "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_MAY, "match.b", NULL, &UNASKED, false,
		 "verify REQUIRETLS !5.7.30"},
		{TLS, CONFIG_TLS_MAY, "named.b", NULL, &UNASKED, false,
		 "verify tls \"named.b\" mx.c.d"},
		{TLS, CONFIG_TLS_MAY, "secure.b", NULL, &UNASKED, false,
		 "secure tls \"secure.b\" secure.b .secure.b"},
		{TLS, CONFIG_TLS_MAY, "print.b", NULL, &UNASKED, false,
		 "fingerprint tls \"print.b\""},
		{TLS, CONFIG_TLS_MAY, "only.b", NULL, &UNASKED, true,
		 "dane-only tls \"only.b\" !4.7.5"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		check(&cases[i], certificates_path(directory, "authority", "pem"));
}

/* Section 4.2.2. What the operator has set stays. */
static void who_waives_tls_is_kept_by_no_policy_of_others(void **state)
{
	static const struct wanted cases[] = {
		{WAIVE, CONFIG_TLS_MAY, "a.b", NULL, &UNASKED, false, "may remote_tls"},
		{WAIVE, CONFIG_TLS_NONE, "a.b", NULL, &UNASKED, false, "none remote_tls"},
		{WAIVE, CONFIG_TLS_ENCRYPT, "a.b", NULL, &UNASKED, false, "encrypt remote_tls"},
		{WAIVE, CONFIG_TLS_MAY, "verify.b", NULL, &UNASKED, false,
		 "verify tls \"verify.b\" mx.a.b"},
		{WAIVE, CONFIG_TLS_MAY, "only.b", NULL, &UNASKED, true,
		 "dane-only tls \"only.b\" !4.7.5"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		check(&cases[i], certificates_path(directory, "authority", "pem"));
}

/* A policy in testing demands nothing. */
static void without_authorities_what_is_demanded_waits(void **state)
{
	static const struct wanted cases[] = {
		{REMOTE_POLICY_NO_WISH, CONFIG_TLS_MAY, "a.b", NULL, &ENFORCE, false,
		 "verify mta-sts mx.a.b !4.3.5"},
		{TLS, CONFIG_TLS_MAY, "a.b", NULL, &NO_POLICY, true,
		 "verify REQUIRETLS mx.a.b !4.3.5"},
		{REMOTE_POLICY_NO_WISH, CONFIG_TLS_MAY, "a.b", NULL, &TESTING, false,
		 "may remote_tls"},
		{REMOTE_POLICY_NO_WISH, CONFIG_TLS_ENCRYPT, "a.b", NULL, &TESTING_OTHER, false,
		 "encrypt remote_tls"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		check(&cases[i], "/nonexistent/authorities");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_requires_tls_gets_it_from_the_right_host),
		cmocka_unit_test(who_waives_tls_is_kept_by_no_policy_of_others),
		cmocka_unit_test(without_authorities_what_is_demanded_waits),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
