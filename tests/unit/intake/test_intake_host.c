// SPDX-License-Identifier: ISC
/* What a session asks of the machine: its load, and whether an address is its own. */
#include "intake/internal.h"
#include "os/load.h"
#include "test.h"
#include <arpa/inet.h>
#include <limits.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

static unsigned load;

unsigned __wrap_os_load_average(void);
unsigned __wrap_os_load_average(void)
{
	return load;
}

/* In hundredths: at the limit it is too high already. A UNIX socket has no limit, and 0 is none. */
static void the_load_has_its_limit(void **state)
{
	static const struct {
		uint32_t limit;
		unsigned load;
		bool is_overloaded;
	} cases[] = {
		{0, 0, false},      {0, UINT_MAX, false}, {1, 0, false},
		{1, 99, false},     {1, 100, true},       {1, 101, true},
		{250, 2500, false}, {250, 24999, false},  {250, 25000, true},
	};
	struct config config = {0};
	struct intake intake = {.config = &config};
	struct intake_session session = {.intake = &intake};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
		bool is_local = i % 2;

		snprintf(session.address, sizeof session.address, "%s",
			 is_local ? OS_SOCKET_UNIX : "192.0.2.1");
		config.load_refuse = cases[i / 2].limit;
		load = cases[i / 2].load;
		assert_int_equal(intake_limit_is_overloaded(&session),
				 cases[i / 2].is_overloaded && !is_local);
	}
}

/* A socket of FAMILY on its loopback address. */
static int socket_at_loopback(int family)
{
	const struct sockaddr_in four = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 six = {.sin6_family = AF_INET6,
					 .sin6_addr = IN6ADDR_LOOPBACK_INIT};
	int made = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	assert_true(made >= 0);
	if (family == AF_INET)
		assert_int_equal(bind(made, (const struct sockaddr *)&four, sizeof four), 0);
	if (family == AF_INET6)
		assert_int_equal(bind(made, (const struct sockaddr *)&six, sizeof six), 0);
	return made;
}

/* That of the session's own end; a UNIX socket has none, not even one of zeros. */
static void our_address_is_that_of_our_end(void **state)
{
	static const char *const addresses[] = {"::ffff:127.0.0.1", "::1", "::", "::ffff:127.0.0.2",
						"::ffff:0.0.0.0"};
	static const int families[] = {AF_INET, AF_INET6, AF_UNIX};
	const struct config config = {0};
	struct intake intake = {.config = &config};
	struct intake_session session = {.intake = &intake};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(families); i++) {
		session.tls.stream.socket = socket_at_loopback(families[i]);
		for (size_t j = 0; j < COUNT_OF(addresses); j++) {
			struct in6_addr address;

			assert_int_equal(inet_pton(AF_INET6, addresses[j], &address), 1);
			assert_int_equal(intake_is_our_address(&session, &address),
					 i == j && i < 2);
		}
		close(session.tls.stream.socket);
	}
	session.tls.stream.socket = -1;
	assert_false(intake_is_our_address(&session, &in6addr_any));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_load_has_its_limit),
		cmocka_unit_test(our_address_is_that_of_our_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
