// SPDX-License-Identifier: ISC
#include "config/text.h"
#include "deliver/remote/route/source.h"
#include "os/socket/socket.h"
#include "test.h"
#include <errno.h>

static const char settings[] =
	"hostname = mx.test\n"
	"source one { addresses = { 127.0.0.2, \"::1\", 127.0.0.3, 127.0.0.4 } }\n"
	"source two { addresses = { \"::1\" } hostname = two.test }\n"
	"source three { addresses = { 192.0.2.77, 127.0.0.5 } }\n"
	"source = one\n"
	"sender_sources = { \"Ann@a.test:two\", \".a.test:three\" }\n"
	"domain_sources = { b.test:two, \".b.test:three\" }\n"
	"class \"mx.c.test\" { queue = 1 refuse = 1 source = two }\n"
	"class \"*\" { queue = 1 refuse = 1 }\n";

struct fixture {
	struct config *config;
	struct remote_sources *sources;
	int listening;
	union os_socket_address address;
};

static int set_up(void **state)
{
	static struct fixture fixture;
	struct config_problems problems;

	assert_int_equal(config_parse("t", str_from(settings), &fixture.config, &problems), 0);
	config_problems_clear(&problems);
	fixture.sources = remote_sources_new(fixture.config);
	assert_true(os_socket_address_parse("127.0.0.1", 0, &fixture.address));
	fixture.listening = os_socket_listen(&fixture.address, 16);
	assert_true(fixture.listening >= 0);
	assert_int_equal(os_socket_local_address(fixture.listening, &fixture.address), 0);
	*state = &fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	os_socket_close(fixture->listening);
	remote_sources_free(fixture->sources);
	config_free(fixture->config);
	return 0;
}

/* "-": none. */
static void check_mail(const struct fixture *fixture, const char *sender, const char *domain,
		       const char *expected)
{
	const struct config_source *source =
		remote_sources_of_mail(fixture->sources, str_from(sender), str_from(domain));

	assert_string_equal(source != NULL ? source->name : "-", expected);
}

static void the_sender_comes_before_the_domain(void **state)
{
	const struct fixture *fixture = *state;

	check_mail(fixture, "aNN@A.test", "b.test", "two");
	check_mail(fixture, "ann@x.a.test", "b.test", "three");
	check_mail(fixture, "bob@a.test", "b.test", "two");
	check_mail(fixture, "bob@a.test", "y.x.b.test", "three");
	check_mail(fixture, "", "b.test", "two");
	check_mail(fixture, "bob@a.test", "bb.test", "-");
	check_mail(fixture, "bob@a.test", "[192.0.2.1]", "-");
}

static void a_server_has_the_source_of_its_class(void **state)
{
	const struct fixture *fixture = *state;
	struct dns_server server = {.address = fixture->address, .host = "mx.c.test"};

	assert_string_equal(remote_sources_of_server(fixture->sources, &server)->name, "two");
	server.host = "mx.d.test";
	assert_string_equal(remote_sources_of_server(fixture->sources, &server)->name, "one");
}

/* The address that the peer sees; "-": none. */
static void check_next(const struct fixture *fixture, const char *source, const char *host,
		       const char *expected)
{
	const struct dns_server server = {.address = fixture->address, .host = host};
	struct in6_addr address;
	union os_socket_address peer;
	char text[OS_SOCKET_TEXT_SIZE];
	int accepted;
	int socket = remote_source_connect(fixture->sources,
					   config_source_find(fixture->config, str_from(source)),
					   &server, &address);

	if (*expected == '-') {
		assert_int_equal(socket, -EADDRNOTAVAIL);
		return;
	}
	assert_true(socket >= 0);
	assert_int_equal(os_socket_wait(fixture->listening, false, 5000000), 0);
	accepted = os_socket_accept(fixture->listening, &peer);
	assert_true(accepted >= 0);
	os_socket_address_format_host(&peer, text);
	assert_string_equal(text, expected);
	os_socket_address_format_mapped(&address, text);
	assert_string_equal(text, expected);
	os_socket_close(accepted);
	os_socket_close(socket);
}

static void each_host_gets_the_address_used_longest_ago(void **state)
{
	const struct fixture *fixture = *state;

	check_next(fixture, "one", "h1", "127.0.0.2");
	check_next(fixture, "one", "h1", "127.0.0.3");
	check_next(fixture, "one", "h2", "127.0.0.2");
	check_next(fixture, "one", "h1", "127.0.0.4");
	check_next(fixture, "one", "h1", "127.0.0.2");
	check_next(fixture, "one", "h2", "127.0.0.3");
}

static void what_is_missing_is_passed_over(void **state)
{
	const struct fixture *fixture = *state;

	check_next(fixture, "three", "h1", "127.0.0.5");
	check_next(fixture, "three", "h1", "127.0.0.5");
	check_next(fixture, "two", "h1", "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_sender_comes_before_the_domain, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_server_has_the_source_of_its_class, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(each_host_gets_the_address_used_longest_ago, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(what_is_missing_is_passed_over, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
