// SPDX-License-Identifier: ISC
/* Which of a domain's servers are this host. */
#include "dns/search.h"
#include "fake_dns.h"
#include "test.h"
#include <arpa/inet.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_mail_goes_to_this_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
