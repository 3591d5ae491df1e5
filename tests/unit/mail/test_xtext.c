// SPDX-License-Identifier: ISC
/* The encoding of parameters, and ORCPT as we write it, which our server reads, too. */
#include "mail/text/xtext.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static void each_byte(void **state)
{
	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		struct buffer out CLEANUP(buffer_clear) = {0};
		char text = (char)byte, coded[4];
		bool is_literal = byte > ' ' && byte <= '~' && byte != '+' && byte != '=';

		mail_xtext_append(&out, str_slice(&text, 1));
		snprintf(coded, sizeof coded, "+%02X", byte);
		assert_true(str_equal(buffer_view(&out),
				      is_literal ? str_slice(&text, 1) : str_from(coded)));
		/* what it may mean is printable ASCII */
		assert_int_equal(mail_xtext_is_valid(buffer_view(&out)),
				 byte >= ' ' && byte <= '~');
		assert_int_equal(mail_xtext_is_valid(str_slice(&text, 1)), is_literal);
	}
}

static void what_is_no_xtext(void **state)
{
	static const char *const texts[] = {"",    "+",   "+4",  "a+4", "+4g", "+g4",
					    "+-1", "+ 1", "+7F", "+0A", "a b"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		assert_false(mail_xtext_is_valid(str_from(texts[i])));
	assert_true(mail_xtext_is_valid(STR("+2B+2b+20a~!")));
}

static void original_recipients(void **state)
{
	static const struct {
		const char *address, *value;
	} cases[] = {
		{"bob@a.test", "rfc822;bob@a.test"},
		{"b+x=y@a.test", "rfc822;b+2Bx+3Dy@a.test"},
		{"\"a b\"@a.test", "rfc822;\"a+20b\"@a.test"},
		{"\"a\\\"b\"@a.test", "rfc822;\"a\\\"b\"@a.test"},
		{"j\xc3\xb6rg@a.test", "utf-8;j\xc3\xb6rg@a.test"},
		{"\"j\xc3\xb6 +=\\\\\"@a.test",
		 "utf-8;\"j\xc3\xb6\\x{20}\\x{2B}\\x{3D}\\x{5C}\\x{5C}\"@a.test"},
		{"a@\xf0\x9f\x93\xa7.test", "utf-8;a@\xf0\x9f\x93\xa7.test"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};

		mail_orcpt_append(&out, str_from(cases[i].address));
		assert_true(str_equal(buffer_view(&out), str_from(cases[i].value)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte),
		cmocka_unit_test(what_is_no_xtext),
		cmocka_unit_test(original_recipients),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
