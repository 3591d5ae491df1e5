// SPDX-License-Identifier: ISC
#include "base/attributes.h"
#include "mail/origin.h"
#include "test.h"

static void check_text(struct str found, const char *expected)
{
	assert_int_equal(found.length, strlen(expected));
	assert_memory_equal(found.data != NULL ? found.data : "", expected, found.length);
}

static void origins_are_parsed(void **state)
{
	static const struct {
		const char *text, *protocol, *address;
		unsigned port;
		const char *name, *helo, *tls, *user;
		int uid; /* -1: none */
	} cases[] = {
		{"smtp 192.0.2.7:53112 name=a.example helo=b.example tls=TLSv1.3 "
		 "user=anna@c.example",
		 "smtp", "192.0.2.7", 53112, "a.example", "b.example", "TLSv1.3", "anna@c.example",
		 -1},
		{"smtp [2001:db8::7]:25 helo=[IPv6:2001:db8::7]", "smtp", "2001:db8::7", 25, "",
		 "[IPv6:2001:db8::7]", "", "", -1},
		{"qmtp local", "qmtp", "", 0, "", "", "", "", -1},
		{"local uid=1000 user=anna", "local", "", 0, "", "", "", "anna", 1000},
		{"local uid=x", "local", "", 0, "", "", "", "", -1},
		{"bounce", "bounce", "", 0, "", "", "", "", -1},
		{"smtp 192.0.2.7:x later=1 name=", "smtp", "", 0, "", "", "", "", -1},
		{"", "", "", 0, "", "", "", "", -1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct mail_origin origin = mail_origin_parse(str_from(cases[i].text));

		check_text(origin.protocol, cases[i].protocol);
		check_text(origin.address, cases[i].address);
		assert_int_equal(origin.port, cases[i].port);
		check_text(origin.name, cases[i].name);
		check_text(origin.helo, cases[i].helo);
		check_text(origin.tls, cases[i].tls);
		check_text(origin.user, cases[i].user);
		assert_int_equal(origin.has_uid ? (int)origin.uid : -1, cases[i].uid);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(origins_are_parsed)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
