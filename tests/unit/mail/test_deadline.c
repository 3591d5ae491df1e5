// SPDX-License-Identifier: ISC
#include "mail/deadline.h"
#include "test.h"

static const int64_t NOON_US = INT64_C(1795163591) * SECOND_US;

static void by_is_read(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
		enum mail_deadline_mode mode; /* NONE: malformed */
		bool is_traced;
	} cases[] = {
		{"600;R", 600, MAIL_DEADLINE_RETURN},
		{"600;r", 600, MAIL_DEADLINE_RETURN},
		{"600;NT", 600, MAIL_DEADLINE_NOTIFY, true},
		{"600;nt", 600, MAIL_DEADLINE_NOTIFY, true},
		{"+600;RT", 600, MAIL_DEADLINE_RETURN, true},
		{"-600;N", -600, MAIL_DEADLINE_NOTIFY},
		{"0;N", 0, MAIL_DEADLINE_NOTIFY},
		{"-999999999;N", -999999999, MAIL_DEADLINE_NOTIFY},
		{"+999999999;R", 999999999, MAIL_DEADLINE_RETURN},
		{"1000000000;R", 0, MAIL_DEADLINE_NONE},
		{"0000000001;R", 0, MAIL_DEADLINE_NONE},
		{"", 0, MAIL_DEADLINE_NONE},
		{"600", 0, MAIL_DEADLINE_NONE},
		{"600;", 0, MAIL_DEADLINE_NONE},
		{"600;T", 0, MAIL_DEADLINE_NONE},
		{"600;TR", 0, MAIL_DEADLINE_NONE},
		{"600;RN", 0, MAIL_DEADLINE_NONE},
		{"600;RTT", 0, MAIL_DEADLINE_NONE},
		{"600;R;T", 0, MAIL_DEADLINE_NONE},
		{"600;R ", 0, MAIL_DEADLINE_NONE},
		{";R", 0, MAIL_DEADLINE_NONE},
		{"-;N", 0, MAIL_DEADLINE_NONE},
		{"--1;N", 0, MAIL_DEADLINE_NONE},
		{"+-1;N", 0, MAIL_DEADLINE_NONE},
		{"1.5;N", 0, MAIL_DEADLINE_NONE},
		{" 1;N", 0, MAIL_DEADLINE_NONE},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_deadline deadline = {0};
		int64_t seconds = 0;
		bool is_read = mail_deadline_parse_by(str_from(cases[i].text), &seconds, &deadline);

		if (is_read != (cases[i].mode != MAIL_DEADLINE_NONE))
			fail_msg("%s", cases[i].text);
		assert_int_equal(deadline.mode, cases[i].mode);
		assert_int_equal(deadline.is_traced, cases[i].is_traced);
		if (is_read)
			assert_int_equal(seconds, cases[i].seconds);
	}
}

static void it_is_a_whole_second_that_is_not_too_early(void **state)
{
	static const struct {
		int64_t seconds;
		int64_t now_us;
		int64_t at_us;
		bool is_told;
	} cases[] = {
		{10, 7 * SECOND_US, 17 * SECOND_US, false},
		{10, 7 * SECOND_US + 1, 18 * SECOND_US, false},
		{0, 7 * SECOND_US, 7 * SECOND_US, true},
		{-3, 7 * SECOND_US, 4 * SECOND_US, true},
		{-9, 7 * SECOND_US, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_deadline deadline = {.mode = MAIL_DEADLINE_NOTIFY};

		mail_deadline_set(&deadline, cases[i].seconds, cases[i].now_us);
		assert_int_equal(deadline.at_us, cases[i].at_us);
		assert_int_equal(deadline.is_told, cases[i].is_told);
		assert_true(mail_deadline_has_passed(&deadline, cases[i].at_us));
		assert_false(mail_deadline_has_passed(&deadline, cases[i].at_us - 1));
		deadline.mode = MAIL_DEADLINE_NONE;
		assert_false(mail_deadline_has_passed(&deadline, cases[i].at_us));
	}
}

/* A clock that was put back gives nobody more time. */
static void what_is_left_is_whole_seconds(void **state)
{
	const struct mail_deadline deadline = {.mode = MAIL_DEADLINE_NOTIFY, .at_us = NOON_US};
	static const struct {
		int64_t before_us;
		int64_t left;
	} cases[] = {
		{60 * SECOND_US, 60}, {60 * SECOND_US - 1, 59}, {1, 0},         {0, 0}, {-1, -1},
		{-SECOND_US, -1},     {-SECOND_US - 1, -2},     {DAY_US, 3600},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(mail_deadline_left(&deadline, NOON_US - HOUR_US,
						    NOON_US - cases[i].before_us),
				 cases[i].left);
	assert_int_equal(mail_deadline_left(&deadline, 0, 0), 999999999);
	assert_int_equal(mail_deadline_left(&(struct mail_deadline){0}, 0, NOON_US), -999999999);
}

static void it_survives_being_written(void **state)
{
	static const char *const texts[] = {"2026-11-20T08:33:11Z;r", "2026-11-20T08:33:11Z;n",
					    "2026-11-20T08:33:11Z;rt", "2026-11-20T08:33:11Z;nd",
					    "1970-01-01T00:00:00Z;ntd"};
	static const char *const bad[] = {
		"",
		"2026-11-20T08:33:11Z",
		"2026-11-20T08:33:11Z;",
		"2026-11-20T08:33:11Z;t",
		"2026-11-20T08:33:11Z;dn",
		"2026-11-20T08:33:11Z;nx",
		"2026-11-20T08:33:11.500000Z;n",
		"x;n",
	};
	struct mail_deadline deadline;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		char text[MAIL_DEADLINE_SIZE];

		assert_true(mail_deadline_parse(str_from(texts[i]), &deadline));
		mail_deadline_format(&deadline, text);
		assert_string_equal(text, texts[i]);
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(mail_deadline_parse(str_from(bad[i]), &deadline));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_is_read),
		cmocka_unit_test(it_is_a_whole_second_that_is_not_too_early),
		cmocka_unit_test(what_is_left_is_whole_seconds),
		cmocka_unit_test(it_survives_being_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
