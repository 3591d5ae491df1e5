// SPDX-License-Identifier: ISC
/* How failures are counted and slowed, at times of our own. */
#include "auth/server/failures.h"
#include "base/attributes.h"
#include "test.h"
#include <arpa/inet.h>
#include <stdio.h>

static const struct auth_failures_settings settings = {.limit = 4, .memory_us = 10 * MINUTE_US};

static struct auth_failures *failures;

static struct in6_addr address(const char *text)
{
	struct in6_addr result;
	char mapped[64];

	snprintf(mapped, sizeof mapped, strchr(text, ':') == NULL ? "::ffff:%s" : "%s", text);
	assert_int_equal(inet_pton(AF_INET6, mapped, &result), 1);
	return result;
}

static int64_t count_failure(const char *client, const char *user, int64_t now_us)
{
	const struct in6_addr from = address(client);

	return auth_failures_add(failures, &from, str_from(user), now_us);
}

static void forgive(const char *client, const char *user)
{
	const struct in6_addr from = address(client);

	auth_failures_forgive(failures, &from, str_from(user));
}

static unsigned count(const char *client, int64_t now_us)
{
	const struct in6_addr from = address(client);

	return auth_failures_count(failures, &from, now_us);
}

static bool is_refused(const char *client, int64_t now_us)
{
	const struct in6_addr from = address(client);

	return auth_failures_is_refused(failures, &from, now_us);
}

static int set_up(void **state)
{
	(void)state;
	failures = auth_failures_new();
	auth_failures_configure(failures, &settings);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	auth_failures_free(failures);
	return 0;
}

static void delays_grow_to_five_seconds(void **state)
{
	static const int64_t wanted[] = {SECOND_US / 2, SECOND_US,     2 * SECOND_US,
					 4 * SECOND_US, 5 * SECOND_US, 5 * SECOND_US};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wanted); i++)
		assert_int_equal(count_failure("192.0.2.1", "", 0), wanted[i]);
	/* many share its network, which is not slow yet */
	assert_int_equal(count_failure("192.0.2.2", "", 0), SECOND_US / 2);
	for (unsigned i = 0; i < 7; i++)
		count_failure("192.0.2.1", "", 0);
	assert_int_equal(count_failure("192.0.2.3", "", 0), 2 * SECOND_US);
	assert_int_equal(count_failure("198.51.100.1", "", 0), SECOND_US / 2);
}

static void a_client_of_ipv6_is_its_network(void **state)
{
	(void)state;
	assert_int_equal(count_failure("2001:db8::1", "", 0), SECOND_US / 2);
	assert_int_equal(count_failure("2001:db8::ffff:2", "", 0), SECOND_US);
	assert_int_equal(count_failure("2001:db8:0:1::1", "", 0), SECOND_US / 2);
	assert_int_equal(count("2001:db8::7", 0), 2);
	assert_int_equal(count("2001:db8:0:1::7", 0), 1);
}

static void users_are_counted_wherever_they_are_tried(void **state)
{
	(void)state;
	assert_int_equal(count_failure("192.0.2.1", "ann", 0), SECOND_US / 2);
	assert_int_equal(count_failure("198.51.100.1", "ann", 0), SECOND_US);
	assert_int_equal(count_failure("203.0.113.1", "bob", 0), SECOND_US / 2);
	/* however often he fails: he is not shut out */
	for (unsigned i = 0; i < 100; i++)
		count_failure(i % 2 ? "2001:db8::1" : "2001:db9::1", "ann", 0);
	assert_false(is_refused("192.0.2.1", 0));
}

static void over_the_limit_nothing_is_checked_for_a_while(void **state)
{
	(void)state;
	for (unsigned i = 0; i < settings.limit; i++) {
		assert_false(is_refused("192.0.2.1", i));
		count_failure("192.0.2.1", "ann", i);
	}
	assert_true(is_refused("192.0.2.1", 10));
	assert_false(is_refused("192.0.2.2", 10));
	assert_true(is_refused("192.0.2.1", settings.memory_us + 2));
	assert_false(is_refused("192.0.2.1", settings.memory_us + 3));
	assert_int_equal(count("192.0.2.1", settings.memory_us + 3), 0);
	assert_int_equal(count_failure("192.0.2.1", "ann", settings.memory_us + 3), SECOND_US / 2);
}

static void a_network_has_five_times_the_limit(void **state)
{
	char client[32];

	(void)state;
	for (unsigned i = 0; i < settings.limit * AUTH_FAILURES_NETWORK; i++) {
		assert_false(is_refused("192.0.2.250", 0));
		snprintf(client, sizeof client, "192.0.2.%u", i);
		count_failure(client, "", 0);
	}
	assert_true(is_refused("192.0.2.250", 0));
	assert_false(is_refused("192.0.3.250", 0));
}

static void no_limit_and_no_address(void **state)
{
	static const struct auth_failures_settings none = {.limit = 0, .memory_us = MINUTE_US};

	(void)state;
	for (unsigned i = 0; i < 50; i++) {
		count_failure("::", "", 0);
		count_failure("192.0.2.1", "", 0);
	}
	assert_false(is_refused("::", 0)); /* users of this machine share it */
	assert_true(is_refused("192.0.2.1", 0));
	auth_failures_configure(failures, &none);
	assert_false(is_refused("192.0.2.1", 0));
}

/* Somebody who has a password guesses those of others, and succeeds as himself now and then. */
static void success_forgives_only_the_user_himself(void **state)
{
	(void)state;
	count_failure("192.0.2.1", "ann", 0);
	count_failure("192.0.2.1", "ann", 0);
	count_failure("192.0.2.1", "bob", 0);
	forgive("192.0.2.1", "eve");
	assert_int_equal(count("192.0.2.1", 0), 3);
	forgive("198.51.100.1", "ann");
	assert_int_equal(count("192.0.2.1", 0), 3);
	forgive("192.0.2.1", "ann");
	assert_int_equal(count("192.0.2.1", 0), 1);
	forgive("192.0.2.1", "ann");
	assert_int_equal(count("192.0.2.1", 0), 1);
}

static void the_table_is_bounded(void **state)
{
	char user[32];

	(void)state;
	count_failure("192.0.2.1", "", 0);
	for (unsigned i = 0; i < AUTH_FAILURES_MAX; i++) {
		snprintf(user, sizeof user, "u%u", i);
		count_failure("198.51.100.1", user, 0);
	}
	assert_int_equal(count("192.0.2.1", 0), 0); /* the oldest has made room */
	assert_int_equal(count("198.51.100.1", 0), AUTH_FAILURES_MAX);
}

/* A webmail, whose users are many. */
static void who_is_exempt_is_never_refused(void **state)
{
	const struct config_network home = {.address = address("127.0.0.0"), .prefix = 104};
	struct auth_failures_settings exempting = settings;

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		count_failure("127.0.0.1", "lisa", 0);
	assert_true(is_refused("127.0.0.1", 0));
	exempting.exempt = &home;
	exempting.exempt_count = 1;
	auth_failures_configure(failures, &exempting);
	assert_false(is_refused("127.0.0.1", 0));
	auth_failures_configure(failures, &settings);
	forgive("127.0.0.1", "lisa");
	auth_failures_configure(failures, &exempting);
	for (unsigned i = 0; i < 100; i++)
		count_failure("127.0.0.1", "", 0);
	assert_int_equal(count("127.0.0.1", 0), 0);
	/* a user is slow there as anywhere */
	assert_int_equal(count_failure("127.0.0.1", "lisa", 0), SECOND_US / 2);
	assert_int_equal(count_failure("127.0.0.1", "lisa", 0), SECOND_US);
	assert_int_equal(count_failure("127.0.0.1", "tom", 0), SECOND_US / 2);
	assert_int_equal(count_failure("192.0.2.9", "", 0), SECOND_US / 2);
	assert_int_equal(count("192.0.2.9", 0), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(delays_grow_to_five_seconds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_client_of_ipv6_is_its_network, set_up, tear_down),
		cmocka_unit_test_setup_teardown(users_are_counted_wherever_they_are_tried, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(over_the_limit_nothing_is_checked_for_a_while,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_network_has_five_times_the_limit, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(no_limit_and_no_address, set_up, tear_down),
		cmocka_unit_test_setup_teardown(success_forgives_only_the_user_himself, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(the_table_is_bounded, set_up, tear_down),
		cmocka_unit_test_setup_teardown(who_is_exempt_is_never_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
