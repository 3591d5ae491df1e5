// SPDX-License-Identifier: ISC
#include "mail/verp.h"
#include "test.h"
#include <string.h>

static void senders_are_expanded(void **state)
{
	static const struct {
		const char *sender;
		const char *recipient;
		const char *expanded;
		const char *whole;
	} cases[] = {
		{"list-@a.test-@[]", "bob@b.test", "list-bob=b.test@a.test", "list-@a.test"},
		{"owner+@a.test-@[]", "bob@b.test", "owner+bob=b.test@a.test", "owner+@a.test"},
		{"list-@a.test-@[]", "bob+x@b.test", "list-bob+x=b.test@a.test", "list-@a.test"},
		{"list-@a.test-@[]", "b=c@b.test", "list-b=c=b.test@a.test", "list-@a.test"},
		/* quotes */
		{"list-@a.test-@[]", "\"b b\"@b.test", "\"list-b b=b.test\"@a.test",
		 "list-@a.test"},
		{"list-@a.test-@[]", "\"b\\\"@c\"@b.test", "\"list-b\\\"@c=b.test\"@a.test",
		 "list-@a.test"},
		{"\"my list-\"@a.test-@[]", "bob@b.test", "\"my list-bob=b.test\"@a.test",
		 "\"my list-\"@a.test"},
		{"list-@a.test-@[]", "bob@[192.0.2.1]", "\"list-bob=[192.0.2.1]\"@a.test",
		 "list-@a.test"},
		/* UTF-8 */
		{"list-@a.test-@[]", "j\xc3\xb6rg@b.test", "list-j\xc3\xb6rg=b.test@a.test",
		 "list-@a.test"},
		{"list-@a.test-@[]", "bob@b\xc3\xb6.test", "list-bob=b\xc3\xb6.test@a.test",
		 "list-@a.test"},
		/* a local part is at most 64 bytes */
		{"list-@a.test-@[]", "bob@a-name-of-a-host-that-is-rather-long.in.some.domain.test",
		 "list-@a.test", "list-@a.test"},
		{"list-@a.test-@[]", "bob", "list-@a.test", "list-@a.test"},
		/* not of that form */
		{"ann@a.test", "bob@b.test", "ann@a.test", "ann@a.test"},
		{"", "bob@b.test", "", ""},
		{"#@[]", "bob@b.test", "#@[]", "#@[]"},
		{"-@[]", "bob@b.test", "-@[]", "-@[]"},
		{"@a.test-@[]", "bob@b.test", "@a.test-@[]", "@a.test-@[]"},
		{"list-@-@[]", "bob@b.test", "list-@-@[]", "list-@-@[]"},
		{"list-@a.test@[]", "bob@b.test", "list-@a.test@[]", "list-@a.test@[]"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str sender = str_from(cases[i].sender);
		struct buffer out = {0};

		buffer_append_string(&out, "x");
		mail_verp_expand(sender, str_from(cases[i].recipient), &out);
		buffer_append_byte(&out, '\0');
		assert_string_equal(buffer_data(&out) + 1, cases[i].expanded);
		assert_true(str_equal(mail_verp_whole(sender), str_from(cases[i].whole)));
		assert_int_equal(mail_verp_is(sender),
				 strcmp(cases[i].sender, cases[i].whole) != 0);
		buffer_clear(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(senders_are_expanded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
