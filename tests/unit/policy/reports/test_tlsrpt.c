// SPDX-License-Identifier: ISC
/* Reports of how TLS went, RFC 8460: who wants them, what is counted, its file, and the report. */
#include "base/buffer.h"
#include "base/timestamp.h"
#include "policy/tlsrpt/count.h"
#include "policy/tlsrpt/record.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

/* --- records --- */

static void test_targets(void **state)
{
	static const struct {
		const char *text;
		const char *targets; /* "" : the domain wants no reports */
	} cases[] = {
		/* the RFC's own */
		{"v=TLSRPTv1;rua=mailto:reports@example.com", "reports@example.com "},
		{"v=TLSRPTv1; rua=https://reporting.example.com/v1/tlsrpt",
		 "reporting.example.com:443/v1/tlsrpt "},
		{"v=TLSRPTv1; rua=mailto:a@b.c,https://d.e:8443 , MAILTO:f@g.h;",
		 "a@b.c d.e:8443/ f@g.h "},
		{"v=TLSRPTv1 ; new=thing; rua=mailto:a@b.c; rua=mailto:d@e.f", "a@b.c "},
		{"v=TLSRPTv1; rua=mailto:a%2Cb%21c@d.e?subject=x",
		 ""}, /* a comma is to be quoted */
		{"v=TLSRPTv1; rua=mailto:a%21b@d.e?subject=x", "a!b@d.e "},
		{"v=TLSRPTv1; rua=https://D.E/x?y=z", "d.e:443/x?y=z "},
		{"v=TLSRPTv1; rua=ftp://a.b/,http://a.b/,mailto:a@b.c", "a@b.c "},
		{"v=TLSRPTv1; rua=https://u@a.b/", ""},
		{"v=TLSRPTv1; rua=https://a.b:0/", ""},
		{"v=TLSRPTv1; rua=https://a.b:65536/", ""},
		{"v=TLSRPTv1; rua=https://a.b:x/", ""},
		{"v=TLSRPTv1; rua=https://192.0.2.1/", ""},
		{"v=TLSRPTv1; rua=https://[::1]/", ""},
		{"v=TLSRPTv1; rua=https:///x", ""},
		{"v=TLSRPTv1; rua=https://a.b?x", ""},
		{"v=TLSRPTv1; rua=https://a.b/#x", ""},
		{"v=TLSRPTv1; rua=https://a.b/ x", ""},
		{"v=TLSRPTv1; rua=https://a.b/\r\nX: y", ""},
		{"v=TLSRPTv1; rua=mailto:a", ""},
		{"v=TLSRPTv1; rua=mailto:@b.c", ""},
		{"v=TLSRPTv1; rua=mailto:a@", ""},
		{"v=TLSRPTv1; rua=mailto:a%0D%0Ab@c.d", ""},
		{"v=TLSRPTv1; rua=mailto:a%zzb@c.d", ""},
		{"v=TLSRPTv1; rua=mailto:a%2", ""},
		{"v=TLSRPTv1; rua=mailto:a@b@c.d", ""},
		{"v=TLSRPTv1; rua=mailto:%3Ca%3E@c.d", ""},
		{"v=TLSRPTv1; rua=", ""},
		{"v=TLSRPTv1;", ""},
		{"v=TLSRPTv1", ""},
		{"v=TLSRPTv11; rua=mailto:a@b.c", ""},
		{"v=tlsrptv1; rua=mailto:a@b.c", ""},
		{"v=STSv1; rua=mailto:a@b.c", ""},
		{"", ""},
		{"v=TLSRPTv1; rua=mailto:a@b.1,mailto:1@b.c,mailto:2@b.c,mailto:3@b.c,mailto:4@b.c,"
		 "mailto:5@b.c,mailto:6@b.c",
		 "1@b.c 2@b.c 3@b.c 4@b.c 5@b.c "},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct tlsrpt_record record = {0};
		struct buffer found = {0};

		tlsrpt_record_add(&record, str_from(cases[i].text));
		for (unsigned n = 0; n < record.target_count; n++) {
			const struct tlsrpt_target *target = &record.targets[n];

			if (target->scheme == TLSRPT_HTTPS)
				buffer_append_format(&found, "%s:%u", target->host, target->port);
			buffer_append_format(&found, "%s ", target->text);
		}
		buffer_append_byte(&found, '\0');
		if (strcmp(buffer_data(&found), cases[i].targets) != 0)
			fail_msg("%s: %s", cases[i].text, buffer_data(&found));
		assert_int_equal(tlsrpt_record_is_valid(&record), cases[i].targets[0] != '\0');
		buffer_clear(&found);
	}
}

static void test_two_records(void **state)
{
	struct tlsrpt_record record = {0};

	(void)state;
	tlsrpt_record_add(&record, STR("v=spf1 -all"));
	tlsrpt_record_add(&record, STR("v=TLSRPTv1; rua=mailto:a@b.c"));
	assert_true(tlsrpt_record_is_valid(&record));
	tlsrpt_record_add(&record, STR("v=TLSRPTv1; rua=mailto:a@b.c"));
	assert_false(tlsrpt_record_is_valid(&record));
}

/* --- counts --- */

static const struct tlsrpt_session GOOD = {.policy = TLSRPT_STS, .result = TLSRPT_SUCCESS};
static const struct tlsrpt_session EXPIRED = {
	.policy = TLSRPT_STS,
	.result = TLSRPT_CERTIFICATE_EXPIRED,
	.host = {"mx.a.b", 6},
	.greeting = {"mail.a.b", 8},
	.server_address = {"192.0.2.1", 9},
	.own_address = {"2001:db8::1", 11},
	.reason = {"it has\nexpired \"today\"", 22},
};

static void count_some(struct tlsrpt_day *day)
{
	const struct str policy = STR("version: STSv1\nmode: enforce");
	struct tlsrpt_session plain = {.policy = TLSRPT_NO_POLICY,
				       .result = TLSRPT_STARTTLS_NOT_SUPPORTED};

	tlsrpt_day_count(day, &GOOD, policy, STR("mx.a.b *.c.d"));
	tlsrpt_day_count(day, &GOOD, policy, STR("mx.a.b *.c.d"));
	tlsrpt_day_count(day, &EXPIRED, policy, STR("mx.a.b *.c.d"));
	tlsrpt_day_count(day, &EXPIRED, policy, STR("mx.a.b *.c.d"));
	tlsrpt_day_count(day, &plain, STR(""), STR(""));
}

static const char FILE_TEXT[] =
	"policy: sts 2\nstring: version: STSv1\nstring: mode: enforce\nmx: mx.a.b\nmx: *.c.d\n"
	"greeting: mail.a.b\n"
	"failure: 2 certificate-expired mx.a.b 192.0.2.1 2001:db8::1 it has?expired \"today\"\n"
	"policy: no-policy-found 0\nfailure: 1 starttls-not-supported - - - \n";

static void check_file(const struct tlsrpt_day *day, const char *text)
{
	struct buffer file = {0};

	tlsrpt_day_format(day, &file);
	buffer_append_byte(&file, '\0');
	assert_string_equal(buffer_data(&file), text);
	buffer_clear(&file);
}

static void test_file(void **state)
{
	struct tlsrpt_day *day = tlsrpt_day_new();
	struct tlsrpt_day *again;
	struct tlsrpt_totals totals;

	(void)state;
	count_some(day);
	check_file(day, FILE_TEXT);
	again = tlsrpt_day_parse(str_from(FILE_TEXT));
	assert_non_null(again);
	check_file(again, FILE_TEXT);
	totals = tlsrpt_day_totals(again);
	assert_int_equal(totals.successes, 2);
	assert_int_equal(totals.failures, 3);
	/* without a greeting it is another failure */
	tlsrpt_day_free(again);
	again = tlsrpt_day_parse(
		STR("policy: sts 2\ngreeting: m\nfailure: 1 certificate-expired a b c d\n"
		    "failure: 1 certificate-expired a b c d\n"));
	assert_non_null(again);
	check_file(again, "policy: sts 2\ngreeting: m\nfailure: 1 certificate-expired a b c d\n"
			  "failure: 1 certificate-expired a b c d\n");
	tlsrpt_day_free(again);
	again = tlsrpt_day_parse(str_from(FILE_TEXT));
	/* what was read goes on being counted with */
	tlsrpt_day_count(again, &EXPIRED, STR("version: STSv1\nmode: enforce"),
			 STR("mx.a.b *.c.d"));
	assert_int_equal(tlsrpt_day_totals(again).failures, 4);
	tlsrpt_day_free(again);
	tlsrpt_day_free(day);
}

static void test_damaged_files(void **state)
{
	static const char *const files[] = {
		"",
		"\n",
		"policy: sts 2",
		"policy\n",
		"policy:\n",
		"policy:sts 2\n",
		"policy: sts x\n",
		"policy: sts\n",
		"policy: other 2\n",
		"string: x\n",
		"failure: 1 certificate-expired a b c d\n",
		"policy: sts 2\nfailure: 1 certificate-expired a\n",
		"policy: sts 2\nfailure: x certificate-expired a b c d\n",
		"policy: sts 2\nfailure: 1 certificate a b c d\n",
		"policy: sts 2\nfailure: 1 certificate-expired a b c d\nmx: a\n",
		"policy: sts 2\nelse: 1\n",
		"policy: sts 2\ngreeting: \n",
		"greeting: a\npolicy: sts 2\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
		if (tlsrpt_day_parse(str_from(files[i])) != NULL)
			fail_msg("%s", files[i]);
}

static void test_bounds(void **state)
{
	struct tlsrpt_day *day = tlsrpt_day_new();
	struct tlsrpt_session session = EXPIRED;
	struct buffer file = {0};
	char text[32];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "192.0.2.%d", i);
		session.server_address = str_from(text);
		tlsrpt_day_count(day, &session, STR("a"), STR(""));
	}
	for (int i = 0; i < 1000; i++) {
		snprintf(text, sizeof text, "policy %d", i);
		tlsrpt_day_count(day, &GOOD, str_from(text), STR(""));
	}
	assert_int_equal(tlsrpt_day_totals(day).failures, 1000);
	assert_int_equal(tlsrpt_day_totals(day).successes, TLSRPT_DAY_POLICIES_MAX - 1);
	tlsrpt_day_format(day, &file);
	assert_in_range(file.length, 1, 20000);
	buffer_clear(&file);
	tlsrpt_day_free(day);
}

static void test_report(void **state)
{
	static const struct tlsrpt_head head = {"Us \"Ltd\"", "tls@us.example", "1.2", "a.b",
						1795564800 * SECOND_US};
	struct tlsrpt_day *day = tlsrpt_day_new();
	struct buffer report = {0};

	(void)state;
	count_some(day);
	tlsrpt_day_report(day, &head, &report);
	buffer_append_byte(&report, '\0');
	assert_string_equal(
		buffer_data(&report),
		"{\"organization-name\":\"Us \\\"Ltd\\\"\",\"date-range\":{"
		"\"start-datetime\":\"2026-11-25T00:00:00Z\",\"end-datetime\":\"2026-11-25T23:59:"
		"59Z\"},"
		"\"contact-info\":\"tls@us.example\",\"report-id\":\"1.2\",\"policies\":[{"
		"\"policy\":{"
		"\"policy-type\":\"sts\",\"policy-string\":[\"version: STSv1\",\"mode: enforce\"],"
		"\"policy-domain\":\"a.b\",\"mx-host\":[\"mx.a.b\",\"*.c.d\"]},\"summary\":{"
		"\"total-successful-session-count\":2,\"total-failure-session-count\":2},"
		"\"failure-details\":[{\"result-type\":\"certificate-expired\","
		"\"sending-mta-ip\":\"2001:db8::1\",\"receiving-mx-hostname\":\"mx.a.b\","
		"\"receiving-mx-helo\":\"mail.a.b\",\"receiving-ip\":\"192.0.2.1\",\"failed-"
		"session-count\":2,"
		"\"failure-reason-code\":\"it has?expired \\\"today\\\"\"}]},{\"policy\":{"
		"\"policy-type\":\"no-policy-found\",\"policy-domain\":\"a.b\"},\"summary\":{"
		"\"total-successful-session-count\":0,\"total-failure-session-count\":1},"
		"\"failure-details\":[{\"result-type\":\"starttls-not-supported\","
		"\"failed-session-count\":1}]}]}\n");
	buffer_clear(&report);
	tlsrpt_day_free(day);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_targets), cmocka_unit_test(test_two_records),
		cmocka_unit_test(test_file),    cmocka_unit_test(test_damaged_files),
		cmocka_unit_test(test_bounds),  cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
