// SPDX-License-Identifier: ISC
/* What a domain says of its policy: each record with each answer by HTTPS. The DNS and HTTPS are
 * played. */
#include "policy/sts/lookup.h"
#include "test.h"
#include "unit/dns/fake_dns.h"
#include <stdio.h>
#include <string.h>

#define POLICY "version: STSv1\nmode: enforce\nmx: mx.a.test\nmax_age: 86400\n"

static struct {
	bool is_asking;
	void (*asked)(void *context, const struct https_answer *answer);
	void *context;
	unsigned ends;
	struct sts_lookup_result result;
	char id[STS_ID_MAX + 1], reason[100], text[200];
} world;

struct https_request {
	int unused;
};

struct https_request *https_ask(struct https *https, const struct https_ask *ask,
				void (*done)(void *context, const struct https_answer *answer),
				void *context)
{
	static struct https_request request;

	assert_null(https);
	assert_string_equal(ask->host, "mta-sts.a.test");
	assert_int_equal(ask->port, 443);
	assert_string_equal(ask->path, "/.well-known/mta-sts.txt");
	assert_int_equal(ask->size_max, STS_POLICY_MAX);
	assert_int_equal(ask->seconds, 30);
	assert_null(ask->content_type);
	world.is_asking = true;
	world.asked = done;
	world.context = context;
	return &request;
}

void https_cancel(struct https_request *request)
{
	assert_int_equal(request != NULL, world.is_asking);
	world.is_asking = false;
}

static void on_result(void *context, const struct sts_lookup_result *result)
{
	assert_ptr_equal(context, &world);
	world.ends++;
	world.result = *result;
	snprintf(world.id, sizeof world.id, "%s", result->id);
	snprintf(world.reason, sizeof world.reason, "%s",
		 result->reason != NULL ? result->reason : "");
	snprintf(world.text, sizeof world.text, STR_FORMAT, STR_ARGUMENTS(result->text));
}

static struct sts_lookup *begin(const char *known)
{
	world.ends = 0;
	fake_dns_play((struct dns_record[]){{.name = NULL}});
	return sts_lookup_new(NULL, NULL, "a.test", known, on_result, &world);
}

static void answer_dns(enum dns_status status, const char *text, size_t count)
{
	size_t length = strlen(text);
	char data[200], *pointers[] = {data, data};
	int lengths[] = {(int)length + 1, (int)length + 1};
	const struct dns_answer answer = {.status = status,
					  .count = count,
					  .data = pointers,
					  .lengths = lengths,
					  .ttl = 77,
					  .reason = "no name server answers",
					  .canonical = ""};

	data[0] = (char)length;
	memcpy(data + 1, text, length);
	assert_int_equal(world.ends, 0);
	fake_dns_answer(&answer);
	fake_dns_check_asked("_mta-sts.a.test/16 ");
}

static void records(void **state)
{
	static const struct {
		enum dns_status status;
		const char *text;
		size_t count;
		const char *known;
		int end; /* -1: the policy is fetched */
	} rows[] = {
		{DNS_FOUND, "v=STSv1; id=7", 1, "", -1},
		{DNS_FOUND, "v=STSv1; id=7", 1, "8", -1},
		{DNS_FOUND, "v=STSv1; id=7", 1, "7", STS_LOOKUP_SAME},
		{DNS_FOUND, "v=STSv1; id=7", 2, "7", STS_LOOKUP_NO_RECORD},
		{DNS_FOUND, "v=spf1 -all", 1, "7", STS_LOOKUP_NO_RECORD},
		{DNS_NO_DATA, "", 0, "7", STS_LOOKUP_NO_RECORD},
		{DNS_NO_NAME, "", 0, "", STS_LOOKUP_NO_RECORD},
		{DNS_FAILED, "", 0, "7", STS_LOOKUP_NO_ANSWER},
		{DNS_FAILED, "v=STSv1; id=7", 1, "7", STS_LOOKUP_NO_ANSWER},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct sts_lookup *lookup = begin(rows[i].known);

		answer_dns(rows[i].status, rows[i].text, rows[i].count);
		assert_int_equal(world.ends, rows[i].end >= 0);
		assert_int_equal(world.is_asking, rows[i].end < 0);
		if (rows[i].end < 0) {
			sts_lookup_cancel(lookup);
			assert_false(world.is_asking);
			continue;
		}
		if ((int)world.result.status != rows[i].end)
			fail_msg("%zu: %d", i, (int)world.result.status);
		assert_string_equal(world.reason, rows[i].end == STS_LOOKUP_NO_ANSWER
							  ? "no name server answers"
							  : "");
		if (rows[i].end == STS_LOOKUP_NO_RECORD)
			assert_int_equal(world.result.ttl, 77);
		if (rows[i].end == STS_LOOKUP_SAME)
			assert_string_equal(world.id, "7");
	}
	sts_lookup_cancel(begin(""));
	sts_lookup_cancel(NULL);
	fake_dns_check_asked("_mta-sts.a.test/16 ");
	fake_dns_end();
}

static void answers_by_https(void **state)
{
	static const struct {
		enum https_status status;
		unsigned code;
		const char *type, *body;
		enum sts_problem problem; /* NONE: it is a policy */
		const char *reason;
	} rows[] = {
		{HTTPS_OK, 200, "text/plain", POLICY, STS_PROBLEM_NONE, ""},
		{HTTPS_OK, 200, "Text/Plain ; charset=utf-8", POLICY, STS_PROBLEM_NONE, ""},
		{HTTPS_OK, 200, "text/html", POLICY, STS_PROBLEM_INVALID,
		 "its type is not text/plain"},
		{HTTPS_OK, 200, "", POLICY, STS_PROBLEM_INVALID, "its type is not text/plain"},
		{HTTPS_OK, 200, "text/plain", "nothing", STS_PROBLEM_INVALID,
		 "a line without \":\""},
		{HTTPS_OK, 199, "text/plain", POLICY, STS_PROBLEM_FETCH, "HTTP status 199"},
		{HTTPS_OK, 201, "text/plain", POLICY, STS_PROBLEM_FETCH, "HTTP status 201"},
		{HTTPS_OK, 301, "text/plain", POLICY, STS_PROBLEM_FETCH, "HTTP status 301"},
		{HTTPS_OK, 404, "text/plain", POLICY, STS_PROBLEM_FETCH, "HTTP status 404"},
		{HTTPS_FAILED, 0, "", "", STS_PROBLEM_FETCH, "as it happens"},
		{HTTPS_UNTRUSTED, 0, "", "", STS_PROBLEM_WEBPKI, "as it happens"},
		{HTTPS_TOO_LARGE, 0, "", "", STS_PROBLEM_INVALID, "as it happens"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct https_answer answer = {.status = rows[i].status,
						    .code = rows[i].code,
						    .type = rows[i].type,
						    .body = str_from(rows[i].body),
						    .reason = "as it happens"};
		bool is_policy = rows[i].problem == STS_PROBLEM_NONE;

		(void)begin("6");
		answer_dns(DNS_FOUND, "v=STSv1; id=7", 1);
		assert_true(world.is_asking);
		world.is_asking = false;
		world.asked(world.context, &answer);
		assert_int_equal(world.ends, 1);
		assert_int_equal(world.result.status,
				 is_policy ? STS_LOOKUP_FETCHED : STS_LOOKUP_FAILED);
		assert_int_equal(world.result.problem, rows[i].problem);
		assert_string_equal(world.reason, rows[i].reason);
		assert_string_equal(world.id, "7");
		assert_string_equal(world.text, is_policy ? POLICY : "");
		if (is_policy) {
			assert_int_equal(world.result.policy.mode, STS_MODE_ENFORCE);
			assert_string_equal(world.result.policy.patterns, "mx.a.test");
			sts_policy_clear(&world.result.policy);
		}
	}
	fake_dns_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(answers_by_https),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
