// SPDX-License-Identifier: ISC
/* What is counted of a day at each bound, and one beyond: kinds of failures, texts, policies; as it
 * is written and read. */
#include "base/buffer.h"
#include "policy/tlsrpt/count.h"
#include "policy/tlsrpt/internal.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t count_in(struct str text, const char *part)
{
	size_t count = 0, length = strlen(part);

	for (size_t i = 0; i + length <= text.length; i++)
		count += memcmp(text.data + i, part, length) == 0;
	return count;
}

static struct buffer report_of(const struct tlsrpt_day *day)
{
	const struct tlsrpt_head head = {.organization = "mx.test",
					 .contact = "tls@mx.test",
					 .id = "7",
					 .domain = "a.test",
					 .begin_us = 0};
	struct buffer out = {0};

	tlsrpt_day_report(day, &head, &out);
	return out;
}

/* What is written is read again, and says the same. */
static struct tlsrpt_day *read_again(struct tlsrpt_day *day)
{
	struct buffer file = {0}, again = {0}, report = report_of(day), second;
	struct tlsrpt_day *read;

	tlsrpt_day_format(day, &file);
	assert_true(file.length <= TLSRPT_DAY_FILE_MAX);
	read = tlsrpt_day_parse(buffer_view(&file));
	assert_non_null(read);
	tlsrpt_day_format(read, &again);
	assert_true(str_equal(buffer_view(&file), buffer_view(&again)));
	second = report_of(read);
	assert_true(str_equal(buffer_view(&report), buffer_view(&second)));
	tlsrpt_day_free(day);
	buffer_clear(&file);
	buffer_clear(&again);
	buffer_clear(&report);
	buffer_clear(&second);
	return read;
}

static struct tlsrpt_session failure_at(char host[30], size_t i)
{
	snprintf(host, 30, "mx%zu.a.test", i);
	return (struct tlsrpt_session){.domain = STR("a.test"),
				       .result = TLSRPT_CERTIFICATE_EXPIRED,
				       .host = str_from(host)};
}

/* Of a further one only its result is kept. */
static void failures_of_a_policy(void **state)
{
	struct tlsrpt_day *day = tlsrpt_day_new();
	char host[30];

	(void)state;
	for (size_t i = 0; i < TLSRPT_DAY_FAILURES_MAX + 3; i++) {
		struct tlsrpt_session session = failure_at(host, i);
		struct buffer report;

		tlsrpt_day_count(day, &session, STR(""), STR(""));
		report = report_of(day);
		assert_int_equal(count_in(buffer_view(&report), host),
				 i < TLSRPT_DAY_FAILURES_MAX ? 1 : 0);
		assert_int_equal(count_in(buffer_view(&report), "\"result-type\""),
				 i < TLSRPT_DAY_FAILURES_MAX ? i + 1 : TLSRPT_DAY_FAILURES_MAX + 1);
		assert_int_equal(tlsrpt_day_totals(day).failures, i + 1);
		buffer_clear(&report);
	}
	/* one that is known is counted as before */
	for (size_t i = 0; i < 2; i++) {
		struct tlsrpt_session session = failure_at(host, 0);

		tlsrpt_day_count(day, &session, STR(""), STR(""));
	}
	day = read_again(day);
	assert_int_equal(tlsrpt_day_totals(day).failures, TLSRPT_DAY_FAILURES_MAX + 5);
	tlsrpt_day_free(day);
}

static void policies_of_a_day(void **state)
{
	struct tlsrpt_day *day = tlsrpt_day_new();

	(void)state;
	for (size_t i = 0; i <= TLSRPT_DAY_POLICIES_MAX; i++)
		for (size_t times = 0; times < 2; times++) {
			const struct tlsrpt_session session = {.domain = STR("a.test"),
							       .policy = TLSRPT_STS};
			char text[40];

			snprintf(text, sizeof text, "version: STSv1\nmx: %zu", i);
			tlsrpt_day_count(day, &session, str_from(text), STR("mx.a.test"));
		}
	day = read_again(day);
	assert_int_equal(tlsrpt_day_totals(day).successes, 2 * TLSRPT_DAY_POLICIES_MAX);
	tlsrpt_day_free(day);
}

static size_t longest_run(struct str text, char of)
{
	size_t longest = 0, run = 0;

	for (size_t i = 0; i < text.length; i++) {
		run = text.data[i] == of ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	return longest;
}

static void texts_are_cut(void **state)
{
	static char many[TLSRPT_LINES_MAX + 2];

	(void)state;
	memset(many, 'q', sizeof many);
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		struct str word = str_slice(many, TLSRPT_WORD_MAX + beyond);
		const struct tlsrpt_session sessions[] = {
			{.result = TLSRPT_CERTIFICATE_EXPIRED, .host = word},
			{.result = TLSRPT_CERTIFICATE_EXPIRED, .greeting = word},
			{.result = TLSRPT_CERTIFICATE_EXPIRED, .server_address = word},
			{.result = TLSRPT_CERTIFICATE_EXPIRED, .own_address = word},
			{.result = TLSRPT_CERTIFICATE_EXPIRED,
			 .reason = str_slice(many, TLSRPT_REASON_MAX + beyond)},
			{.policy = TLSRPT_STS},
		};

		for (size_t i = 0; i < COUNT_OF(sessions); i++) {
			size_t bound = i == 4   ? TLSRPT_REASON_MAX
				       : i == 5 ? TLSRPT_LINES_MAX
						: TLSRPT_WORD_MAX;
			struct tlsrpt_day *day = tlsrpt_day_new();
			struct buffer report;

			tlsrpt_day_count(day, &sessions[i],
					 i == 5 ? str_slice(many, TLSRPT_LINES_MAX + beyond)
						: STR(""),
					 STR(""));
			day = read_again(day);
			report = report_of(day);
			assert_int_equal(longest_run(buffer_view(&report), 'q'), bound);
			buffer_clear(&report);
			tlsrpt_day_free(day);
		}
	}
}

/* Empty ones are left out, wherever they are; what cannot be printed is a question mark. */
static void items_are_told_apart(void **state)
{
	static const struct {
		const char *text, *array;
	} rows[] = {
		{"a", "\"policy-string\":[\"a\"]"},
		{"a\nb", "\"policy-string\":[\"a\",\"b\"]"},
		{"a\nb\n", "\"policy-string\":[\"a\",\"b\"]"},
		{"\n\na\n\n\nb\n\n", "\"policy-string\":[\"a\",\"b\"]"},
		{"a\tb", "\"policy-string\":[\"a?b\"]"},
		{"a b", "\"policy-string\":[\"a b\"]"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct tlsrpt_session session = {.domain = STR("a.test"),
						       .policy = TLSRPT_STS};
		struct tlsrpt_day *day = tlsrpt_day_new();
		struct buffer report;

		tlsrpt_day_count(day, &session, str_from(rows[i].text),
				 STR(" mx.a.test  mx2.a.test "));
		day = read_again(day);
		report = report_of(day);
		if (count_in(buffer_view(&report), rows[i].array) != 1)
			fail_msg("%zu: " STR_FORMAT, i, STR_ARGUMENTS(buffer_view(&report)));
		assert_int_equal(count_in(buffer_view(&report), "[\"mx.a.test\",\"mx2.a.test\"]"),
				 1);
		buffer_clear(&report);
		tlsrpt_day_free(day);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failures_of_a_policy),
		cmocka_unit_test(policies_of_a_day),
		cmocka_unit_test(texts_are_cut),
		cmocka_unit_test(items_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
