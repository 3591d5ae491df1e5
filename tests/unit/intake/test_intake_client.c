// SPDX-License-Identifier: ISC
#include "intake/limit/client.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdbool.h>

static struct intake_client *enter(struct intake_client **clients, const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return intake_client_enter(clients, &address, 2);
}

static void each_client_has_its_own_count(void **state)
{
	static const struct {
		const char *one, *other;
		bool are_same;
	} cases[] = {
		{"::ffff:192.0.2.1", "::ffff:192.0.2.1", true},
		{"::ffff:192.0.2.1", "::ffff:192.0.2.2", false},
		{"2001:db8::1", "2001:db8::ffff:0:0:2", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct intake_client *clients = NULL;
		struct intake_client *first = enter(&clients, cases[i].one);
		struct intake_client *second = enter(&clients, cases[i].one);
		struct intake_client *third = enter(&clients, cases[i].other);

		assert_non_null(first);
		assert_ptr_equal(first, second);
		assert_int_equal(third == NULL, cases[i].are_same);
		intake_client_leave(&clients, first);
		if (third == NULL)
			third = enter(&clients, cases[i].other);
		assert_non_null(third);
		intake_client_leave(&clients, second);
		intake_client_leave(&clients, third);
		assert_null(clients);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_client_has_its_own_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
