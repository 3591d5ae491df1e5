// SPDX-License-Identifier: ISC
/* What a search for servers says about how much of it DNSSEC has proven. */
#include "dns/search.h"
#include "fake_dns.h"
#include "test.h"

#define MX(secure)                                                                     \
	{                                                                              \
		"d.x", DNS_TYPE_MX, DNS_FOUND, secure, NULL, DATA("\0\12\2mx\1x\0"), 1 \
	}
#define A(name, secure, alias)                                                    \
	{                                                                         \
		name, DNS_TYPE_A, DNS_FOUND, secure, alias, DATA("\300\0\2\7"), 1 \
	}
#define NOTHING(name, type, status, secure)                  \
	{                                                    \
		name, type, status, secure, NULL, NULL, 0, 0 \
	}

static const struct {
	struct dns_record records[6];
	bool is_relay;
	bool is_host_secure;
	bool is_addresses_secure;
	const char *canonical;
} searches[] = {
	{{MX(true), A("mx.x", true, NULL)}, false, true, true, "mx.x"},
	{{MX(false), A("mx.x", true, NULL)}, false, false, true, "mx.x"},
	{{MX(true), A("mx.x", false, NULL)}, false, true, false, "mx.x"},
	{{MX(true), A("mx.x", true, NULL), NOTHING("mx.x", DNS_TYPE_AAAA, DNS_NO_DATA, false)},
	 false,
	 true,
	 false,
	 "mx.x"},
	{{MX(true), A("mx.x", true, "real.y")}, false, true, true, "real.y"},
	/* a family that cannot be looked up now */
	{{MX(true), A("mx.x", true, NULL), NOTHING("mx.x", DNS_TYPE_AAAA, DNS_FAILED, false)},
	 false,
	 true,
	 true,
	 "mx.x"},
	/* no MX records, proven or not */
	{{NOTHING("d.x", DNS_TYPE_MX, DNS_NO_DATA, true), A("d.x", true, NULL)},
	 false,
	 true,
	 true,
	 "d.x"},
	{{NOTHING("d.x", DNS_TYPE_MX, DNS_NO_DATA, false), A("d.x", true, NULL)},
	 false,
	 false,
	 true,
	 "d.x"},
	/* a relay, which no DNS has chosen */
	{{A("d.x", true, "real.y")}, true, true, true, "real.y"},
	{{A("d.x", false, NULL)}, true, true, false, "d.x"},
};

static void on_servers(void *context, const struct dns_servers *servers)
{
	*(const struct dns_servers **)context = servers;
}

static void whether_servers_are_secure(void **state)
{
	static const struct dns_self self = {.hostname = "us.x"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(searches); i++) {
		const struct dns_servers *found = NULL;
		struct dns_search *search;

		fake_dns_play(searches[i].records);
		if (searches[i].is_relay)
			search = dns_search_relay(NULL, "d.x", 25, on_servers, &found);
		else
			search = dns_search_exchangers(NULL, "d.x", &self, 25, on_servers, &found);
		fake_dns_answer_all();
		assert_int_equal(found->verdict.class, MAIL_OK);
		assert_int_equal(found->count, 1);
		assert_int_equal(found->list[0].is_host_secure, searches[i].is_host_secure);
		assert_int_equal(found->list[0].is_addresses_secure,
				 searches[i].is_addresses_secure);
		assert_string_equal(found->list[0].canonical, searches[i].canonical);
		dns_search_free(search);
	}
	fake_dns_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whether_servers_are_secure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
