// SPDX-License-Identifier: ISC
/* Each character in local parts, in text for people and for headers, and domains at the bounds of
 * what a library sees of them. */
#include "base/buffer.h"
#include "mail/address.h"
#include "mail/text/text.h"
#include "mail/unicode.h"
#include "mail/verdict.h"
#include "test.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	uint32_t first, last;
	bool ends_line; /* or is a control character, for which no library is asked */
} HARMFUL[] = {{0, 0x1f, true},
	       {0x7f, 0x9f, true},
	       {0x2028, 0x2029, true},
	       {0x202a, 0x202e, false},
	       {0x2066, 0x2069, false}};

static size_t utf8_of(uint32_t c, char out[4])
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	out[0] = (char)(0xe0 | c >> 12);
	out[1] = (char)(0x80 | (c >> 6 & 63));
	out[2] = (char)(0x80 | (c & 63));
	return 3;
}

/* As a terminal, or a header, gets it: 'x', the character or one '?', 'y'. */
static void check_shown(uint32_t c, const char *text, size_t length, bool is_harmful)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	char wanted[8] = "x", plain[16] = "x", copy[8] = "";
	struct mail_verdict verdict;

	memcpy(copy, text, length);
	if (is_harmful)
		strcpy(wanted + 1, "?y");
	else
		memcpy(wanted + 1, text + 1, length - 1);
	mail_text_append(&out, str_slice(text, length), MAIL_TEXT_8BIT);
	if (!str_equal(buffer_view(&out), str_from(wanted)))
		fail_msg("U+%04X is shown as " STR_FORMAT, c, STR_ARGUMENTS(buffer_view(&out)));
	buffer_reset(&out);
	for (size_t i = 1; i + 1 < length; i++)
		plain[i] = is_harmful || c > 0x7e ? '?' : text[i];
	plain[length - 1] = 'y';
	mail_text_append(&out, str_slice(text, length), MAIL_TEXT_ASCII);
	if (!str_equal(buffer_view(&out), str_from(plain)))
		fail_msg("U+%04X in ASCII is " STR_FORMAT, c, STR_ARGUMENTS(buffer_view(&out)));
	if (c == 0)
		return;
	mail_verdict_set(&verdict, "2.0.0", "%s", copy);
	if (strcmp(verdict.text, is_harmful ? plain : wanted) != 0)
		fail_msg("U+%04X in a verdict is %s", c, verdict.text);
}

static void check_local(uint32_t c, const char *text, size_t length, bool is_refused)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	int error = mail_unicode_local(str_slice(text, length), &out);

	if (is_refused && (error != -EINVAL || out.length > 0))
		fail_msg("U+%04X may be in a local part", c);
	if (!is_refused && c >= 0x20 && c < 0x500 && error != 0)
		fail_msg("U+%04X may not be in a local part", c);
}

static void each_character(void **state)
{
	(void)state;
	for (uint32_t c = 0; c < 0x2100; c++) {
		char text[6] = "x";
		size_t length = 1 + utf8_of(c, text + 1);
		bool is_harmful = false, is_refused = false;

		text[length++] = 'y';
		for (size_t i = 0; i < COUNT_OF(HARMFUL); i++) {
			bool is_in = c >= HARMFUL[i].first && c <= HARMFUL[i].last;

			is_harmful = is_harmful || is_in;
			is_refused = is_refused || (is_in && HARMFUL[i].ends_line);
		}
		check_shown(c, text, length, is_harmful);
		check_local(c, text, length, is_refused);
	}
}

/* What is no UTF-8 passes bytewise, without those of C1. */
static void bytes_that_are_no_characters(void **state)
{
	(void)state;
	for (unsigned byte = 0x80; byte < 256; byte++) {
		char text[] = {'x', (char)byte, 'y', '\0'};
		struct buffer out CLEANUP(buffer_clear) = {0};
		struct mail_verdict verdict;

		mail_text_append(&out, str_from(text), MAIL_TEXT_8BIT);
		assert_true(
			str_equal(buffer_view(&out), byte < 0xa0 ? STR("x?y") : str_from(text)));
		mail_verdict_set(&verdict, "2.0.0", "%s", text);
		assert_string_equal(verdict.text, "x?y");
		assert_int_equal(mail_unicode_local(str_from(text), &out), -EINVAL);
	}
}

static void lines_of_text(void **state)
{
	static const char *const texts[][2] = {
		{"", ""},         {"a", "a"},         {"a\n", "a\n"},    {"\n", "\n"},
		{"a\nb", "a\nb"}, {"\n\nb", "\n\nb"}, {"a\r\n", "a?\n"}, {"\x1b\n\t", "?\n?"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};

		mail_text_append_lines(&out, str_from(texts[i][0]));
		if (!str_equal(buffer_view(&out), str_from(texts[i][1])))
			fail_msg("%zu: " STR_FORMAT, i, STR_ARGUMENTS(buffer_view(&out)));
	}
}

/* The longest statuses and texts of a verdict, and one more. */
static void verdicts_are_cut(void **state)
{
	static char text[MAIL_TEXT_SIZE + 8];

	(void)state;
	for (size_t length = MAIL_TEXT_SIZE - 4; length < MAIL_TEXT_SIZE + 4; length++)
		for (size_t status = 9; status <= MAIL_STATUS_SIZE + 1; status++) {
			struct mail_verdict verdict;
			char digits[] = "5.1111111111111";
			size_t wanted = length < MAIL_TEXT_SIZE ? length : MAIL_TEXT_SIZE - 1;

			digits[status] = '\0';
			memset(text, 'x', length);
			text[length] = '\0';
			mail_verdict_set(&verdict, digits, "%s", text);
			assert_int_equal(strlen(verdict.text), wanted);
			assert_int_equal(strlen(verdict.status),
					 status < MAIL_STATUS_SIZE ? status : MAIL_STATUS_SIZE - 1);
			assert_int_equal(verdict.class, MAIL_FAIL);
		}
}

/* --- domains --- */

static void check_domain(const char *name, size_t length, const char *wanted)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	int error = mail_unicode_domain(str_slice(name, length), &out);

	if (error != (wanted != NULL ? 0 : -EINVAL) ||
	    !str_equal(buffer_view(&out), str_from(wanted != NULL ? wanted : "")))
		fail_msg("%.20s: %d " STR_FORMAT, name, error, STR_ARGUMENTS(buffer_view(&out)));
}

static void domains_that_have_a_form(void **state)
{
	static const char *const domains[][2] = {
		{"a.test", "a.test"},
		{"A.Test", "a.test"},
		{"b\xc3\xbc.test", "xn--b-eha.test"},
		{"B\xc3\x9c.test", "xn--b-eha.test"},
		{"\xc3\x9f.test", "xn--zca.test"},
		{"xn--b-eha.test", "xn--b-eha.test"},
		{"XN--B-EHA.test", "xn--b-eha.test"},
		{"a\xe3\x80\x82test", "a.test"},
		{"\xc3\xbc..test", NULL},
		{"\xc3\xbc test", NULL},
		{"\xff.test", NULL},
		{"\xe2\x98\xba\xef\xb8\x8e\xe2\x80\xae.test", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(domains); i++)
		check_domain(domains[i][0], strlen(domains[i][0]), domains[i][1]);
	check_domain("a\0b", 3, NULL);
	check_domain("\xc3\xbc\0b", 4, NULL);
}

/* In memory that ends where the name does. Names in ASCII need no library. */
static void domains_of_any_length(void **state)
{
	(void)state;
	for (size_t length = 1; length <= 1100; length++) {
		char *name = malloc(length);
		struct buffer shown CLEANUP(buffer_clear) = {0};
		struct mail_domain form;
		bool is_form;

		assert_non_null(name);
		for (size_t i = 0; i < length; i++)
			name[i] = i % 50 == 49 ? '.' : 'A';
		is_form = mail_domain_form(str_slice(name, length), &form);
		assert_int_equal(is_form, length <= MAIL_DOMAIN_MAX);
		assert_int_equal(form.length, is_form ? length : MAIL_DOMAIN_MAX);
		assert_int_equal(strlen(form.text), form.length);
		assert_true(form.text[0] == 'a' && (form.length < 50 || form.text[49] == '.'));
		mail_unicode_display(str_slice(name, length), &shown);
		assert_int_equal(shown.length, length);
		name[length - 1] = '\xff';
		assert_false(mail_domain_form(str_slice(name, length), &form));
		free(name);
	}
}

static void domains_for_people(void **state)
{
	static const char *const domains[][2] = {
		{"a.test", "a.test"},
		{"xn--b-eha.test", "b\xc3\xbc.test"},
		{"xn--b-eha.xn--b-eha", "b\xc3\xbc.b\xc3\xbc"},
		{"xn--x.test", "xn--x.test"},           /* nothing is encoded so */
		{"xn--ab-qa.test", "xn--ab-qa.test"},   /* U+0085 */
		{"xn--ab-x3t.test", "xn--ab-x3t.test"}, /* U+2028 */
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(domains); i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};

		mail_unicode_display(str_from(domains[i][0]), &out);
		if (!str_equal(buffer_view(&out), str_from(domains[i][1])))
			fail_msg("%s: " STR_FORMAT, domains[i][0],
				 STR_ARGUMENTS(buffer_view(&out)));
	}
}

/* --- addresses in ASCII --- */

/* As RFC 6533 writes them; what stands beyond a domain that has no form is as the local part. */
static void addresses_in_ascii(void **state)
{
	static const struct {
		const char *address, *form;
	} forms[] = {
		{"a@b.test", "a@b.test"},
		{"A@B.test", "A@B.test"},
		{"a@b\xc3\xbc.test", "a@xn--b-eha.test"},
		{"\xc3\xbc@B.test", "\\x{FC}@B.test"},
		{"\xc3\xbc", "\\x{FC}"},
		{"\"\xc3\xbc@x\"@b\xc3\xbc.test", "\"\\x{FC}@x\"@xn--b-eha.test"},
		{"a@\xc3\xbc..test", "a@\\x{FC}..test"},
		{"\xff\xc3\xbc@\xff.test", "\\x{FF}\\x{FC}@\\x{FF}.test"},
		{"\xf0\x9f\x93\xa7@a", "\\x{1F4E7}@a"},
		{"@b\xc3\xbc.test", "@xn--b-eha.test"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct str address = str_from(forms[i].address), wanted = str_from(forms[i].form);
		struct buffer out CLEANUP(buffer_clear) = {0};

		mail_unicode_address(address, &out);
		if (!str_equal(buffer_view(&out), wanted))
			fail_msg("%s: " STR_FORMAT, forms[i].address,
				 STR_ARGUMENTS(buffer_view(&out)));
		for (size_t k = 0; k < COUNT_OF(forms); k++) {
			struct str other = str_from(forms[k].form);

			assert_int_equal(mail_unicode_is_address(other, address),
					 str_equal_nocase(other, wanted) ||
						 str_equal_nocase(other, address));
		}
		buffer_reset(&out);
		buffer_append_str(&out, wanted);
		for (char *c = buffer_data(&out); c < buffer_data(&out) + out.length; c++)
			*c = (char)(*c >= 'a' && *c <= 'z' ? *c - 32 : *c);
		assert_true(mail_unicode_is_address(buffer_view(&out), address));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_character),
		cmocka_unit_test(bytes_that_are_no_characters),
		cmocka_unit_test(lines_of_text),
		cmocka_unit_test(verdicts_are_cut),
		cmocka_unit_test(domains_that_have_a_form),
		cmocka_unit_test(domains_of_any_length),
		cmocka_unit_test(domains_for_people),
		cmocka_unit_test(addresses_in_ascii),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
