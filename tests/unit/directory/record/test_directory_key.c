// SPDX-License-Identifier: ISC
#include "directory/record/key.h"
#include "mail/address.h"
#include "test.h"
#include <errno.h>
#include <string.h>

#define LABEL_63  "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk"
#define LOCAL_64  LABEL_63 "l"
#define LOCAL_252 LABEL_63 LABEL_63 LABEL_63 LABEL_63

struct key_case {
	const char *text;
	const char *form; /* NULL: there is none */
};

static void check_cases(enum directory_table table, const struct key_case *cases, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct buffer form = {0};
		int error;

		buffer_append_string(&form, "before:");
		error = directory_key_normalize(table, str_from(cases[i].text), &form);
		if (error != (cases[i].form != NULL ? 0 : -EINVAL))
			fail_msg("%s: %d", cases[i].text, error);
		buffer_append_byte(&form, '\0');
		assert_string_equal(buffer_data(&form) + strlen("before:"),
				    cases[i].form != NULL ? cases[i].form : "");
		if (cases[i].form != NULL && strcmp(cases[i].text, cases[i].form) != 0)
			check_cases(table, &(struct key_case){cases[i].form, cases[i].form}, 1);
		buffer_clear(&form);
	}
}

static void domains_have_one_form(void **state)
{
	static const struct key_case cases[] = {
		{"example.org", "example.org"},
		{"Example.ORG", "example.org"},
		{"b\xc3\xbc"
		 "cher.example",
		 "xn--bcher-kva.example"},
		{"B\xc3\x9c"
		 "CHER.Example",
		 "xn--bcher-kva.example"},
		{"bu\xcc\x88"
		 "cher.example",
		 "xn--bcher-kva.example"}, /* NFD */
		{"XN--BCHER-KVA.example", "xn--bcher-kva.example"},
		{"fa\xc3\x9f.example", "xn--fa-hia.example"}, /* not "fass": non-transitional */
		{"b\xc3\xbc"
		 "cher\xe3\x80\x82"
		 "example",
		 "xn--bcher-kva.example"},
		{"\xef\xbd\x85xample.org", "example.org"}, /* full width e */
		{"a_b.example", "a_b.example"},
		{"r3---x.example", "r3---x.example"},
		{LABEL_63 ".example", LABEL_63 ".example"},
		{LABEL_63 "x.example", NULL},
		{LABEL_63 "." LABEL_63 "." LABEL_63 "." LABEL_63, NULL},
		{LABEL_63 "." LABEL_63 "." LABEL_63 ".abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrs"
			  "tuvwxyzabcdefghi",
		 LABEL_63 "." LABEL_63 "." LABEL_63 ".abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrs"
			  "tuvwxyzabcdefghi"},
		{LABEL_63 "." LABEL_63 "." LABEL_63 ".abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrs"
			  "tuvwxyzabcdefghij",
		 NULL},
		{"", NULL},
		{".", NULL},
		{"example.org.", NULL},
		{".example.org", NULL},
		{"example..org", NULL},
		{"exa mple.org", NULL},
		{"[192.0.2.1]", NULL},
		{"a@b.example", NULL},
		{"xn--.example", NULL},
		{"xn--bcher-kv.example", NULL}, /* no punycode of anything that is allowed */
		{"xn--example-.org", NULL},     /* an A-label of plain ASCII */
		{"b\xfc"
		 "cher.example",
		 NULL}, /* not UTF-8 */
		{"b\xc3\xbc"
		 "cher.a b",
		 NULL},
		{"\xe2\x98\x83.example", NULL}, /* a snowman is disallowed by IDNA2008 */
	};

	(void)state;
	check_cases(DIRECTORY_DOMAIN, cases, COUNT_OF(cases));
}

static void addresses_have_one_form(void **state)
{
	static const struct key_case cases[] = {
		{"ann@example.org", "ann@example.org"},
		{"Ann+Tag@Example.ORG", "ann+tag@example.org"},
		{"\"Ann\"@Example.ORG", "ann@example.org"},
		{"\"a\\nn\"@example.org", "ann@example.org"},
		{"\"a b\"@example.org", "\"a b\"@example.org"},
		{"\"a\\ b\"@example.org", "\"a b\"@example.org"},
		{"\"a\\\"b\"@example.org", "\"a\\\"b\"@example.org"},
		{"\"a\\\\b\"@example.org", "\"a\\\\b\"@example.org"},
		{"\"A@B\"@example.org", "\"a@b\"@example.org"},
		{"a..b@example.org", "\"a..b\"@example.org"},
		{".a@example.org", "\".a\"@example.org"},
		{"\"a.\"@example.org", "\"a.\"@example.org"},
		{"\"..\"@example.org", "\"..\"@example.org"},
		{"JOSE\xcc\x81@example.org", "jos\xc3\xa9@example.org"},
		{"jos\xc3\xa9@example.org", "jos\xc3\xa9@example.org"},
		{"\"JOS\xc3\x89\"@example.org", "jos\xc3\xa9@example.org"},
		{"\xce\x9f\xce\x94\xce\x9f\xce\xa3@example.org", /* ends in a final sigma */
		 "\xce\xbf\xce\xb4\xce\xbf\xcf\x82@example.org"},
		{"\xe2\x84\xaa@example.org", "k@example.org"},   /* the Kelvin sign */
		{"a\xcd\xbe@example.org", "\"a;\"@example.org"}, /* NFC of the Greek ? is ; */
		{"ann@b\xc3\xbc"
		 "cher.example",
		 "ann@xn--bcher-kva.example"},
		{LOCAL_64 "@example.org", LOCAL_64 "@example.org"},
		{"\"" LOCAL_64 "\"@example.org", LOCAL_64 "@example.org"},
		{LOCAL_252 "lmn@example.org", LOCAL_252 "lmn@example.org"},
		{LOCAL_252 "lmno@example.org", NULL},
		{"\"" LOCAL_252 "lmn\"@example.org", LOCAL_252 "lmn@example.org"},
		{"\"" LOCAL_252 "l \"@example.org", NULL}, /* the quotes count */
		{LOCAL_252 "@" LABEL_63 ".abc", LOCAL_252 "@" LABEL_63 ".abc"},
		{LOCAL_252 "@" LABEL_63 ".abcd", NULL}, /* 321 bytes in all */
		{"", NULL},
		{"ann", NULL},
		{"ann@", NULL},
		{"a b@example.org", NULL},
		{"a@b@example.org", NULL},
		{"\"ann@example.org", NULL},
		{"\"a\"b@example.org", NULL},
		{"\"\"@example.org", NULL},
		{"\"a\\\"@example.org", NULL},
		{"a\tb@example.org", NULL},
		{"\"a\x01\"@example.org", NULL},
		{"\"a\x7f\"@example.org", NULL},
		{"a\xc2\x85@example.org", NULL},     /* NEL */
		{"a\xe2\x80\xa8@example.org", NULL}, /* LINE SEPARATOR */
		{"a\xff@example.org", NULL},
		{"ann@[192.0.2.1]", NULL},
	};

	(void)state;
	check_cases(DIRECTORY_ADDRESS, cases, COUNT_OF(cases));
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_address parsed;

		if (cases[i].form != NULL)
			assert_int_equal(mail_address_parse(str_from(cases[i].form),
							    MAIL_ADDRESS_UTF8, &parsed),
					 0);
	}
}

/* 63 bytes */
#define NODE_LABEL "a23456789b123456789c123456789d123456789e123456789f123456789g123"

static void other_tables_have_keys_of_their_own(void **state)
{
	static const struct key_case catch_alls[] = {
		{"@Example.org", "@example.org"}, {"@", NULL}, {"@@example.org", NULL}};
	static const struct key_case members[] = {
		{"List@D.example Ann@E.example", "list@d.example ann@e.example"},
		{"\"a b\"@d.example \"c d\"@e.example", "\"a b\"@d.example \"c d\"@e.example"},
		{"\"a\\\" b\"@d.example c@e.example", "\"a\\\" b\"@d.example c@e.example"},
		{"list@d.example", NULL},
		{"list@d.example ", NULL},
		{"list@d.example  ann@e.example", NULL},
		{" ann@e.example", NULL},
		{"list@d.example ann@e.example bob@e.example", NULL},
		{"@d.example ann@e.example", NULL},
	};
	static const struct key_case names[] = {{"Ann", "ann"},
						{"Ann@Example.org", "ann@example.org"},
						{"\"a b\"", "\"a b\""},
						{"a b", NULL},
						{"", NULL},
						{"@example.org", NULL}};
	/* a node's name is that of a directory, too */
	static const struct key_case nodes[] = {
		{"A1", "a1"},
		{"Mx-1.Example.org", "mx-1.example.org"},
		{"7", "7"},
		{NODE_LABEL, NODE_LABEL},
		{NODE_LABEL ".", NULL},
		{NODE_LABEL "a", NULL},
		{"a." NODE_LABEL, NULL},
		{"a23456789.123456789.123456789.123456789.123456789.123456789.1234",
		 "a23456789.123456789.123456789.123456789.123456789.123456789.1234"},
		{"a23456789.123456789.123456789.123456789.123456789.123456789.12345", NULL},
		{"", NULL},
		{".", NULL},
		{"..", NULL},
		{".a1", NULL},
		{"a1.", NULL},
		{"a..b", NULL},
		{"-a", NULL},
		{"a-", NULL},
		{"a.-b", NULL},
		{"a_1", NULL},
		{"a/b", NULL},
		{"a b", NULL},
		{"a@b", NULL},
		{"b\xc3\xbc"
		 "cher",
		 NULL},
	};

	(void)state;
	check_cases(DIRECTORY_ADDRESS, catch_alls, COUNT_OF(catch_alls));
	check_cases(DIRECTORY_MEMBER, members, COUNT_OF(members));
	check_cases(DIRECTORY_USER, names, COUNT_OF(names));
	check_cases(DIRECTORY_SERVER, names, COUNT_OF(names));
	check_cases(DIRECTORY_NODE, nodes, COUNT_OF(nodes));
	check_cases(DIRECTORY_NO_TABLE, &(struct key_case){"ann", NULL}, 1);
}

static void nul_is_no_character(void **state)
{
	struct buffer form = {0};

	(void)state;
	assert_int_equal(directory_key_domain(STR("b\xc3\xbc"
						  "cher\0.example"),
					      &form),
			 -EINVAL);
	assert_int_equal(directory_key_domain(STR("a\0.example"), &form), -EINVAL);
	assert_int_equal(directory_key_address(STR("a\0b@example.org"), &form), -EINVAL);
	assert_int_equal(directory_key_address(STR("\"a\0b\"@example.org"), &form), -EINVAL);
	assert_int_equal(form.length, 0);
	buffer_clear(&form);
}

static void members_are_taken_apart(void **state)
{
	struct str list;
	struct str member;

	(void)state;
	directory_key_member(STR("\"a b\"@d.example c@e.example"), &list, &member);
	assert_true(str_equal(list, STR("\"a b\"@d.example")));
	assert_true(str_equal(member, STR("c@e.example")));
}

static void people_see_letters(void **state)
{
	static const struct {
		const char *key;
		const char *shown;
	} cases[] = {
		{"xn--bcher-kva.example", "b\xc3\xbc"
					  "cher.example"},
		{"ann@xn--bcher-kva.example", "ann@b\xc3\xbc"
					      "cher.example"},
		{"@xn--bcher-kva.example", "@b\xc3\xbc"
					   "cher.example"},
		{"\"a @\"@xn--bcher-kva.example b@xn--fa-hia.example",
		 "\"a @\"@b\xc3\xbc"
		 "cher.example b@fa\xc3\x9f.example"},
		{"example.org", "example.org"},
		{"xn--.example", "xn--.example"},
		{"ann", "ann"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer out = {0};

		directory_key_display(str_from(cases[i].key), &out);
		buffer_append_byte(&out, '\0');
		assert_string_equal(buffer_data(&out), cases[i].shown);
		buffer_clear(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(domains_have_one_form),
		cmocka_unit_test(addresses_have_one_form),
		cmocka_unit_test(other_tables_have_keys_of_their_own),
		cmocka_unit_test(nul_is_no_character),
		cmocka_unit_test(members_are_taken_apart),
		cmocka_unit_test(people_see_letters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
