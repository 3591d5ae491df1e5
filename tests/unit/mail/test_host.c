// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "mail/host.h"
#include "test.h"
#include <string.h>

static void names_of_hosts(void **state)
{
	static const struct {
		const char *text;
		bool is_name;
	} cases[] = {
		{"", false},
		{"a", true},
		{"a.b", true},
		{"a..b", false},
		{".a", false},
		{"a.", false},
		{"-a", false},
		{"a-", false},
		{"a-b_c", true},
		{"a.1", false},
		{"1.a", true},
		{"a+b", false},
		{"a b", false},
		{"a@b", false},
		{"a\"b", false},
		{"\x80", false},
		{"AZaz09", true},
		{"a[b", false},
		{"`{|}~!#$%&'*/=?^", false},
		{"a.b-", false},
		{"a.-b", false},
		{"192.0.2.7", false},
		{"a.0x7f", true},
		{"_dmarc.a", true},
		{"xn--bcher-kva.example", true},
		{"b\xc3\xbc"
		 "cher.example",
		 false},
		{"a\n", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		if (mail_host_is_name(str_from(cases[i].text)) != cases[i].is_name)
			fail_msg("%s", cases[i].text);
	assert_false(mail_host_is_name(str_slice("a\0b", 3)));
}

/* Within a name; at its ends and alone less may be there. */
static void each_byte_of_a_name(void **state)
{
	static const char all[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		const char name[] = {'x', (char)c, 'y'};
		bool is_one = c != 0 && strchr(all, (int)c) != NULL;

		if (mail_host_is_name(str_slice(name, sizeof name)) != is_one)
			fail_msg("byte %u", c);
	}
}

static void their_length_is_bounded(void **state)
{
	char name[300];

	(void)state;
	memset(name, 'a', sizeof name);
	assert_true(mail_host_is_name(str_slice(name, 63)));
	assert_false(mail_host_is_name(str_slice(name, 64)));
	for (size_t i = 50; i < sizeof name; i += 50)
		name[i] = '.';
	assert_true(mail_host_is_name(str_slice(name, MAIL_HOST_MAX)));
	assert_false(mail_host_is_name(str_slice(name, MAIL_HOST_MAX + 1)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_hosts),
		cmocka_unit_test(each_byte_of_a_name),
		cmocka_unit_test(their_length_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
