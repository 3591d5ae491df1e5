// SPDX-License-Identifier: ISC
/*
 * What is found in a configuration, and what is not though it is near: networks of every
 * prefix against addresses that differ by one bit, names against those before, after and
 * inside them, hosts, local parts, ports and addresses at their bounds.
 */
#include "base/panic.h"
#include "config/type/value.h"
#include "config_outcome.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct in6_addr address_of(const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return address;
}

static void flip(struct in6_addr *address, unsigned bit)
{
	address->s6_addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
}

/* The network of WHOLE that the first bits FROM to FROM + PREFIX are of, alone in a list or
 * behind another one. */
static struct config *network_of(const char *setting, struct in6_addr whole, unsigned from,
				 unsigned prefix, bool is_second)
{
	char address[INET6_ADDRSTRLEN];
	char text[256];

	for (unsigned bit = from + prefix; bit < 128; bit++)
		whole.s6_addr[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
	assert_non_null(inet_ntop(from > 0 ? AF_INET : AF_INET6,
				  whole.s6_addr + (from > 0 ? 12 : 0), address, sizeof address));
	snprintf(text, sizeof text, HOST "%s = { %s%s/%u }", setting,
		 is_second ? "203.0.113.7, " : "", address, prefix);
	return config_of(text);
}

static void check_bits(const char *setting,
		       bool (*is_let_in)(const struct config *config,
					 const struct in6_addr *address),
		       const char *text, unsigned from)
{
	struct in6_addr whole = address_of(text);

	for (unsigned prefix = 0; prefix <= 128 - from; prefix++) {
		struct config *config = network_of(setting, whole, from, prefix, prefix % 2 == 0);

		assert_true(is_let_in(config, &whole));
		for (unsigned bit = 0; bit < 128; bit++) {
			struct in6_addr other = whole;

			flip(&other, bit);
			assert_int_equal(is_let_in(config, &other), bit >= from + prefix);
		}
		config_free(config);
	}
}

static void networks_end_at_their_bit(void **state)
{
	(void)state;
	check_bits("relay_from", config_may_relay, "::ffff:192.0.2.173", 96);
	check_bits("relay_from", config_may_relay, "::ffff:90.255.0.1", 96);
	check_bits("relay_from", config_may_relay, "2001:db8:a5f0:3c5a::ff01", 0);
	check_bits("proxy_from", config_is_proxy, "::ffff:10.170.85.204", 96);
	check_bits("proxy_from", config_is_proxy, "fd12:3456:789a:bcde:f012:3456:789a:bcde", 0);
}

/* COUNT domains, and as many addresses in each: each is found, what is near is not. */
static void check_names(size_t count)
{
	struct buffer text = {0};
	struct config *config;

	buffer_append_string(&text, HOST BOX);
	for (size_t i = 0; i < count; i++) {
		buffer_append_format(&text, "domain dza%02zu.test { service = box addresses = {",
				     i * 7 % count);
		for (size_t j = 0; j < count; j++)
			buffer_append_format(&text, "%s uza%02zu", j > 0 ? "," : "",
					     j * 11 % count);
		buffer_append_string(&text, " } }\n");
	}
	buffer_append_byte(&text, '\0');
	config = config_of(buffer_data(&text));
	for (size_t i = 0; i < count; i++) {
		char name[32];
		const struct config_domain *domain;

		snprintf(name, sizeof name, "DZA%02zu.Test", i);
		domain = config_domain_find(config, str_from(name));
		assert_non_null(domain);
		assert_int_equal(strncasecmp(domain->name, name, strlen(name) + 1), 0);
		assert_null(config_domain_find(config, str_slice(name, strlen(name) - 1)));
		strcat(name, "s");
		assert_null(config_domain_find(config, str_from(name)));
		snprintf(name, sizeof name, "UZA%02zu", i);
		assert_true(config_domain_has(domain, str_from(name)));
		assert_false(config_domain_has(domain, str_slice(name, 4)));
		strcat(name, "0");
		assert_false(config_domain_has(domain, str_from(name)));
	}
	assert_null(config_domain_find(config, STR("c.test")));
	assert_null(config_domain_find(config, STR("e.test")));
	config_free(config);
	buffer_clear(&text);
}

static void names_are_found_among_any_number(void **state)
{
	static const size_t counts[] = {1, 2, 3, 4, 5, 8, 13, 31, 61};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++)
		check_names(counts[i]);
}

/* All that a name can be, one longer, and the two that are no letters. */
static void local_parts_have_their_bounds(void **state)
{
	static const struct {
		const char *text;
		bool is_local;
	} cases[] = {
		{"", false},
		{"a", true},
		{"a.b", true},
		{"a..b", false},
		{".a", false},
		{"a.", false},
		{"-a", true},
		{"a-", true},
		{"a-b_c", true},
		{"a.1", true},
		{"1.a", true},
		{"a+b", true},
		{"a b", false},
		{"a@b", false},
		{"a\"b", false},
		{"\x80", false},
		{"AZaz09", true},
		{"a[b", false},
		{"`{|}~!#$%&'*/=?^", true},
	};
	char name[300];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_int_equal(config_text_is_local_part(str_from(cases[i].text)),
				 cases[i].is_local);
	memset(name, 'a', sizeof name);
	assert_true(config_text_is_local_part(str_slice(name, 64)));
	assert_false(config_text_is_local_part(str_slice(name, 65)));
	assert_false(config_text_is_local_part(str_slice("a\0b", 3)));
}

static void numbers_and_addresses_have_their_bounds(void **state)
{
	static const struct {
		const char *text;
		unsigned port; /* 0: none */
	} ports[] = {{"0", 0},     {"1", 1},      {"25", 25}, {"65535", 65535},
		     {"65536", 0}, {"000025", 0}, {"", 0},    {"2a", 0}};
	static const struct {
		const char *text;
		int is; /* 4, 6 or 0 */
	} addresses[] = {{"192.0.2.1", 4},
			 {"192.0.2.256", 0},
			 {"192.0.2", 0},
			 {"::1", 6},
			 {"2001:db8::", 6},
			 {"2001:db8", 0},
			 {"", 0},
			 {":", 0},
			 {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255", 6},
			 {"ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.2555", 0}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(ports); i++) {
		uint16_t port = 7;

		assert_int_equal(config_text_to_port(str_from(ports[i].text), &port),
				 ports[i].port > 0);
		assert_int_equal(port, ports[i].port > 0 ? ports[i].port : 7);
	}
	for (size_t i = 0; i < COUNT_OF(addresses); i++) {
		struct in6_addr address;
		bool is_ipv4 = addresses[i].is != 4;

		assert_int_equal(
			config_text_to_address(str_from(addresses[i].text), &address, &is_ipv4),
			addresses[i].is != 0);
		if (addresses[i].is == 0)
			continue;
		assert_int_equal(is_ipv4, addresses[i].is == 4);
		assert_int_equal(IN6_IS_ADDR_V4MAPPED(&address), is_ipv4);
	}
}

static void parts_are_found_by_their_names(void **state)
{
	struct config *config = config_of(
		HOST BOX "user = whole\n"
			 "service own { kind = maildir path = /n/%u user = u }\n"
			 "service run { kind = pipe command = \"/bin/x\" user = r }\n"
			 "domain a.test { service = box }\ndomain b.test { service = own }\n"
			 "transport own { concurrency = 3 }\nprocess pipe { user = piper }\n");
	struct config *home = config_of(HOST BOX "domain a.test { service = box }\n"
						 "domain mx.example.org { service = box }\n");
	struct config *bare = config_of(HOST);
	struct config *given = config_of(HOST BOX "default_domain = \"B\303\274cher.test\"\n"
						  "domain a.test { service = box }\n");

	(void)state;
	assert_string_equal(config_service_find(config, STR("own"))->name, "own");
	assert_null(config_service_find(config, STR("ow")));
	assert_int_equal(config_transport_find(config, STR("own"))->concurrency, 3);
	assert_null(config_transport_find(config, STR("owner")));
	assert_string_equal(config_process_user(config, "pipe"), "piper");
	assert_string_equal(config_process_user(config, "local"), "whole");
	assert_true(config_has_process_users(config) && !config_has_process_users(home));
	assert_true(config_has_owners(config, CONFIG_SERVICE_MAILDIR));
	assert_true(config_has_owners(config, CONFIG_SERVICE_PIPE));
	assert_false(config_has_owners(home, CONFIG_SERVICE_MAILDIR));
	assert_false(config_has_owners(home, CONFIG_SERVICE_PIPE));
	assert_string_equal(config_default_domain(config), "a.test");
	assert_string_equal(config_default_domain(home), "mx.example.org");
	assert_string_equal(config_default_domain(bare), "mx.example.org");
	assert_string_equal(config_default_domain(given), "xn--bcher-kva.test");
	assert_string_equal(config_users_domain(given), "xn--bcher-kva.test");
	assert_string_equal(config->default_domain, "");
	assert_string_equal(config_users_domain(config), "mx.example.org");
	config_free(config);
	config_free(home);
	config_free(bare);
	config_free(given);
}

/* What is printed of them is what they are. */
static void routes_are_kept_as_they_are(void **state)
{
	static const struct {
		const char *domain, *relay;
		unsigned port;
	} expected[] = {
		{"", "r.test", 25},
		{"!", "", 25},
		{".sub.test", "[::1]", 24},
		{"a.test", "r.test", 65535},
		{"b.test", "[192.0.2.1]", 25},
	};
	struct config *config =
		config_of(HOST "smtproutes = { \":R.test\", \"!@:\", \".Sub.Test:[IPv6:::1];24\", "
			       "\"A.Test:r.TEST;65535\", \"b.test:192.0.2.1;25\" }");
	struct buffer printed = {0};

	(void)state;
	for (int again = 0; again < 2; again++) {
		assert_int_equal(config->smtproute_count, COUNT_OF(expected));
		for (size_t i = 0; i < COUNT_OF(expected); i++) {
			assert_string_equal(config->smtproutes[i].domain, expected[i].domain);
			assert_string_equal(config->smtproutes[i].relay, expected[i].relay);
			assert_int_equal(config->smtproutes[i].port, expected[i].port);
		}
		buffer_reset(&printed);
		config_print(config, &printed);
		config_free(config);
		buffer_append_byte(&printed, '\0');
		config = config_of(buffer_data(&printed));
	}
	config_free(config);
	buffer_clear(&printed);
}

static void a_mailbox_base_has_no_recipient_in_it(void **state)
{
	static const struct {
		const char *path, *base;
	} cases[] = {
		{"/m/%d/%u", "/m"},    {"/m/mail-%d/%u", "/m"}, {"/%u", "/"},
		{"/m//%u", "/m"},      {"/a/b/c", "/a/b"},      {"/m/%%/%u", "/m"},
		{"/a/b/%u/x", "/a/b"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct config_service service = {.path = cases[i].path};

		assert_true(str_equal(config_mailbox_base(&service), str_from(cases[i].base)));
	}
}

/* What the directory may name is what is listed, with its port, and nothing that is like it. */
static void servers_are_reached_as_listed(void **state)
{
	static const struct {
		const char *server;
		bool is_reached;
	} cases[] = {
		{"10.0.0.0:24", true},
		{"10.255.255.255:24", true},
		{"11.0.0.0:24", false},
		{"9.255.255.255:24", false},
		{"10.0.0.1:25", false},
		{"192.0.2.7:2400", true},
		{"192.0.2.8:2400", false},
		{"[2001:db8::1]:24", true},
		{"[2001:db9::1]:24", false},
		{"[2001:DB8::1]:24", false}, /* not in canonical form */
		{"lmtp.example.org:24", true},
		{"x.lmtp.example.org:24", false},
		{"a.mail.example.org:24", true},
		{"a.b.mail.example.org:24", true},
		{"mail.example.org:24", false},
		{".mail.example.org:24", false},
		{"amail.example.org:24", false},
		{"another-mail.example.org:24", false},
		{"a.mail.example.org.evil.example:24", false},
		{"a.mail.example.org:25", false},
		{"a.mail.example.org", false},
		{"unix:/run/lmtp", false},
		{"", false},
	};
	struct config *config =
		config_of(HOST "service a { kind = lmtp address = unix:/l servers = { "
			       "\"10.0.0.0/8:24\", \"192.0.2.7:2400\", \"[2001:db8::/32]:24\", "
			       "\"lmtp.example.org:24\", \"*.mail.example.org:24\" } }\n"
			       "service b { kind = lmtp address = unix:/l }\n"
			       "service c { kind = maildir path = /m/%u }");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct str server = str_from(cases[i].server);
		const char *problem = config_service_server_problem(&config->services[0], server);

		if ((problem == NULL) != cases[i].is_reached)
			fail_msg("%s: %s", cases[i].server, problem);
		assert_non_null(config_service_server_problem(&config->services[1], server));
		assert_string_equal(config_service_server_problem(&config->services[2], server),
				    "is not of kind lmtp");
	}
	assert_true(config_has_server_names(config));
	config_free(config);
	config = config_of(
		HOST "service a { kind = lmtp address = unix:/l servers = { \"10.0.0.7:24\" } }");
	assert_false(config_has_server_names(config));
	config_free(config);
}

static void who_may_connect_is_said_for_qmqp_alone(void **state)
{
	static const struct {
		const char *address;
		bool is_client;
	} cases[] = {
		{"::ffff:10.1.2.3", true},   {"::ffff:11.1.2.3", false}, {"::ffff:192.0.2.7", true},
		{"::ffff:192.0.2.6", false}, {"2001:db8::1", true},      {"2001:db9::1", false},
	};
	struct config *config =
		config_of(HOST "listen qmqp { address = 127.0.0.1:628 clients = { 10.0.0.0/8, "
			       "192.0.2.7, \"2001:db8::/32\" } }\n"
			       "listen qmtp { address = 127.0.0.1:209 }\n");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct in6_addr address = address_of(cases[i].address);

		assert_int_equal(config_admits(&config->listens[0], &address), cases[i].is_client);
		assert_true(config_admits(&config->listens[1], &address));
	}
	assert_true(config_has_qmtp(config));
	assert_true(config_is_qmtp(&config->listens[0]));
	config_free(config);
	config = config_of(HOST "listen smtp { address = 127.0.0.1:25 }");
	assert_false(config_has_qmtp(config));
	config_free(config);
}

static void users_between_two_numbers_have_mail(void **state)
{
	struct config *usual = config_of(HOST);
	struct config *all = config_of(HOST "uid_min = 1 uid_max = 4294967295");
	struct config *one = config_of(HOST "uid_min = 5 uid_max = 5");
	struct config_problems problems = {0};
	struct config *none = NULL;

	(void)state;
	assert_false(config_has_mail_user(usual, 999) || config_has_mail_user(usual, 60001));
	assert_true(config_has_mail_user(usual, 1000) && config_has_mail_user(usual, 60000));
	assert_true(config_has_mail_user(all, 1) && config_has_mail_user(all, UINT32_MAX));
	assert_false(config_has_mail_user(all, 0));
	assert_true(config_has_mail_user(one, 5));
	assert_false(config_has_mail_user(one, 4) || config_has_mail_user(one, 6));
	assert_int_equal(
		config_parse("t", STR(HOST "uid_min = 6\nuid_max = 5\n"), &none, &problems),
		-EINVAL);
	config_problems_clear(&problems);
	config_free(usual);
	config_free(all);
	config_free(one);
}

static void mailboxes_are_of_two_kinds(void **state)
{
	struct config *config =
		config_of(HOST "service m { kind = mbox path = /var/mail/%u user = %u }\n"
			       "service l { kind = lmtp address = \"[::1]:24\" }\n");
	struct config *files = config_of(HOST "service m { kind = mbox path = /var/mail/%u }");
	struct config *bare = config_of(HOST);

	(void)state;
	assert_int_equal(config->services[0].kind, CONFIG_SERVICE_MBOX);
	assert_int_equal(config->services[0].lock_timeout, 10);
	assert_true(config_service_is_local(&config->services[0]));
	assert_false(config_service_is_local(&config->services[1]));
	assert_true(config_has_local_service(config) && !config_has_local_service(bare));
	assert_true(config_has_mailbox_owners(config) && !config_has_mailbox_owners(files));
	config_free(config);
	config_free(files);
	config_free(bare);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_are_kept_as_they_are),
		cmocka_unit_test(a_mailbox_base_has_no_recipient_in_it),
		cmocka_unit_test(networks_end_at_their_bit),
		cmocka_unit_test(names_are_found_among_any_number),
		cmocka_unit_test(local_parts_have_their_bounds),
		cmocka_unit_test(numbers_and_addresses_have_their_bounds),
		cmocka_unit_test(servers_are_reached_as_listed),
		cmocka_unit_test(who_may_connect_is_said_for_qmqp_alone),
		cmocka_unit_test(parts_are_found_by_their_names),
		cmocka_unit_test(users_between_two_numbers_have_mail),
		cmocka_unit_test(mailboxes_are_of_two_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
