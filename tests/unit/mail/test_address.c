// SPDX-License-Identifier: ISC
#include "mail/address.h"
#include "mail/envelope.h"
#include "mail/text/text.h"
#include "mail/unicode.h"
#include "mail/verdict.h"
#include "test.h"
#include <errno.h>
#include <string.h>

#define TEN   "abcdefghij"
#define SIXTY TEN TEN TEN TEN TEN TEN
#define LABEL SIXTY "123" /* 63 */

static const struct {
	struct str text;
	unsigned flags;
	int result;
	const char *local;
	const char *domain;
	bool is_literal;
} cases[] = {
	{STR("a@b"), 0, 0, "a", "b", false},
	{STR("lisa@example.com"), 0, 0, "lisa", "example.com", false},
	{STR("a.b.c@d.e"), 0, 0, "a.b.c", "d.e", false},
	{STR("!#$%&'*+-/=?^_`{|}~@x"), 0, 0, "!#$%&'*+-/=?^_`{|}~", "x", false},
	{STR("a@under_score.example"), 0, 0, "a", "under_score.example", false},
	{STR("a@1.2"), 0, 0, "a", "1.2", false},
	{STR("\"a b\"@x"), 0, 0, "\"a b\"", "x", false},
	{STR("\"\"@x"), 0, 0, "\"\"", "x", false},
	{STR("\"a@b\"@x"), 0, 0, "\"a@b\"", "x", false},
	{STR("\"a\\\"b\\\\\"@x"), 0, 0, "\"a\\\"b\\\\\"", "x", false},
	{STR("\"a>b\"@x"), 0, 0, "\"a>b\"", "x", false},
	{STR("a@[192.0.2.1]"), 0, 0, "a", "[192.0.2.1]", true},
	{STR("a@[IPv6:2001:db8::1]"), 0, 0, "a", "[IPv6:2001:db8::1]", true},
	{STR("a@[ipv6:::]"), 0, 0, "a", "[ipv6:::]", true},
	{STR("postmaster"), MAIL_ADDRESS_NO_DOMAIN, 0, "postmaster", "", false},
	{STR(""), MAIL_ADDRESS_NULL, 0, "", "", false},
	{STR("gr\xc3\xbc\xc3\x9f"
	     "e@x"),
	 MAIL_ADDRESS_UTF8, 0,
	 "gr\xc3\xbc\xc3\x9f"
	 "e",
	 "x", false},
	{STR("a@b\xc3\xbc.x"), MAIL_ADDRESS_UTF8, 0, "a", "b\xc3\xbc.x", false},
	{STR("\"\xc3\xbc\"@x"), MAIL_ADDRESS_UTF8, 0, "\"\xc3\xbc\"", "x", false},
	{STR(SIXTY "1234@x"), 0, 0, SIXTY "1234", "x", false},
	{STR("a@" LABEL "." LABEL "." LABEL "." LABEL), 0, 0, "a",
	 LABEL "." LABEL "." LABEL "." LABEL, false},

	{STR(SIXTY "1234@x"), MAIL_ADDRESS_STRICT, 0, SIXTY "1234", "x", false},
	{STR(SIXTY "12345@x"), 0, 0, SIXTY "12345", "x", false},
	{STR(SIXTY SIXTY SIXTY SIXTY TEN "12345@x"), 0, 0, SIXTY SIXTY SIXTY SIXTY TEN "12345", "x",
	 false},
	{STR(SIXTY SIXTY SIXTY SIXTY TEN "12345@" TEN "." TEN TEN TEN TEN TEN "123"), 0, 0,
	 SIXTY SIXTY SIXTY SIXTY TEN "12345", TEN "." TEN TEN TEN TEN TEN "123", false},

	{STR(SIXTY SIXTY SIXTY SIXTY TEN "12345@" TEN "." TEN TEN TEN TEN TEN "1234"), 0,
	 -ENAMETOOLONG, NULL, NULL, false},
	{STR(SIXTY SIXTY SIXTY SIXTY TEN "123456@x"), 0, -ENAMETOOLONG, NULL, NULL, false},
	{STR(SIXTY "12345@x"), MAIL_ADDRESS_STRICT, -ENAMETOOLONG, NULL, NULL, false},
	{STR("\"" SIXTY "123\"@x"), MAIL_ADDRESS_STRICT, -ENAMETOOLONG, NULL, NULL, false},
	{STR("a@" LABEL "." LABEL "." LABEL "." LABEL ".x"), 0, -ENAMETOOLONG, NULL, NULL, false},
	{STR("a@" LABEL "x"), 0, -EINVAL, NULL, NULL, false},
	{STR(""), 0, -EINVAL, NULL, NULL, false},
	{STR("a"), 0, -EINVAL, NULL, NULL, false},
	{STR("@"), MAIL_ADDRESS_NULL, -EINVAL, NULL, NULL, false},
	{STR("@x"), MAIL_ADDRESS_NULL, -EINVAL, NULL, NULL, false},
	{STR("a@"), MAIL_ADDRESS_NO_DOMAIN, -EINVAL, NULL, NULL, false},
	{STR("a@b@c"), 0, -EINVAL, NULL, NULL, false},
	{STR(".a@x"), MAIL_ADDRESS_STRICT, -EINVAL, NULL, NULL, false},
	{STR(".a@x"), 0, 0, ".a", "x", false},
	{STR("a.@x"), MAIL_ADDRESS_STRICT, -EINVAL, NULL, NULL, false},
	{STR("a.@x"), 0, 0, "a.", "x", false},
	{STR("a..b@x"), MAIL_ADDRESS_STRICT, -EINVAL, NULL, NULL, false},
	{STR("a..b@x"), 0, 0, "a..b", "x", false},
	{STR("a@.x"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@x."), 0, -EINVAL, NULL, NULL, false},
	{STR("a@x."), MAIL_ADDRESS_ROOT, 0, "a", "x", false},
	{STR("a@x"), MAIL_ADDRESS_ROOT, 0, "a", "x", false},
	{STR("a@x.."), MAIL_ADDRESS_ROOT, -EINVAL, NULL, NULL, false},
	{STR("a@."), MAIL_ADDRESS_ROOT, -EINVAL, NULL, NULL, false},
	{STR("a@[192.0.2.1]."), MAIL_ADDRESS_ROOT, 0, "a", "[192.0.2.1]", true},
	{STR("a."), MAIL_ADDRESS_ROOT | MAIL_ADDRESS_NO_DOMAIN, 0, "a.", "", false},
	{STR("a@x..y"), 0, -EINVAL, NULL, NULL, false},
	{STR("a b@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@x y"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@x "), 0, -EINVAL, NULL, NULL, false},
	{STR("<a@x>"), 0, -EINVAL, NULL, NULL, false},
	{STR("a,b@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("a\0b@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@x\0"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@x\r\n"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a\"b@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a\\\"@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a\\"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a\n\"@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a\\\n\"@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a\tb\"@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("\"a\0b\"@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[192.0.2.256]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[192.0.2]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[192.0.2.1"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[192.0.2.1]x"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[192.0.2.1\0]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[2001:db8::1]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[IPv6:192.0.2.1]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[IPv6:]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[tag:content]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@[]"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@["), 0, -EINVAL, NULL, NULL, false},
	{STR("\xc3\xbc@x"), 0, -EINVAL, NULL, NULL, false},
	{STR("a@\xc3\xbc"), 0, -EINVAL, NULL, NULL, false},
	{STR("\xc0\xaf@x"), MAIL_ADDRESS_UTF8, -EINVAL, NULL, NULL, false},
	{STR("\xed\xa0\x80@x"), MAIL_ADDRESS_UTF8, -EINVAL, NULL, NULL, false},
	{STR("a@\xc3"), MAIL_ADDRESS_UTF8, -EINVAL, NULL, NULL, false},
};

static void addresses_follow_the_grammar(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_address address = {.is_literal = true, .text = STR("untouched")};
		int result = mail_address_parse(cases[i].text, cases[i].flags, &address);

		if (result != cases[i].result)
			fail_msg("%.*s: %d, not %d", STR_ARGUMENTS(cases[i].text), result,
				 cases[i].result);
		if (result < 0) {
			assert_true(str_equal(address.text, STR("untouched")));
			continue;
		}
		assert_int_equal(address.text.length, address.local.length + address.domain.length +
							      (address.domain.length > 0));
		assert_true(str_starts_with(cases[i].text, address.text));
		assert_true(str_equal(address.local, str_from(cases[i].local)));
		assert_true(str_equal(address.domain, str_from(cases[i].domain)));
		assert_int_equal(address.is_literal, cases[i].is_literal);
	}
}

static void domains_follow_the_grammar(void **state)
{
	(void)state;
	assert_true(mail_domain_is_valid(STR("example.com")));
	assert_true(mail_domain_is_valid(STR(LABEL)));
	assert_false(mail_domain_is_valid(STR(LABEL "x")));
	assert_false(mail_domain_is_valid(STR("")));
	assert_false(mail_domain_is_valid(STR(".")));
	assert_false(mail_domain_is_valid(STR("[192.0.2.1]")));
	assert_false(mail_domain_is_valid(STR("\xc3\xbc.example")));
}

/* In U-labels, composed or not, and in A-labels: one domain. */
static void a_domain_has_one_form(void **state)
{
	static const struct {
		const char *name;
		const char *form;
		bool has_form;
	} forms[] = {
		{"xn--mller-kva.example", "xn--mller-kva.example", true},
		{"XN--Mller-KVA.Example", "xn--mller-kva.example", true},
		{"m\xc3\xbcller.example", "xn--mller-kva.example", true},
		{"M\xc3\x9cLLER.Example", "xn--mller-kva.example", true},
		{"mu\xcc\x88ller.example", "xn--mller-kva.example", true},
		{"[IPv6:2001:DB8::1]", "[ipv6:2001:db8::1]", true},
		{"A..B", "a..b", true},
		{"M\xfcLLER.example", "m\xfcller.example", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct mail_domain form;

		assert_int_equal(mail_domain_form(str_from(forms[i].name), &form),
				 forms[i].has_form);
		assert_string_equal(form.text, forms[i].form);
		assert_int_equal(form.length, strlen(forms[i].form));
	}
}

static void ids_are_written_and_read(void **state)
{
	static const struct {
		struct mail_id id;
		const char *text;
	} ids[] = {
		{{457, 0x63f1a2b3c4d5e}, "457-63f1a2b3c4d5e"},
		{{0, 0}, "0-0"},
		{{10, 16}, "10-10"},
		{{UINT64_MAX, INT64_MAX}, "18446744073709551615-7fffffffffffffff"},
	};
	char text[MAIL_ID_SIZE];
	struct mail_id id;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		mail_id_format(ids[i].id, text);
		assert_string_equal(text, ids[i].text);
		assert_true(mail_id_parse(str_from(text), &id));
		assert_int_equal(id.number, ids[i].id.number);
		assert_int_equal(id.born_us, ids[i].id.born_us);
	}
}

static void a_double_bounce_has_no_sender_outside(void **state)
{
	(void)state;
	assert_true(str_equal(mail_sender_told(STR("#@[]")), STR("")));
	assert_true(str_equal(mail_sender_told(STR("")), STR("")));
	assert_true(str_equal(mail_sender_told(STR("a@b")), STR("a@b")));
}

/* As Delivered-To has it, and knows it again. */
static void an_address_in_ascii(void **state)
{
	static const struct {
		const char *address, *form;
	} forms[] = {
		{"ann@a.test", "ann@a.test"},
		{"m\xc3\xbcller@B\xc3\xbc"
		 "cher.test",
		 "m\\x{FC}ller@xn--bcher-kva.test"},
		{"m\xc3\xbcller@a.test", "m\\x{FC}ller@a.test"},
		{"\xe2\x82\xac", "\\x{20AC}"},
		{"\xff@a.test", "\\x{FF}@a.test"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
		struct buffer form = {0};

		mail_unicode_address(str_from(forms[i].address), &form);
		assert_true(str_equal(buffer_view(&form), str_from(forms[i].form)));
		assert_true(
			mail_unicode_is_address(buffer_view(&form), str_from(forms[i].address)));
		assert_true(mail_unicode_is_address(str_from(forms[i].address),
						    str_from(forms[i].address)));
		assert_false(mail_unicode_is_address(STR("x@a.test"), str_from(forms[i].address)));
		buffer_clear(&form);
	}
}

/* What a terminal would take for a command, or what turns the text around it. */
static void text_of_others_is_harmless(void **state)
{
	static const struct {
		const char *text, *shown, *verdict;
	} texts[] = {
		{"K\xc3\xb6ln \xe2\x82\xac", "K\xc3\xb6ln \xe2\x82\xac",
		 "K\xc3\xb6ln \xe2\x82\xac"},
		{"a\xc2\x9b"
		 "31mb\x1b[0m\r\n",
		 "a?31mb?[0m??", "a??31mb?[0m??"},
		{"\xc2\x80\xc2\x9f\xc2\xa0", "??\xc2\xa0", "????\xc2\xa0"},
		{"\xe2\x80\xaetxt\xe2\x80\xac\xe2\x81\xa6\xe2\x81\xa9", "?txt???",
		 "???txt?????????"},
		{"\x9b"
		 "1m\xff",
		 "?1m\xff", "?1m?"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct buffer out = {0};
		struct mail_verdict verdict;

		mail_text_append(&out, str_from(texts[i].text), MAIL_TEXT_8BIT);
		assert_int_equal(out.length, strlen(texts[i].shown));
		assert_memory_equal(buffer_data(&out), texts[i].shown, out.length);
		mail_verdict_set(&verdict, "5.0.0", "%s", texts[i].text);
		assert_string_equal(verdict.text, texts[i].verdict);
		buffer_clear(&out);
	}
}

/* No library sees more of it. */
static void a_local_part_has_a_bound(void **state)
{
	char text[1026];
	struct buffer out = {0};

	(void)state;
	for (size_t i = 0; i < sizeof text; i += 2)
		memcpy(text + i, "\xc3\xa4", 2);
	assert_int_equal(mail_unicode_local(str_slice(text, 1024), &out), 0);
	assert_int_equal(out.length, 1024);
	assert_int_equal(mail_unicode_local(str_slice(text, 1026), &out), -EINVAL);
	buffer_clear(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_in_ascii),
		cmocka_unit_test(text_of_others_is_harmless),
		cmocka_unit_test(a_domain_has_one_form),
		cmocka_unit_test(a_double_bounce_has_no_sender_outside),
		cmocka_unit_test(addresses_follow_the_grammar),
		cmocka_unit_test(domains_follow_the_grammar),
		cmocka_unit_test(ids_are_written_and_read),
		cmocka_unit_test(a_local_part_has_a_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
