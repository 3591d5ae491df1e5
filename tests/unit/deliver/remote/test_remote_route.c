// SPDX-License-Identifier: ISC
#include "deliver/remote/route/route.h"
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

/* At each length of suffix qmtproutes comes first. */
static void qmtp_comes_before_smtp(void **state)
{
	static const struct config_route smtp[] = {
		{"both.example", "s1", 25},
		{".both.example", "s2", 25},
		{"x.deep.example", "s3", 25},
		{".smtp.example", "s4", 25},
		{"!", "s5", 25},
		{"", "s6", 25},
		{"empty.example", "s7", 25},
	};
	static const struct config_route qmtp[] = {
		{"both.example", "q1", 209},  {".both.example", "q2", 1209},
		{".deep.example", "q3", 209}, {"a.smtp.example", "q4", 209},
		{"empty.example", "", 209},   {"literal.example", "[192.0.2.9]", 209},
	};
	const struct config config = {.smtproutes = (struct config_route *)(uintptr_t)smtp,
				      .smtproute_count = COUNT_OF(smtp),
				      .qmtproutes = (struct config_route *)(uintptr_t)qmtp,
				      .qmtproute_count = COUNT_OF(qmtp)};
	struct remote_routes *list = remote_routes_of(&config);

	(void)state;
	check(list, "a@b", "both.example", "qr q1 209");
	check(list, "a@b", "x.both.example", "qr q2 1209");
	check(list, "a@b", "x.deep.example", "r s3 25"); /* the more specific one */
	check(list, "a@b", "y.deep.example", "qr q3 209");
	check(list, "a@b", "a.smtp.example", "qr q4 209");
	check(list, "a@b", "b.smtp.example", "r s4 25");
	check(list, "a@b", "other.example", "r s6 25");
	check(list, "a@b", "empty.example", "m empty.example 25");
	check(list, "a@b", "literal.example", "qr 192.0.2.9 209");
	check(list, "", "both.example", "r s5 25"); /* the sender comes before the domain */
	remote_routes_free(list);
}

/* Then the routes for the domain decide, and after an empty one of QMTP that of SMTP. */
static void an_empty_route_of_the_null_sender_says_nothing(void **state)
{
	static const struct config_route empty[] = {{"!", "", 25}, {"a.example", "s1", 25}};
	static const struct config_route full[] = {{"!", "s2", 25}};
	static const struct config_route qmtp[] = {{"!", "", 209}, {"a.example", "q1", 209}};
	struct config config = {.smtproutes = (struct config_route *)(uintptr_t)empty,
				.smtproute_count = COUNT_OF(empty)};
	struct remote_routes *list = remote_routes_of(&config);

	(void)state;
	check(list, "", "a.example", "r s1 25");
	check(list, "", "b.example", "m b.example 25");
	remote_routes_free(list);
	config.qmtproutes = (struct config_route *)(uintptr_t)qmtp;
	config.qmtproute_count = COUNT_OF(qmtp);
	list = remote_routes_of(&config);
	check(list, "", "a.example", "qr q1 209");
	remote_routes_free(list);
	config.smtproutes = (struct config_route *)(uintptr_t)full;
	config.smtproute_count = COUNT_OF(full);
	list = remote_routes_of(&config);
	check(list, "", "a.example", "r s2 25");
	remote_routes_free(list);
}

/* Between the routes for the recipient's domain and those for all other mail. */
static void a_sender_has_a_route(void **state)
{
	static const struct config_route smtp[] = {
		{"inside.example", "s1", 25},
		{".inside.example", "s2", 25},
		{"direct.example", "", 25},
		{"", "s3", 25},
		{"!", "s4", 25},
	};
	static const struct config_route qmtp[] = {{"quick.example", "q1", 209}};
	static const struct config_route senders[] = {
		{"ann@one.example", "r1", 587, "ann", ""},
		{"one.example", "r1", 587, "all", ""},
		{".one.example", "r2", 25},
		{".deep.one.example", "r3", 25},
		{"plain.one.example", "", 25},
		{"example", "r9", 25},
	};
	const struct config config = {.smtproutes = (struct config_route *)(uintptr_t)smtp,
				      .smtproute_count = COUNT_OF(smtp),
				      .qmtproutes = (struct config_route *)(uintptr_t)qmtp,
				      .qmtproute_count = COUNT_OF(qmtp),
				      .senderroutes = (struct config_route *)(uintptr_t)senders,
				      .senderroute_count = COUNT_OF(senders)};
	struct remote_routes *list = remote_routes_of(&config);

	(void)state;
	check(list, "ann@one.example", "far.example", "r r1 587 as ann");
	check(list, "\"Ann\"@ONE.example", "far.example", "r r1 587 as ann");
	check(list, "bob@one.example", "far.example", "r r1 587 as all");
	check(list, "bob@x.one.example", "far.example", "r r2 25");
	check(list, "bob@deep.one.example", "far.example", "r r2 25");
	check(list, "bob@x.deep.one.example", "far.example", "r r3 25");
	check(list, "bob@plain.one.example", "far.example", "r s3 25");
	check(list, "bob@anyone.example", "far.example", "r s3 25");
	check(list, "bob@[192.0.2.1]", "far.example", "r s3 25");
	check(list, "bob", "far.example", "r s3 25");
	check(list, "", "far.example", "r s4 25");
	check(list, "ann@one.example", "inside.example", "r s1 25");
	check(list, "ann@one.example", "x.inside.example", "r s2 25");
	check(list, "ann@one.example", "direct.example", "m direct.example 25");
	check(list, "ann@one.example", "quick.example", "qr q1 209");
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
		cmocka_unit_test(qmtp_comes_before_smtp),
		cmocka_unit_test(an_empty_route_of_the_null_sender_says_nothing),
		cmocka_unit_test(a_sender_has_a_route),
		cmocka_unit_test(without_routes_the_domain_decides),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
