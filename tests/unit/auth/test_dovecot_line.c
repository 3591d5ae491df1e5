// SPDX-License-Identifier: ISC
/* Lines of Dovecot's authentication service, good ones and such that cannot be. */
#include "auth/server/dovecot/line.h"
#include "test.h"

static void lines_are_understood(void **state)
{
	static const struct {
		struct str text;
		enum dovecot_command command;
		unsigned number; /* minor version, or the request's */
		struct str word; /* mechanism, message, or user */
	} cases[] = {
		{STR("VERSION\t1\t2"), DOVECOT_VERSION, 2, STR("")},
		{STR("MECH\tPLAIN\tplaintext"), DOVECOT_MECH, 0, STR("PLAIN")},
		{STR("DONE"), DOVECOT_DONE, 0, STR("")},
		{STR("SPID\t77"), DOVECOT_OTHER, 0, STR("")},
		{STR("COOKIE\t0011"), DOVECOT_OTHER, 0, STR("")},
		{STR(""), DOVECOT_OTHER, 0, STR("")},
		{STR("CONT\t7\t"), DOVECOT_CONT, 7, STR("")},
		{STR("CONT\t7\tUGFzc3dvcmQ6"), DOVECOT_CONT, 7, STR("Password:")},
		{STR("OK\t8\tuser=ann@example.org\tlater=x"), DOVECOT_OK, 8,
		 STR("ann@example.org")},
		{STR("OK\t8\tuser=a\001tb\0011\0010"), DOVECOT_OK, 8, STR("a\tb\1\0")},
		{STR("FAIL\t4294967295"), DOVECOT_FAIL, 4294967295u, STR("")},
		{STR("FAIL\t9\tuser=bob\tcode=authz"), DOVECOT_FAIL, 9, STR("bob")},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct dovecot_line line;
		struct str word;

		assert_true(dovecot_line_parse(cases[i].text, &line));
		assert_int_equal(line.command, cases[i].command);
		assert_int_equal(line.command == DOVECOT_VERSION ? line.minor : line.id,
				 cases[i].number);
		word = line.command == DOVECOT_MECH   ? line.mechanism
		       : line.command == DOVECOT_CONT ? buffer_view(&line.message)
						      : buffer_view(&line.user);
		assert_true(str_equal(word, cases[i].word));
		dovecot_line_clear(&line);
	}
}

static void failures_may_be_temporary(void **state)
{
	static const struct {
		const char *text;
		bool is_temporary;
	} cases[] = {{"FAIL\t1\tuser=a\ttemp", true},
		     {"FAIL\t1\tcode=temp_fail\tuser=a", true},
		     {"FAIL\t1\tuser=temp", false},
		     {"FAIL\t1\treason=temp", false}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct dovecot_line line;

		assert_true(dovecot_line_parse(str_from(cases[i].text), &line));
		assert_int_equal(line.is_temporary, cases[i].is_temporary);
		dovecot_line_clear(&line);
	}
}

static void a_right_password_is_not_always_enough(void **state)
{
	static const struct {
		const char *text;
		bool is_barred, is_elsewhere;
	} cases[] = {{"OK\t1\tuser=a", false, false},
		     {"OK\t1\tuser=a\tnologin", true, false},
		     {"OK\t1\tnologin=y\tuser=a\treason=later", true, false},
		     {"OK\t1\tuser=nologin\tnologins", false, false},
		     {"OK\t1\tuser=a\tnologin\tproxy\thost=b", true, true},
		     {"OK\t1\tuser=a\tproxy_maybe=y", false, true},
		     {"OK\t1\tuser=a\tnologin\thost=b", true, true}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct dovecot_line line;

		assert_true(dovecot_line_parse(str_from(cases[i].text), &line));
		assert_int_equal(line.is_barred, cases[i].is_barred);
		assert_int_equal(line.is_elsewhere, cases[i].is_elsewhere);
		dovecot_line_clear(&line);
	}
}

static void mechanisms_that_nobody_may_use(void **state)
{
	struct dovecot_line line;

	(void)state;
	assert_true(dovecot_line_parse(STR("MECH\tANONYMOUS\tanonymous"), &line));
	assert_true(line.is_unusable);
	assert_true(dovecot_line_parse(STR("MECH\tX\tprivate\tplaintext"), &line));
	assert_true(line.is_unusable && line.is_plaintext);
	assert_true(dovecot_line_parse(STR("MECH\tSCRAM-SHA-1\tmutual-auth"), &line));
	assert_false(line.is_unusable || line.is_plaintext);
}

static void what_cannot_be_is_refused(void **state)
{
	static const char *const wrong[] = {"VERSION",
					    "VERSION\t1",
					    "VERSION\tx\t1",
					    "MECH",
					    "MECH\t",
					    "OK",
					    "OK\tx\tuser=a",
					    "OK\t1",
					    "OK\t1\tuser=",
					    "OK\t-1\tuser=a",
					    "OK\t1\tuser=a\1",
					    "OK\t1\tuser=\1z",
					    "OK\t4294967296\tuser=a",
					    "CONT\t1",
					    "CONT\t1\t!",
					    "CONT\t1\tZg",
					    "OK\t1\tuser=a\tresp=Zg=",
					    "FAIL",
					    "FAIL\t"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct dovecot_line line;

		if (dovecot_line_parse(str_from(wrong[i]), &line))
			fail_msg("\"%s\" was taken", wrong[i]);
		dovecot_line_clear(&line);
	}
}

static void what_we_say_is_escaped(void **state)
{
	struct buffer out = {0};

	(void)state;
	dovecot_line_append(&out, "cert_username", STR("a\tb\nresp=\1\r\0"));
	assert_true(str_equal(buffer_view(&out),
			      STR("\tcert_username=a\001tb\001nresp=\0011\001r\0010")));
	buffer_clear(&out);
}

/* What it says last counts, and nothing of what it said before. */
static void what_is_said_last_counts(void **state)
{
	struct dovecot_line line;

	(void)state;
	assert_true(
		dovecot_line_parse(STR("OK\t1\tresp=Ynll\tuser=joe\tresp=aGk=\tuser=ann"), &line));
	assert_true(str_equal(buffer_view(&line.user), STR("ann")));
	assert_true(str_equal(buffer_view(&line.message), STR("hi")));
	dovecot_line_clear(&line);
	assert_false(dovecot_line_parse(STR("OK\t1\tuser=joe\tuser="), &line));
	dovecot_line_clear(&line);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_understood),
		cmocka_unit_test(failures_may_be_temporary),
		cmocka_unit_test(a_right_password_is_not_always_enough),
		cmocka_unit_test(mechanisms_that_nobody_may_use),
		cmocka_unit_test(what_cannot_be_is_refused),
		cmocka_unit_test(what_we_say_is_escaped),
		cmocka_unit_test(what_is_said_last_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
