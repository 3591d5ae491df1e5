// SPDX-License-Identifier: ISC
/* When TLS has to be prepared before the sandbox: each reason alone, all of them, and none. */
#include "deliver/remote/policy/authorities.h"
#include "deliver/remote/policy/policy.h"
#include "test.h"

static unsigned prepared;

void __wrap_tls_client_prepare(void);

void __wrap_tls_client_prepare(void)
{
	prepared++;
}

enum { POLICY, SECTION, DANE, MTA_STS, LISTENER, LOGIN, PLAIN_LOGIN, SERVICE, REASONS };

/* What each bit of REASONS says; logins without TLS are none, whoever has one. */
static bool is_needed(unsigned reasons, bool is_lmtp)
{
	unsigned others =
		1u << POLICY | 1u << SECTION | 1u << DANE | 1u << MTA_STS | 1u << LISTENER;
	bool has_login = (reasons & 1u << LOGIN) != 0 && (reasons & 1u << PLAIN_LOGIN) == 0;

	if (is_lmtp)
		return (reasons & 1u << SERVICE) != 0;
	return (reasons & others) != 0 || has_login;
}

static unsigned prepare_for(unsigned reasons, bool is_lmtp)
{
	struct config_tls_policy section = {.destination = "a.test", .level = CONFIG_TLS_NONE};
	struct config_service services[] = {
		{.name = "one"},
		{.name = "two",
		 .tls = (reasons & 1u << SERVICE) != 0 ? CONFIG_TLS_MAY : CONFIG_TLS_NONE}};
	struct config_route route = {.domain = "",
				     .relay = "r.test",
				     .user = (reasons & 1u << LOGIN) != 0 ? "ann" : "",
				     .password = ""};
	struct config_listen listen = {.tls = (reasons & 1u << LISTENER) != 0
						      ? CONFIG_LISTEN_TLS_STARTTLS
						      : CONFIG_LISTEN_TLS_NONE};
	struct config config = {
		.remote_tls = (reasons & 1u << POLICY) != 0 ? CONFIG_TLS_MAY : CONFIG_TLS_NONE,
		.tls_policies = &section,
		.tls_policy_count = reasons >> SECTION & 1,
		.dane = (reasons & 1u << DANE) != 0,
		.mta_sts = (reasons & 1u << MTA_STS) != 0,
		.listens = &listen,
		.listen_count = 1,
		.smtproutes = &route,
		.smtproute_count = 1,
		.login_without_tls = (reasons & 1u << PLAIN_LOGIN) != 0,
		.services = services,
		.service_count = COUNT_OF(services),
		.tls_authorities = "/nonexistent/authorities",
	};

	prepared = 0;
	remote_policies_free(remote_policies_new(&config, is_lmtp, NULL));
	return prepared;
}

static void tls_is_prepared_where_it_may_be_needed(void **state)
{
	(void)state;
	for (unsigned reasons = 0; reasons < 1u << REASONS; reasons++)
		for (unsigned lmtp = 0; lmtp < 2; lmtp++)
			assert_int_equal(prepare_for(reasons, lmtp == 1),
					 is_needed(reasons, lmtp == 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tls_is_prepared_where_it_may_be_needed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
