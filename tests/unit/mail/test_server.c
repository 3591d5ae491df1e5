// SPDX-License-Identifier: ISC
/* Servers as texts: each has one canonical form, and what is none is not taken for one. */
#include "mail/server.h"
#include "test.h"
#include <errno.h>

#define SIXTY "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static const struct {
	const char *text;
	const char *form; /* NULL: it is no server */
} cases[] = {
	{"192.0.2.7:24", "192.0.2.7:24"},
	{"192.0.2.7:024", "192.0.2.7:24"},
	{"[2001:DB8::0:7]:24", "[2001:db8::7]:24"},
	{"[::1]:65535", "[::1]:65535"},
	{"LMTP.Example.org:1", "lmtp.example.org:1"},
	{"b\xc3\xbc"
	 "cher.example:24",
	 "xn--bcher-kva.example:24"},
	{"under_score.example:24", "under_score.example:24"},
	{SIXTY "." SIXTY ".abcdef:24", SIXTY "." SIXTY ".abcdef:24"},
	{SIXTY "." SIXTY ".abcdefg:24", NULL},
	{"", NULL},
	{":24", NULL},
	{"lmtp.example.org", NULL},
	{"lmtp.example.org:", NULL},
	{"lmtp.example.org:0", NULL},
	{"lmtp.example.org:65536", NULL},
	{"lmtp.example.org:24x", NULL},
	{"lmtp.example.org:+24", NULL},
	{"lmtp.example.org:24 ", NULL},
	{"lmtp example.org:24", NULL},
	{"lmtp..example.org:24", NULL},
	{"lmtp.example.org.:24", NULL},
	{"-lmtp.example.org:24", NULL},
	{"*.example.org:24", NULL},
	{"192.0.2:24", NULL},
	{"192.0.2.256:24", NULL},
	{"192.0.2.007:24", NULL},
	{"2001:db8::7:24", NULL},
	{"[192.0.2.7]:24", NULL},
	{"[::ffff:192.0.2.7]:24", NULL},
	{"[lmtp.example.org]:24", NULL},
	{"[2001:db8::7]", NULL},
	{"[2001:db8::7%lo]:24", NULL},
	{"unix:/run/lmtp", NULL},
	{"a@b.example:24", NULL},
	{"a/b.example:24", NULL},
};

static void servers_have_one_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str text = str_from(cases[i].text);
		struct buffer form CLEANUP(buffer_clear) = {0};
		int result = mail_server_normalize(text, &form);

		if (result != (cases[i].form != NULL ? 0 : -EINVAL))
			fail_msg("%s: %d", cases[i].text, result);
		if (cases[i].form == NULL) {
			assert_int_equal(form.length, 0);
			assert_false(mail_server_is_in_form(text));
			continue;
		}
		if (!str_equal(buffer_view(&form), str_from(cases[i].form)))
			fail_msg("%s became " STR_FORMAT, cases[i].text,
				 STR_ARGUMENTS(buffer_view(&form)));
		assert_true(mail_server_is_in_form(buffer_view(&form)));
		assert_int_equal(mail_server_is_in_form(text), str_equal(text, buffer_view(&form)));
		assert_true(form.length < MAIL_SERVER_TEXT_SIZE);
	}
}

static void a_server_has_parts(void **state)
{
	struct mail_server server;

	(void)state;
	assert_int_equal(mail_server_parse(STR("[2001:db8::7]:24"), &server), 0);
	assert_true(str_equal(server.host, STR("2001:db8::7")) && server.is_address);
	assert_int_equal(server.port, 24);
	assert_int_equal(server.address.s6_addr[15], 7);
	assert_int_equal(mail_server_parse(STR("192.0.2.7:2400"), &server), 0);
	assert_true(IN6_IS_ADDR_V4MAPPED(&server.address) && server.address.s6_addr[15] == 7);
	assert_int_equal(mail_server_parse(STR("s7.example:24"), &server), 0);
	assert_true(str_equal(server.host, STR("s7.example")) && !server.is_address);
	assert_int_equal(mail_server_parse(STR("s7\0.example:24"), &server), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_have_one_form),
		cmocka_unit_test(a_server_has_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
