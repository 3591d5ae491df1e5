// SPDX-License-Identifier: ISC
/* Each text of a few bytes, against a second, plain reading of what it may be. */
#include "mail/envelope.h"
#include "mail/localpart.h"
#include "mail/mailbox/quota.h"
#include "mail/verdict.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Calls CHECK with each text of up to LONGEST bytes of BYTES, in memory that ends where it does. */
static void each_text(const char *bytes, size_t longest, void (*check)(struct str text))
{
	size_t kinds = strlen(bytes);
	char *memory = malloc(longest);

	assert_non_null(memory);
	for (size_t length = 0; length <= longest; length++) {
		char *text = memory + longest - length;
		size_t count = 1;

		for (size_t i = 0; i < length; i++)
			count *= kinds;
		for (size_t number = 0; number < count; number++) {
			size_t rest = number;

			for (char *c = text; c < memory + longest; c++, rest /= kinds)
				*c = bytes[rest % kinds];
			check(str_slice(text, length));
		}
	}
	free(memory);
}

static bool is_digit(char c)
{
	return strchr("0123456789", c) != NULL && c != '\0';
}

/* --- statuses: RFC 3463 section 2 --- */

static bool is_status(struct str text)
{
	size_t dots = 0, digits = 0;

	if (text.length < 2 || strchr("245", text.data[0]) == NULL || text.data[1] != '.')
		return false;
	for (size_t i = 2; i < text.length; i++) {
		if (text.data[i] == '.') {
			if (digits == 0 || ++dots > 1)
				return false;
			digits = 0;
		} else if (!is_digit(text.data[i]) || ++digits > 3) {
			return false;
		}
	}
	return dots == 1 && digits > 0;
}

static void check_status(struct str text)
{
	if (mail_status_is_valid(text) != is_status(text))
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
}

static void each_status(void **state)
{
	(void)state;
	each_text("245.09/:", 6, check_status);
	each_text("3", 1, check_status);
	check_status(STR("2.123.456"));
	check_status(STR("2.1234.5"));
	check_status(STR("2.123.4567"));
}

/* What the last attempt said, of a report that it was too late for more; otherwise all. */
static void what_the_last_attempt_said(void **state)
{
	static const struct {
		const char *status, *text, *last;
	} cases[] = {
		{"5.4.7", "not delivered in time; the last attempt: no", "no"},
		{"5.4.7", "not delivered in time", "not delivered in time"},
		{"5.4.7", "in time; the last attempt: no", "in time; the last attempt: no"},
		{"5.1.1", "not delivered; the last attempt: no",
		 "not delivered; the last attempt: no"},
		{"5.4.7", "not delivered ; the last attempt: ", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (!str_equal(
			    mail_last_attempt(str_from(cases[i].status), str_from(cases[i].text)),
			    str_from(cases[i].last)))
			fail_msg("%s", cases[i].text);
}

/* --- priorities --- */

static void check_priority(struct str text)
{
	char copy[8] = "";
	int priority = 77, wanted = 0;
	bool is_one;

	memcpy(copy, text.data, text.length);
	wanted = atoi(copy);
	is_one = (text.length == 1 && is_digit(copy[0])) ||
		 (text.length == 2 && copy[0] == '-' && is_digit(copy[1]) && copy[1] != '0');
	if (mail_priority_parse(text, &priority) != is_one || priority != (is_one ? wanted : 77))
		fail_msg("\"" STR_FORMAT "\": %d", STR_ARGUMENTS(text), priority);
}

static void each_priority(void **state)
{
	(void)state;
	each_text("-+0189/: ", 4, check_priority);
}

/* --- quotas --- */

/* A number, and K, M, G or T in either case: false if it is none. */
static bool read_bytes(const char *text, uint64_t *out)
{
	static const char units[] = "KMGTkmgt";
	const char *unit;
	char *end;

	if (!is_digit(text[0]))
		return false;
	*out = strtoull(text, &end, 10);
	unit = *end != '\0' ? strchr(units, *end) : NULL;
	if (unit != NULL) {
		*out <<= 10 * ((unit - units) % 4 + 1);
		end++;
	}
	return *end == '\0';
}

static void check_quota(struct str text)
{
	char copy[8] = "";
	char *comma, *end = NULL;
	struct mail_quota quota;
	uint64_t bytes = 0, messages = 0;
	bool is_one;

	memcpy(copy, text.data, text.length);
	comma = strchr(copy, ',');
	if (comma != NULL) {
		*comma++ = '\0';
		messages = strtoull(comma, &end, 10);
	}
	is_one = read_bytes(copy, &bytes) && (comma == NULL || (is_digit(*comma) && *end == '\0'));
	if ((mail_quota_parse(text, &quota) == 0) != is_one ||
	    (is_one && (quota.bytes != bytes || quota.messages != messages)))
		fail_msg("\"" STR_FORMAT "\"", STR_ARGUMENTS(text));
}

static void each_quota(void **state)
{
	static const struct {
		const char *text, *normal; /* NULL: it is none */
	} cases[] = {
		{"none", "none"},
		{"0", "none"},
		{"0,0", "none"},
		{"1024", "1K"},
		{"1023", "1023"},
		{"2048k,7", "2M,7"},
		{"0,5", "0,5"},
		{"1T", "1T"},
		{"1024T", "1024T"},
		{"16777215T", "16777215T"},
		{"16777216T", NULL}, /* 2^64 */
		{"18446744073709551615", "18446744073709551615"},
		{"18446744073709551616", NULL},
		{"1,18446744073709551616", NULL},
	};

	(void)state;
	each_text("01Kt,x", 6, check_quota);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		int result = mail_quota_normalize(str_from(cases[i].text), &out);

		assert_int_equal(result, cases[i].normal != NULL ? 0 : -EINVAL);
		if (!str_equal(buffer_view(&out),
			       str_from(cases[i].normal != NULL ? cases[i].normal : "")))
			fail_msg("%s: " STR_FORMAT, cases[i].text,
				 STR_ARGUMENTS(buffer_view(&out)));
	}
}

/* --- local parts --- */

static void users_and_tags(void **state)
{
	static const struct {
		const char *local, *user, *tag;
	} cases[] = {
		{"ann", "ann", ""},
		{"ann+x", "ann", "x"},
		{"a+x", "a", "x"},
		{"+x", "+x", ""},
		{"a+", "a", ""},
		{"a+b+c", "a", "b+c"},
		{"++x", "++x", ""},
		{"Ann+Box", "ann", "Box"},
		{"\"ann\\+x\"", "ann+x", ""},
		{"\"ann\\+x+y\"", "ann+x", "y"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer tag CLEANUP(buffer_clear) = {0};
		struct mail_localpart local;
		assert_int_equal(mail_localpart_parse(str_from(cases[i].local), &local), 0);
		mail_localpart_tag(str_from(cases[i].local), &tag);
		if (!str_equal(mail_localpart_user(&local), str_from(cases[i].user)) ||
		    !str_equal(buffer_view(&tag), str_from(cases[i].tag)))
			fail_msg("%s: user " STR_FORMAT ", tag " STR_FORMAT, cases[i].local,
				 STR_ARGUMENTS(mail_localpart_user(&local)),
				 STR_ARGUMENTS(buffer_view(&tag)));
	}
}

/* What is not within two quotes is no quoted string; a backslash before the last quote is one. */
static void unquoted_local_parts(void **state)
{
	static const struct {
		const char *local, *text;
	} cases[] = {{"", ""},         {"\"", "\""},       {"\"\"", ""},     {"\"a", ""},
		     {"\"a\"", "a"},   {"a\"b", "a\"b"},   {"\"\\\"", "\\"}, {"\"\\\\\"", "\\"},
		     {"\"\\a\"", "a"}, {"\"a\\b\"", "ab"}, {"a\\b", "a\\b"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};

		mail_local_unquote(str_from(cases[i].local), &out);
		if (!str_equal(buffer_view(&out), str_from(cases[i].text)))
			fail_msg("%s: \"" STR_FORMAT "\"", cases[i].local,
				 STR_ARGUMENTS(buffer_view(&out)));
	}
}

/* --- envelopes --- */

/* Some numbers are missing, as of recipients that were done with. */
static void each_recipient_is_found(void **state)
{
	(void)state;
	for (size_t count = 0; count <= 20; count++) {
		struct mail_envelope *envelope = mail_envelope_new();

		for (uint32_t i = 0; i < count; i++) {
			struct mail_recipient *recipient = mail_envelope_add(envelope, STR("a@b"));

			assert_int_equal(recipient->number,
					 i == 0 ? 1 : envelope->recipients[i - 1].number + 1);
			recipient->number += i % 3;
		}
		for (uint32_t number = 0; number < 50; number++) {
			const struct mail_recipient *wanted = NULL;

			for (size_t i = 0; i < count; i++)
				if (envelope->recipients[i].number == number)
					wanted = &envelope->recipients[i];
			assert_ptr_equal(mail_envelope_find(envelope, number), wanted);
		}
		mail_envelope_free(envelope);
	}
	mail_envelope_free(NULL);
}

static void the_later_time_is_the_start(void **state)
{
	struct mail_envelope envelope = {.id.born_us = 5};

	(void)state;
	for (envelope.release_us = 0; envelope.release_us < 8; envelope.release_us++)
		assert_int_equal(mail_envelope_start_us(&envelope),
				 envelope.release_us > 5 ? envelope.release_us : 5);
}

static void stages_have_names(void **state)
{
	enum mail_stage stage = MAIL_STAGE_COUNT;

	(void)state;
	assert_string_equal(mail_stage_name(MAIL_STAGE_SUBMIT), "submit");
	assert_true(mail_stage_parse(STR("arrive"), &stage) && stage == MAIL_STAGE_ARRIVE);
	assert_true(mail_stage_parse(STR("submit"), &stage) && stage == MAIL_STAGE_SUBMIT);
	assert_false(mail_stage_parse(STR("submi"), &stage) || mail_stage_parse(STR(""), &stage));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_status),
		cmocka_unit_test(what_the_last_attempt_said),
		cmocka_unit_test(each_priority),
		cmocka_unit_test(each_quota),
		cmocka_unit_test(users_and_tags),
		cmocka_unit_test(unquoted_local_parts),
		cmocka_unit_test(each_recipient_is_found),
		cmocka_unit_test(the_later_time_is_the_start),
		cmocka_unit_test(stages_have_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
