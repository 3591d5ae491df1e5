// SPDX-License-Identifier: ISC
#include "deliver/remote_route.h"
#include "test.h"

static const struct config_route routes[] = {
	{"example.net", "relay.example.net", 2525},
	{".example.net", "sub.example.net", 25},
	{".deep.example.net", "[192.0.2.9]", 25},
	{"direct.example", "", 25},
	{"!", "bounces.example", 26},
	{"", "SmartHost.example", 587},
	{"six.example", "[IPv6:2001:db8::1]", 25},
	{"six2.example", "2001:db8::2", 25},
	{"bad.example", "no host", 25},
};

static void check(const struct remote_routes *list, const char *sender, const char *domain,
		  const char *key)
{
	struct remote_hop hop = {0};

	if (key == NULL) {
		assert_false(remote_routes_choose(list, str_from(sender), str_from(domain), &hop));
		return;
	}
	assert_true(remote_routes_choose(list, str_from(sender), str_from(domain), &hop));
	assert_string_equal(hop.key, key);
}

static void the_most_specific_route_decides(void **state)
{
	struct remote_routes *list = remote_routes_new(routes, COUNT_OF(routes));

	(void)state;
	check(list, "a@b", "example.net", "r relay.example.net 2525");
	check(list, "a@b", "x.example.net", "r sub.example.net 25");
	check(list, "a@b", "deep.example.net", "r sub.example.net 25");
	check(list, "a@b", "x.deep.example.net", "r 192.0.2.9 25");
	check(list, "a@b", "direct.example", "m direct.example 25");
	check(list, "a@b", "notexample.net", "r smarthost.example 587");
	check(list, "a@b", "six.example", "r 2001:db8::1 25");
	check(list, "a@b", "six2.example", "r 2001:db8::2 25");
	check(list, "a@b", "bad.example", NULL);
	check(list, "", "example.net", "r bounces.example 26");
	check(list, "#@[]", "example.net", "r bounces.example 26");
	check(list, "a@b", "[192.0.2.1]", "r smarthost.example 587");
	remote_routes_free(list);
}

static void without_routes_the_domain_decides(void **state)
{
	struct remote_routes *list = remote_routes_new(NULL, 0);

	(void)state;
	check(list, "", "example.net", "m example.net 25");
	check(list, "a@b", "[192.0.2.1]", "l 192.0.2.1 25");
	check(list, "a@b", "[IPv6:2001:db8::1]", "l 2001:db8::1 25");
	check(list, "a@b", "[nothing]", NULL);
	check(list, "a@b", "", NULL);
	check(list, "a@b", "a b", NULL);
	remote_routes_free(list);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_most_specific_route_decides),
		cmocka_unit_test(without_routes_the_domain_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
