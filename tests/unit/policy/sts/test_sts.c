// SPDX-License-Identifier: ISC
/* Records and policies of MTA-STS, RFC 8461, and their files. */
#include "dns/text.h"
#include "policy/sts/policy.h"
#include "policy/sts/record.h"
#include "policy/sts/store.h"
#include "test.h"
#include <string.h>

/* --- records --- */

static void test_record(void **state)
{
	static const struct {
		const char *text;
		const char *id; /* NULL: no policy */
	} cases[] = {
		{"v=STSv1; id=20160831085700Z;", "20160831085700Z"},
		{"v=STSv1;id=1", "1"},
		{"v=STSv1;\t id=1 \t;  ", "1"},
		{"v=STSv1; a=b; id=1; c.d-e_f=!<>~", "1"},
		{"v=STSv1; id=1; id=2;", "1"},
		{"v=STSv1; id=12345678901234567890123456789012",
		 "12345678901234567890123456789012"},
		{"v=STSv1; id=123456789012345678901234567890123", NULL},
		{"v=STSv1; id=", NULL},
		{"v=STSv1; id=a-b", NULL},
		{"v=STSv1; id=a b", NULL},
		{"v=STSv1; ID=1", NULL},
		{"v=STSv1; id", NULL},
		{"v=STSv1; id=1; x", NULL},
		{"v=STSv1; id=1; x=", NULL},
		{"v=STSv1; id=1; x=a=b", NULL},
		{"v=STSv1; id=1; -x=a", NULL},
		{"v=STSv1; id=1; x=\x01", NULL},
		{"v=STSv1; id=1; abcdefghijklmnopqrstuvwxyz123456=a", "1"},
		{"v=STSv1; id=1; abcdefghijklmnopqrstuvwxyz1234567=a", NULL},
		{"v=STSv1; id=1;;", NULL},
		{"v=STSv1;", NULL},
		{"v=STSv1", NULL},
		{"v=STSv1 id=1", NULL},
		{"v=STSv1 ; id=1", NULL}, /* section 3.1: must begin with "v=STSv1;" */
		{" v=STSv1; id=1", NULL},
		{"V=STSv1; id=1", NULL},
		{"v=stsv1; id=1", NULL},
		{"v=STSv2; id=1", NULL},
		{"id=1; v=STSv1;", NULL},
		{"v=spf1 -all", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sts_record record = {0};

		sts_record_add(&record, str_from(cases[i].text));
		if (sts_record_is_valid(&record) != (cases[i].id != NULL))
			fail_msg("%s", cases[i].text);
		if (cases[i].id != NULL)
			assert_string_equal(record.id, cases[i].id);
	}
}

/* Exactly one of this version, whatever else is there. */
static void test_records(void **state)
{
	struct sts_record record = {0};

	(void)state;
	assert_false(sts_record_is_valid(&record));
	sts_record_add(&record, STR("v=spf1 -all"));
	assert_false(sts_record_is_valid(&record));
	sts_record_add(&record, STR("v=STSv1; id=1"));
	sts_record_add(&record, STR("v=STSv2; id=2"));
	assert_true(sts_record_is_valid(&record));
	assert_string_equal(record.id, "1");
	sts_record_add(&record, STR("v=STSv1; malformed"));
	assert_false(sts_record_is_valid(&record));
	record = (struct sts_record){0};
	sts_record_add(&record, STR("v=STSv1; id=1"));
	sts_record_add(&record, STR("v=STSv1; id=1"));
	assert_false(sts_record_is_valid(&record));
}

static void test_text(void **state)
{
	struct buffer text = {0};

	(void)state;
	assert_true(dns_text_append(&text, STR("\5v=STS\0\2v1")));
	assert_true(str_equal(buffer_view(&text), STR("v=STSv1")));
	buffer_reset(&text);
	assert_true(dns_text_append(&text, STR("")));
	assert_int_equal(text.length, 0);
	assert_false(dns_text_append(&text, STR("\3ab")));
	assert_false(dns_text_append(&text, STR("\1a\1")));
	buffer_clear(&text);
}

/* --- policies --- */

#define HEAD "version: STSv1\nmode: enforce\nmax_age: 604800\n"

static void test_policy(void **state)
{
	static const struct {
		const char *text;
		const char *problem; /* NULL: none */
		enum sts_mode mode;
		int64_t seconds;
		const char *patterns;
	} cases[] = {
		/* the RFC's own */
		{"version: STSv1\nmode: enforce\nmx: mail.example.com\nmx: *.example.net\n"
		 "mx: backupmx.example.com\nmax_age: 604800\n",
		 NULL, STS_MODE_ENFORCE, 604800,
		 "mail.example.com *.example.net backupmx.example.com"},
		{"version: STSv1\r\nmode: testing\r\nmx: A.Example\r\nmax_age: 86400\r\n", NULL,
		 STS_MODE_TESTING, 86400, "a.example"},
		{"version:STSv1\nmode:\t none \nmax_age:0", NULL, STS_MODE_NONE, 0, ""},
		{"max_age: 1\nmode: none\nversion: STSv1", NULL, STS_MODE_NONE, 1, ""},
		{HEAD "mx: a.b\n\n \r\n", NULL, STS_MODE_ENFORCE, 604800, "a.b"},
		{"\n\r\n" HEAD "\r\nmx: a.b\r\n\r\n\r", NULL, STS_MODE_ENFORCE, 604800, "a.b"},
		{HEAD "mx: a.b\nfuture: some \xc3\xa4 thing: or other\n", NULL, STS_MODE_ENFORCE,
		 604800, "a.b"},
		/* of a duplicate the first */
		{HEAD "mx: a.b\nmode: none\nmax_age: 5\nversion: STSv2\nmax_age: x\nmode: x\n",
		 NULL, STS_MODE_ENFORCE, 604800, "a.b"},
		/* too long counts as the limit */
		{"version: STSv1\nmode: none\nmax_age: 31557600", NULL, STS_MODE_NONE,
		 STS_MAX_AGE_MAX, ""},
		{"version: STSv1\nmode: none\nmax_age: 31557601", NULL, STS_MODE_NONE,
		 STS_MAX_AGE_MAX, ""},
		{"version: STSv1\nmode: none\nmax_age: 31557599", NULL, STS_MODE_NONE,
		 STS_MAX_AGE_MAX - 1, ""},
		{"version: STSv1\nmode: none\nmax_age: 9999999999", NULL, STS_MODE_NONE, 31557600,
		 ""},
		{"version: STSv1\nmode: none\nmax_age: 99999999999",
		 "max_age is not a number of seconds", 0, 0, NULL},
		{"version: STSv1\nmode: none\nmax_age: -1", "max_age is not a number of seconds", 0,
		 0, NULL},
		{"version: STSv1\nmode: none\nmax_age:", "max_age is not a number of seconds", 0, 0,
		 NULL},
		{"version: STSv2\nmode: none\nmax_age: 1", "another version than STSv1", 0, 0,
		 NULL},
		{"version: stsv1\nmode: none\nmax_age: 1", "another version than STSv1", 0, 0,
		 NULL},
		{"version: STSv1\nmode: Enforce\nmax_age: 1", "an unknown mode", 0, 0, NULL},
		{"version: STSv1\nmode: report\nmax_age: 1", "an unknown mode", 0, 0, NULL},
		{"mode: none\nmax_age: 1", "no version", 0, 0, NULL},
		{"Version: STSv1\nmode: none\nmax_age: 1", "no version", 0, 0, NULL},
		{"version: STSv1\nmax_age: 1", "no mode", 0, 0, NULL},
		{"version: STSv1\nmode: none", "no max_age", 0, 0, NULL},
		{HEAD, "no mx", 0, 0, NULL},
		{"version: STSv1\nmode: testing\nmax_age: 1", "no mx", 0, 0, NULL},
		{HEAD "mx: *.*.b", "an mx that is neither a host name nor \"*.\" and one", 0, 0,
		 NULL},
		{HEAD "mx: a.*.b", "an mx that is neither a host name nor \"*.\" and one", 0, 0,
		 NULL},
		{HEAD "mx: *", "an mx that is neither a host name nor \"*.\" and one", 0, 0, NULL},
		{HEAD "mx: a b", "an mx that is neither a host name nor \"*.\" and one", 0, 0,
		 NULL},
		{HEAD "mx: 192.0.2.1", "an mx that is neither a host name nor \"*.\" and one", 0, 0,
		 NULL},
		{HEAD "mx:", "an mx that is neither a host name nor \"*.\" and one", 0, 0, NULL},
		{HEAD "mx: a.b\nno colon", "a line without \":\"", 0, 0, NULL},
		{HEAD "mx: a.b\n: x", "a malformed name of a field", 0, 0, NULL},
		{HEAD "mx: a.b\nx y: x", "a malformed name of a field", 0, 0, NULL},
		{HEAD "mx: a.b\nx:", "a field without a value", 0, 0, NULL},
		{HEAD "mx: a.b\nx: a\rb", "a control character", 0, 0, NULL},
		{"<html></html>", "a line without \":\"", 0, 0, NULL},
		{"", "no version", 0, 0, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
		struct sts_policy policy = {0};
		const char *problem = sts_policy_parse(str_from(cases[i].text), &policy);

		if (cases[i].problem != NULL) {
			assert_non_null(problem);
			assert_string_equal(problem, cases[i].problem);
			continue;
		}
		if (problem != NULL)
			fail_msg("%s: %s", problem, cases[i].text);
		assert_int_equal(policy.mode, cases[i].mode);
		assert_int_equal(policy.max_age_us, cases[i].seconds * SECOND_US);
		assert_string_equal(policy.patterns, cases[i].patterns);
		sts_policy_clear(&policy);
	}
}

/* A NUL is no end of the text. */
static void test_policy_nul(void **state)
{
	struct sts_policy policy;

	(void)state;
	assert_non_null(sts_policy_parse(STR(HEAD "mx: a.b\nx: a\0b"), &policy));
	assert_non_null(sts_policy_parse(STR("version: STSv1\0\nmode: none\nmax_age: 1"), &policy));
}

static void test_policy_bounds(void **state)
{
	struct buffer text = {0};
	struct sts_policy policy;

	(void)state;
	buffer_append_string(&text, HEAD);
	for (size_t i = 0; i < STS_PATTERNS_MAX; i++)
		buffer_append_format(&text, "mx: m%zu.example.org\n", i);
	assert_null(sts_policy_parse(buffer_view(&text), &policy));
	assert_true(sts_patterns_allow(str_from(policy.patterns), STR("m199.example.org")));
	sts_policy_clear(&policy);
	buffer_append_string(&text, "mx: one.more\n");
	assert_string_equal(sts_policy_parse(buffer_view(&text), &policy), "too many mx");
	buffer_reset(&text);
	buffer_append_string(&text, HEAD "mx: a.b\n");
	while (text.length < STS_POLICY_MAX)
		buffer_append_byte(&text, '\n');
	assert_null(sts_policy_parse(buffer_view(&text), &policy));
	sts_policy_clear(&policy);
	buffer_append_byte(&text, '\n');
	assert_string_equal(sts_policy_parse(buffer_view(&text), &policy), "too long");
	buffer_clear(&text);
}

static void test_allow(void **state)
{
	static const struct {
		const char *patterns;
		const char *host;
		bool is_allowed;
	} cases[] = {
		{"mail.example.com", "mail.example.com", true},
		{"mail.example.com", "MAIL.example.COM", true},
		{"mail.example.com", "example.com", false},
		{"mail.example.com", "a.mail.example.com", false},
		{"mail.example.com", "mail.example.com.", false},
		{"*.example.com", "mx.example.com", true},
		{"*.example.com", "MX.Example.Com", true},
		{"*.example.com", "example.com", false},
		{"*.example.com", ".example.com", false},
		{"*.example.com", "a.b.example.com", false},
		{"*.example.com", "*.example.com", true}, /* which is no name of a host */
		{"*.example.com", "mxexample.com", false},
		{"*.example.com", "mx.example.com.evil.net", false},
		{"a.b c.d *.e", "c.d", true},
		{"a.b c.d *.e", "x.e", true},
		{"a.b c.d *.e", "a.b c.d", false},
		{"a.b c.d *.e", "", false},
		{"", "a.b", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
		if (sts_patterns_allow(str_from(cases[i].patterns), str_from(cases[i].host)) !=
		    cases[i].is_allowed)
			fail_msg("%s: %s", cases[i].patterns, cases[i].host);
}

static void test_refresh(void **state)
{
	(void)state;
	assert_int_equal(sts_policy_refresh_us(7 * DAY_US, true), DAY_US);
	assert_int_equal(sts_policy_refresh_us(7 * DAY_US, false), 7 * DAY_US / 2);
	assert_int_equal(sts_policy_refresh_us(DAY_US, true), DAY_US / 2);
	assert_int_equal(sts_policy_refresh_us(0, true), MINUTE_US);
	assert_int_equal(sts_policy_refresh_us(90 * SECOND_US, false), MINUTE_US);
}

/* --- files --- */

static void test_store(void **state)
{
	const struct str text = STR(HEAD "mx: a.b\n");
	struct sts_stored stored = {.id = "1a", .fetched_us = 1795617923 * SECOND_US, .text = text};
	struct sts_stored read = {.id = ""};
	struct buffer file = {0};

	(void)state;
	sts_store_format(&stored, &file);
	assert_null(sts_store_parse(buffer_view(&file), &read));
	assert_string_equal(read.id, "1a");
	assert_int_equal(read.fetched_us, stored.fetched_us);
	assert_true(str_equal(read.text, text));
	assert_string_equal(read.policy.patterns, "a.b");
	sts_policy_clear(&read.policy);
	/* cut anywhere, it is noticed, and so is what follows */
	for (size_t length = 0; length < file.length; length++)
		assert_non_null(sts_store_parse(str_slice(buffer_data(&file), length), &read));
	buffer_append_string(&file, "mx: c.d\n");
	assert_non_null(sts_store_parse(buffer_view(&file), &read));
	buffer_clear(&file);
}

/* The longest file is one that is read again. */
static void test_longest_store(void **state)
{
	struct sts_stored stored = {.fetched_us = 1795617923 * SECOND_US};
	struct sts_stored read = {.id = ""};
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer file CLEANUP(buffer_clear) = {0};

	(void)state;
	memset(stored.id, 'a', STS_ID_MAX);
	buffer_append_string(&text, HEAD "mx: a.b\n");
	while (text.length < STS_POLICY_MAX)
		buffer_append_byte(&text, '\n');
	stored.text = buffer_view(&text);
	sts_store_format(&stored, &file);
	assert_in_range(file.length, STS_POLICY_MAX + STS_ID_MAX, STS_STORE_SIZE_MAX);
	assert_null(sts_store_parse(buffer_view(&file), &read));
	assert_string_equal(read.id, stored.id);
	assert_int_equal(read.text.length, STS_POLICY_MAX);
	sts_policy_clear(&read.policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),     cmocka_unit_test(test_records),
		cmocka_unit_test(test_text),       cmocka_unit_test(test_policy),
		cmocka_unit_test(test_policy_nul), cmocka_unit_test(test_policy_bounds),
		cmocka_unit_test(test_allow),      cmocka_unit_test(test_refresh),
		cmocka_unit_test(test_store),      cmocka_unit_test(test_longest_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
