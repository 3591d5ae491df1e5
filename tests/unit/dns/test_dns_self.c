// SPDX-License-Identifier: ISC
/* Which of a domain's servers are this host. */
#include "dns/search.h"
#include "fake_dns.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>

#define A(name, data)                                                   \
	{                                                               \
		name, DNS_TYPE_A, DNS_FOUND, false, NULL, DATA(data), 1 \
	}
#define MX(name, data)                                                   \
	{                                                                \
		name, DNS_TYPE_MX, DNS_FOUND, false, NULL, DATA(data), 1 \
	}
#define NO_MX(name)                                                     \
	{                                                               \
		name, DNS_TYPE_MX, DNS_NO_DATA, false, NULL, NULL, 0, 0 \
	}

static const struct dns_record records[] = {
	MX("far.x", "\0\12\3far\1x\0"),
	MX("us.x", "\0\12\2us\1x\0"),
	MX("nat.x", "\0\12\3nat\1x\0"),
	NO_MX("bare.x"),
	A("far.x", "\300\0\2\7"),
	A("us.x", "\300\0\2\1"),
	A("nat.x", "\306\63\144\11"),
	A("bare.x", "\306\63\144\11"),
	{0},
};

static const struct {
	const char *domain;
	enum mail_verdict_class class;
	const char *status;
} cases[] = {
	{"far.x", MAIL_OK, "2.0.0"},
	{"us.x", MAIL_FAIL, "5.4.6"},
	{"nat.x", MAIL_FAIL, "5.4.6"},
	{"bare.x", MAIL_FAIL, "5.4.6"},
};

static void on_servers(void *context, const struct dns_servers *servers)
{
	*(const struct dns_servers **)context = servers;
}

/* That of a router: 198.51.100.9. */
static bool is_own(const void *context, const struct in6_addr *address)
{
	struct in6_addr own;

	assert_ptr_equal(context, cases);
	assert_int_equal(inet_pton(AF_INET6, "::ffff:198.51.100.9", &own), 1);
	return memcmp(address, &own, sizeof own) == 0;
}

static void no_mail_goes_to_this_host(void **state)
{
	struct in6_addr address;
	const struct dns_self self = {"mx.us", &address, 1, is_own, cases};

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.1", &address), 1);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct dns_servers *found = NULL;
		struct dns_search *search;

		fake_dns_play(records);
		search =
			dns_search_exchangers(NULL, cases[i].domain, &self, 25, on_servers, &found);
		fake_dns_answer_all();
		assert_int_equal(found->verdict.class, cases[i].class);
		assert_string_equal(found->verdict.status, cases[i].status);
		assert_int_equal(found->is_backup, cases[i].class != MAIL_OK);
		dns_search_free(search);
	}
	fake_dns_end();
}

/* --- each range, in each form --- */

static const struct {
	const char *first, *last; /* of IPv4 */
	enum dns_target target;
} ranges[] = {
	{"0.0.0.0", "0.255.255.255", DNS_TARGET_SELF},
	{"1.0.0.0", "126.255.255.255", DNS_TARGET_HOST},
	{"127.0.0.0", "127.255.255.255", DNS_TARGET_SELF},
	{"128.0.0.0", "169.253.255.255", DNS_TARGET_HOST},
	{"169.254.0.0", "169.254.255.255", DNS_TARGET_NONE},
	{"169.255.0.0", "223.255.255.255", DNS_TARGET_HOST},
	{"224.0.0.0", "255.255.255.255", DNS_TARGET_NONE},
};

static void check_target(const struct dns_self *self, const char *text, enum dns_target expected)
{
	union os_socket_address address;

	assert_true(os_socket_address_parse(text, 25, &address));
	if (dns_self_target(self, &address) != expected)
		fail_msg("%s", text);
}

static void check_v4(const struct dns_self *self, const char *text, enum dns_target target)
{
	unsigned a, b, c, d;
	char form[80];

	assert_int_equal(sscanf(text, "%u.%u.%u.%u", &a, &b, &c, &d), 4);
	check_target(self, text, target);
	snprintf(form, sizeof form, "::ffff:%s", text);
	check_target(self, form, target);
	snprintf(form, sizeof form, "64:ff9b::%s", text);
	check_target(self, form, target);
	snprintf(form, sizeof form, "2002:%02x%02x:%02x%02x::1", a, b, c, d);
	check_target(self, form, target);
	snprintf(form, sizeof form, "::%s", text);
	check_target(self, form, target);
	/* one that only looks so */
	snprintf(form, sizeof form, "::fffe:%s", text);
	check_target(self, form, DNS_TARGET_HOST);
	snprintf(form, sizeof form, "64:ff9b:1::%s", text);
	check_target(self, form, DNS_TARGET_HOST);
}

static void which_addresses_are_hosts(void **state)
{
	static const struct {
		const char *text;
		enum dns_target target;
	} rows[] = {
		{"::", DNS_TARGET_SELF},           {"::1", DNS_TARGET_SELF},
		{"::2", DNS_TARGET_SELF},          {"2001:db8::1", DNS_TARGET_HOST},
		{"fe7f:ffff::1", DNS_TARGET_HOST}, {"fe80::1", DNS_TARGET_NONE},
		{"febf:ffff::1", DNS_TARGET_NONE}, {"fec0::1", DNS_TARGET_HOST},
		{"feff:ffff::1", DNS_TARGET_HOST}, {"ff02::1", DNS_TARGET_NONE},
		{"ffff::1", DNS_TARGET_NONE},      {"2001:db8::77", DNS_TARGET_SELF},
	};
	struct in6_addr own[2];
	const struct dns_self self = {.hostname = "mx.us", .addresses = own, .address_count = 2};

	(void)state;
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.1", &own[0]), 1);
	assert_int_equal(inet_pton(AF_INET6, "2001:db8::77", &own[1]), 1);
	for (size_t i = 0; i < COUNT_OF(ranges); i++) {
		check_v4(&self, ranges[i].first, ranges[i].target);
		check_v4(&self, ranges[i].last, ranges[i].target);
	}
	check_v4(&self, "192.0.2.1", DNS_TARGET_SELF);
	check_v4(&self, "192.0.2.2", DNS_TARGET_HOST);
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		check_target(&self, rows[i].text, rows[i].target);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_mail_goes_to_this_host),
		cmocka_unit_test(which_addresses_are_hosts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
