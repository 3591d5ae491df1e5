// SPDX-License-Identifier: ISC
/* What the policy of a domain makes of the policy for one of its hosts. */
#include "deliver/remote/policy/sts.h"
#include "test.h"
#include <string.h>

static const struct dns_server SERVER = {.host = "mx.a.b"};

static const struct sts_answer NONE = {.kind = STS_NONE};
static const struct sts_answer FAILED = {.kind = STS_NONE, .problem = STS_PROBLEM_WEBPKI};
static const struct sts_answer LATER = {.kind = STS_LATER};

static struct sts_answer found(enum sts_mode mode, const char *patterns)
{
	return (struct sts_answer){
		.kind = STS_FOUND, .mode = mode, .id = {"1", 1}, .patterns = str_from(patterns)};
}

static void test_decide(void **state)
{
	const struct {
		struct sts_answer answer;
		enum config_tls_level level;
		enum config_tls_level then;
		bool verifies;
		bool is_tried;
		const char *status; /* of the refusal; NULL: none */
		enum tlsrpt_result flaw;
		const char *sts;
	} cases[] = {
		{NONE, CONFIG_TLS_MAY, CONFIG_TLS_MAY, false, false, NULL, TLSRPT_SUCCESS,
		 "no policy"},
		{FAILED, CONFIG_TLS_ENCRYPT, CONFIG_TLS_ENCRYPT, false, false, NULL,
		 TLSRPT_STS_WEBPKI_INVALID, "no policy; sts-webpki-invalid"},
		{LATER, CONFIG_TLS_MAY, CONFIG_TLS_MAY, false, false, "4.4.3", TLSRPT_SUCCESS,
		 "nobody can say"},
		{found(STS_MODE_NONE, "mx.c.d"), CONFIG_TLS_MAY, CONFIG_TLS_MAY, false, false, NULL,
		 TLSRPT_SUCCESS, "none, id 1: mx.c.d"},
		{found(STS_MODE_ENFORCE, "c.d *.a.b"), CONFIG_TLS_MAY, CONFIG_TLS_VERIFY, true,
		 false, NULL, TLSRPT_SUCCESS, "enforce, id 1: c.d *.a.b"},
		{found(STS_MODE_ENFORCE, "mx.c.d"), CONFIG_TLS_MAY, CONFIG_TLS_VERIFY, false, false,
		 "4.7.5", TLSRPT_VALIDATION_FAILURE, "enforce, id 1: mx.c.d"},
		{found(STS_MODE_TESTING, "mx.a.b"), CONFIG_TLS_MAY, CONFIG_TLS_MAY, true, true,
		 NULL, TLSRPT_SUCCESS, "testing, id 1: mx.a.b"},
		{found(STS_MODE_TESTING, "mx.c.d"), CONFIG_TLS_ENCRYPT, CONFIG_TLS_ENCRYPT, true,
		 true, NULL, TLSRPT_VALIDATION_FAILURE, "testing, id 1: mx.c.d"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct arena *arena = arena_new();
		const struct remote_policy_question question = {"a.b", NULL, &SERVER, arena};
		struct remote_policy policy = {.level = cases[i].level};

		assert_int_equal(remote_sts_decide(&cases[i].answer, &question, &policy),
				 cases[i].verifies);
		assert_int_equal(policy.level, cases[i].then);
		assert_int_equal(policy.is_tried, cases[i].is_tried);
		assert_int_equal(policy.flaw, cases[i].flaw);
		assert_int_equal(policy.refusal != NULL, cases[i].status != NULL);
		if (cases[i].status != NULL)
			assert_string_equal(policy.refusal->status, cases[i].status);
		assert_string_equal(policy.sts, cases[i].sts);
		assert_int_equal(policy.source,
				 cases[i].answer.kind == STS_FOUND &&
						 cases[i].answer.mode != STS_MODE_NONE
					 ? REMOTE_POLICY_MTA_STS
					 : REMOTE_POLICY_SETTING);
		arena_free(arena);
	}
}

static void test_applies(void **state)
{
	static const struct mail_verdict refusal;
	const struct remote_policy_question question = {"a.b", NULL, &SERVER, NULL};
	const struct remote_policy_question relayed = {"a.b", "r", &SERVER, NULL};
	struct config config = {.mta_sts = true};
	struct remote_policy policy = {.level = CONFIG_TLS_MAY};

	(void)state;
	assert_true(remote_sts_applies(&config, &question, &policy));
	assert_false(remote_sts_applies(&config, &relayed, &policy));
	policy.is_by_section = true;
	assert_false(remote_sts_applies(&config, &question, &policy));
	policy = (struct remote_policy){.level = CONFIG_TLS_NONE};
	assert_false(remote_sts_applies(&config, &question, &policy));
	/* TLSA records that can be used, or may be there, go first; others do not */
	policy = (struct remote_policy){.level = CONFIG_TLS_DANE, .verify.by = TLS_VERIFY_TLSA};
	assert_false(remote_sts_applies(&config, &question, &policy));
	policy = (struct remote_policy){.level = CONFIG_TLS_MAY, .refusal = &refusal};
	assert_false(remote_sts_applies(&config, &question, &policy));
	policy = (struct remote_policy){.level = CONFIG_TLS_ENCRYPT, .source = REMOTE_POLICY_DANE};
	assert_true(remote_sts_applies(&config, &question, &policy));
	config.mta_sts = false;
	assert_false(remote_sts_applies(&config, &question, &policy));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_decide),
		cmocka_unit_test(test_applies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
