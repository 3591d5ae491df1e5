// SPDX-License-Identifier: ISC
#include "config_outcome.h"
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void defaults_are_complete(void **state)
{
	struct config *c = config_of(HOST);

	(void)state;
	assert_string_equal(c->hostname, "mx.example.org");
	assert_string_equal(c->queue, "/var/spool/stagepost");
	assert_string_equal(c->run, "/run/stagepost");
	assert_string_equal(c->user, "stagepost");
	assert_string_equal(c->dns_server, "");
	assert_false(c->dane);
	assert_string_equal(c->dns_trust_anchor, "/usr/share/dns/root.key");
	assert_int_equal(c->dns_unsigned_count, 0);
	assert_string_equal(c->log_level, "info");
	assert_string_equal(c->recipient_delimiter, "+");
	assert_string_equal(c->bouncefrom, "MAILER-DAEMON");
	assert_string_equal(c->doublebounceto, "postmaster@mx.example.org");
	assert_int_equal(c->split, 97);
	assert_int_equal(c->queue_sync, CONFIG_SYNC_AUTO);
	assert_false(c->queue_unsafe);
	assert_int_equal(c->maxsize, 52428800);
	assert_int_equal(c->queuelifetime_us, 7 * DAY_US);
	assert_int_equal(c->delaynotice_us, 0);
	assert_int_equal(c->rescan_us, 25 * MINUTE_US);
	assert_int_equal(c->smtp_timeout, 300);
	assert_int_equal(c->proxy_timeout, 5);
	assert_int_equal(c->proxy_from_count, 2);
	assert_int_equal(c->smtp_data_timeout, 180);
	assert_int_equal(c->smtp_min_rate, 500);
	assert_int_equal(c->maxcommands, 100);
	assert_int_equal(c->listen_count + c->service_count + c->domain_count, 0);
	assert_int_equal(c->transport_count, 2);
	assert_string_equal(c->transports[1].name, "list");
	assert_string_equal(c->transports[0].name, "remote");
	assert_int_equal(c->transports[0].concurrency, 100);
	config_free(c);
}

static void the_example_parses(void **state)
{
	struct config_problems problems;
	struct config *c = NULL;

	(void)state;
	assert_int_equal(load_config(getenv("EXAMPLE"), &c, &problems), 0);
	assert_int_equal(c->listen_count, 2);
	assert_int_equal(c->listens[0].address_count, 2);
	assert_string_equal(c->listens[0].addresses[1].text, "[::]:25");
	assert_string_equal(c->listens[0].addresses[1].host, "::");
	assert_int_equal(c->listens[0].addresses[1].port, 25);
	assert_int_equal(c->listens[1].protocol, CONFIG_SUBMISSION);
	assert_int_equal(c->listens[1].stage, MAIL_STAGE_SUBMIT);
	assert_int_equal(c->smtproute_count, 0); /* a copy sends nobody's mail to a relay */
	assert_int_equal(config_transport_find(c, STR("remote"))->concurrency, 200);
	assert_int_equal(config_transport_find(c, STR("maildir"))->destination_concurrency, 20);
	config_free(c);
	config_problems_clear(&problems);
}

static void routes_have_domains_and_relays(void **state)
{
	static const char text[] = "hostname = mx.example.org\n"
				   "smtproutes = { \"example.net:relay.example.net;2525\", "
				   "\".example.edu:\", \":smarthost.example.org\", "
				   "\"!:bounces.example.org\" }\n";
	struct config *c = config_of(text);

	(void)state;
	assert_int_equal(c->smtproute_count, 4);
	assert_string_equal(c->smtproutes[0].relay, "relay.example.net");
	assert_int_equal(c->smtproutes[0].port, 2525);
	assert_string_equal(c->smtproutes[1].domain, ".example.edu");
	assert_string_equal(c->smtproutes[1].relay, "");
	assert_int_equal(c->smtproutes[1].port, 25);
	assert_string_equal(c->smtproutes[2].domain, "");
	assert_string_equal(c->smtproutes[3].domain, "!");
	config_free(c);
}

/* As netqmail has them in control/smtproutes, and with an address that has colons itself. */
static void a_port_after_a_colon(void **state)
{
	static const char text[] =
		"hostname = mx.example.org\n"
		"smtproutes = { \"a.org:r.org:2525\", \":[2001:db8::1]:26\", "
		"\"b.org:[2001:db8::1]\", \"c.org:\", \"d.org:192.0.2.1:587|ann\" }\n";
	static const struct {
		const char *relay;
		uint16_t port;
	} expected[] = {{"r.org", 2525},
			{"[2001:db8::1]", 26},
			{"[2001:db8::1]", 25},
			{"", 25},
			{"[192.0.2.1]", 587}};
	struct config *c = config_of(text);

	(void)state;
	assert_int_equal(c->smtproute_count, COUNT_OF(expected));
	for (size_t i = 0; i < COUNT_OF(expected); i++) {
		assert_string_equal(c->smtproutes[i].relay, expected[i].relay);
		assert_int_equal(c->smtproutes[i].port, expected[i].port);
	}
	config_free(c);
}

/* Most processes get the configuration without the passwords, and can read it as before. */
static void passwords_are_hidden(void **state)
{
	static const char text[] =
		"hostname = mx.example.org # smtproutes = \"a:b|c|d\"\n"
		"smtproutes = { \"a.org:r;587|ann@a.org|se\\\"same|2\", b.org:r|ann|sesame,\n"
		"\t'c.org:r|ann', \"d.org:r\" }\n"
		"smtproutes += \"e.org:r|ann|sesame, \\\\\"\n"
		"service smtproutes { kind = pipe user = sam command = { /bin/sh, \"a:b|c|d\" } }\n"
		"domain example.org { service = smtproutes }\n";
	static const char hidden[] =
		"hostname = mx.example.org # smtproutes = \"a:b|c|d\"\n"
		"smtproutes = { \"a.org:r;587|ann@a.org|hidden\", b.org:r|ann|hidden,\n"
		"\t'c.org:r|ann', \"d.org:r\" }\n"
		"smtproutes += \"e.org:r|ann|hidden\"\n"
		"service smtproutes { kind = pipe user = sam command = { /bin/sh, \"a:b|c|d\" } }\n"
		"domain example.org { service = smtproutes }\n";
	struct config *c = config_of(text);
	struct buffer out = {0};

	(void)state;
	assert_int_equal(c->smtproute_count, 5);
	assert_string_equal(c->smtproutes[0].user, "ann@a.org");
	assert_string_equal(c->smtproutes[0].password, "se\"same|2");
	assert_int_equal(c->smtproutes[0].port, 587);
	assert_string_equal(c->smtproutes[1].password, "sesame");
	assert_string_equal(c->smtproutes[2].user, "ann");
	assert_string_equal(c->smtproutes[2].password, "");
	assert_string_equal(c->smtproutes[3].user, "");
	assert_string_equal(c->smtproutes[4].password, "sesame, \\");
	config_print(c, &out);
	assert_null(memmem(buffer_data(&out), out.length, "same", 4));
	buffer_reset(&out);
	config_print_changed(c, "t", STR(text), &out);
	assert_null(memmem(buffer_data(&out), out.length, "same", 4));
	buffer_reset(&out);
	config_hide_secrets(STR(text), false, &out);
	assert_true(str_equal(buffer_view(&out), STR(hidden)));
	buffer_append_byte(&out, '\0');
	config_free(c);
	c = config_of(buffer_data(&out));
	assert_string_equal(c->smtproutes[0].password, CONFIG_HIDDEN);
	config_free(c);
	buffer_clear(&out);
}

/* Only those that need the key have it, and nobody shows it. */
static void the_key_of_the_site_is_hidden(void **state)
{
	static const char text[] = "hostname = mx.a.test\n"
				   "site_key = '00112233445566778899aabbccddeeff' # ours\n"
				   "smtproutes = \"a.test:b.test|u|sesame\"\n";
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct config *c = config_of(text);

	(void)state;
	assert_int_equal(c->site_key.high, 0x0011223344556677);
	assert_int_equal(c->site_key.low, 0x8899aabbccddeeff);
	assert_true(config_has_site_key(c));
	config_print(c, &out);
	config_print_changed(c, "t", STR(text), &out);
	assert_null(memmem(buffer_data(&out), out.length, "00112233", 8));
	assert_non_null(
		memmem(buffer_data(&out), out.length, "site_key = \"hidden\"  # t:2\n", 27));
	config_free(c);

	buffer_reset(&out);
	config_hide_secrets(STR(text), false, &out);
	assert_null(memmem(buffer_data(&out), out.length, "00112233", 8));
	buffer_append_byte(&out, '\0');
	c = config_of(buffer_data(&out));
	assert_false(config_has_site_key(c));
	assert_string_equal(c->smtproutes[0].password, CONFIG_HIDDEN);
	config_free(c);

	buffer_reset(&out);
	config_hide_secrets(STR(text), true, &out);
	buffer_append_byte(&out, '\0');
	c = config_of(buffer_data(&out));
	assert_true(config_has_site_key(c));
	assert_string_equal(c->smtproutes[0].password, CONFIG_HIDDEN);
	config_free(c);
}

static void a_key_can_be_added(void **state)
{
	static const char *const texts[] = {"hostname = mx.a.test", "hostname = mx.a.test # x",
					    "hostname = mx.a.test\ntransport remote { }\n"};
	const struct hash_key key = {0x8899aabbccddeeff, 0x11223344556677};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct config *c;

		buffer_append_string(&text, texts[i]);
		config_append_site_key(key, &text);
		buffer_append_byte(&text, '\0');
		c = config_of(buffer_data(&text));
		assert_int_equal(c->site_key.high, key.high);
		assert_int_equal(c->site_key.low, key.low);
		config_free(c);
	}
}

static void what_is_no_key(void **state)
{
	static const char *const keys[] = {
		"00000000000000000000000000000000", "00112233445566778899aabbccddeef",
		"00112233445566778899aabbccddeeff0", "0x112233445566778899aabbccddeeff",
		"+0112233445566778899aabbccddeeff"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		struct buffer text CLEANUP(buffer_clear) = {0};
		struct buffer shown CLEANUP(buffer_clear) = {0};
		struct config_problems problems;
		struct config *c;

		buffer_append_format(&text, "hostname = a.test\nsite_key = \"%s\"\n", keys[i]);
		assert_int_equal(config_parse("t", buffer_view(&text), &c, &problems), -EINVAL);
		config_problems_print(&problems, "t", &shown);
		assert_null(memmem(buffer_data(&shown), shown.length, keys[i], strlen(keys[i])));
		assert_non_null(
			memmem(buffer_data(&shown), shown.length, "t:2: site_key: not a key", 24));
		config_problems_clear(&problems);
	}
}

static void every_way_to_write_a_value_is_read(void **state)
{
	struct config *c = config_of(
		"hostname='MX.Example.Org'// comment\n"
		"/* { */ queue = \"/a \\\"b\\\\\" user = \"\" run = /run/a /*x*/\r\n"
		"relay_from = 10.0.0.0/8 relay_from += { ::1, '2001:db8::/32', }\n"
		"maxsize = 1G rescan = 90 queuelifetime = 2w delaynotice = 4h queue_unsafe = on\n"
		"dns_server = ::1 dns_unsigned = { lan, Corp.Example } doublebounceto = \"\" "
		"bouncemaxbytes = 0\n"
		"smtproutes = { a.org:192.0.2.1, \"b.org:[IPv6:2001:db8::1];26\", c.org:Relay;1 }\n"
		"listen smtp{address={unix:/run/s,1.2.3.4:25}proxy=yes bare_newline=normalize}\n"
		"nul = remove strict_addresses = yes allow_early_commands = yes\n"
		"own_addresses = 192.0.2.1\n");

	(void)state;
	assert_string_equal(c->hostname, "mx.example.org");
	assert_string_equal(c->queue, "/a \"b\\");
	assert_string_equal(c->run, "/run/a");
	assert_string_equal(c->user, "");
	assert_int_equal(c->relay_from_count, 3);
	assert_int_equal(c->relay_from[0].prefix, 104);
	assert_int_equal(c->relay_from[1].prefix, 128);
	assert_int_equal(c->maxsize, 1 << 30);
	assert_int_equal(c->rescan_us, 90 * SECOND_US);
	assert_int_equal(c->queuelifetime_us, 14 * DAY_US);
	assert_int_equal(c->delaynotice_us, 4 * HOUR_US);
	assert_true(c->queue_unsafe);
	assert_string_equal(c->dns_server, "::1@53");
	assert_int_equal(c->dns_unsigned_count, 2);
	assert_string_equal(c->dns_unsigned[0], "lan");
	assert_string_equal(c->dns_unsigned[1], "corp.example");
	assert_string_equal(c->doublebounceto, "");
	assert_string_equal(c->smtproutes[0].relay, "[192.0.2.1]");
	assert_string_equal(c->smtproutes[1].relay, "[2001:db8::1]");
	assert_int_equal(c->smtproutes[1].port, 26);
	assert_string_equal(c->smtproutes[2].relay, "relay");
	assert_string_equal(c->listens[0].addresses[0].host, "/run/s");
	assert_int_equal(c->listens[0].addresses[0].port, 0);
	assert_int_equal(c->listens[0].stage, MAIL_STAGE_ARRIVE);
	assert_true(c->listens[0].proxy);
	assert_int_equal(c->listens[0].bare_newline, CONFIG_BARE_NEWLINE_NORMALIZE);
	assert_int_equal(c->nul, CONFIG_NUL_REMOVE);
	assert_true(c->strict_addresses);
	assert_int_equal(c->own_address_count, 1);
	assert_true(c->allow_early_commands);
	config_free(c);
}

static void what_is_printed_parses_to_the_same(void **state)
{
	static const char *const texts[] = {
		HOST,
		HOST BOX "domain b.org { service = box } domain a.org { service = box addresses = "
			 "{ z, y } } transport box { paused = yes } spares = 0 rescan = 61s",
		HOST "queue = \"/a \\\"b\\\\\" listen smtp { address = { \"[::]:25\", unix:/x } "
		     "stage = submit } smtproutes = { \"!:[::1];26\", \"x:\" } maxsize = 1025",
		HOST "service l { kind = lmtp address = unix:/run/lmtp timeout = 90 }\n"
		     "service v { kind = pipe command = { /bin/v, -d, \"%u@%d\", \"\", \"100%%\" } "
		     "user = ann output_max = 4K }\n"
		     "service m { kind = maildir path = /home/%u/Maildir user = %u }\n"
		     "service t { kind = lmtp address = \"[::1]:24\" }",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct buffer once = outcome_of(str_from(texts[i]));
		struct buffer twice = outcome_of(buffer_view(&once));

		assert_true(str_starts_with(buffer_view(&once), STR("hostname = ")));
		assert_true(str_equal(buffer_view(&once), buffer_view(&twice)));
		buffer_clear(&once);
		buffer_clear(&twice);
	}
}

static void services_have_their_settings(void **state)
{
	struct config *c = config_of(
		HOST "service l { kind = lmtp address = unix:/run/lmtp timeout = 90 }\n"
		     "service v { kind = pipe command = { /bin/v, -d, \"\", %u } user = ann }\n"
		     "service m { kind = maildir path = /m user = %u }\n");
	const struct config_service *pipe = config_service_find(c, STR("v"));

	(void)state;
	assert_int_equal(c->services[0].kind, CONFIG_SERVICE_LMTP);
	assert_string_equal(c->services[0].address.host, "/run/lmtp");
	assert_int_equal(c->services[0].address.port, 0);
	assert_int_equal(c->services[0].timeout, 90);
	assert_int_equal(pipe->kind, CONFIG_SERVICE_PIPE);
	assert_int_equal(pipe->command_count, 4);
	assert_string_equal(pipe->command[1], "-d");
	assert_string_equal(pipe->command[2], "");
	assert_string_equal(pipe->command[3], "%u");
	assert_string_equal(pipe->user, "ann");
	assert_int_equal(pipe->timeout, 300);
	assert_int_equal(pipe->output_max, 1024);
	assert_string_equal(c->services[2].user, "%u");
	config_free(c);
}

static void processes_have_their_users(void **state)
{
	struct config *c = config_of(HOST "user = whole\nprocess pipe { user = own }\n");
	struct config *one = config_of(HOST "user = whole\nprocess pipe { user = \"\" }\n");

	(void)state;
	assert_string_equal(config_process_user(c, "pipe"), "own");
	assert_string_equal(config_process_user(c, "local"), "whole");
	assert_string_equal(config_process_user(c, "queue"), "whole");
	assert_true(config_has_process_users(c));
	assert_string_equal(config_process_user(one, "pipe"), "whole");
	assert_false(config_has_process_users(one));
	config_free(one);
	config_free(c);
}

static void mailboxes_have_a_base(void **state)
{
	static const char *const cases[][2] = {
		{"/var/mail/%d/%u", "/var/mail"},
		{"/var/mail/box-%u", "/var/mail"},
		{"/var/mail//%u", "/var/mail"},
		{"/var/mail/box", "/var/mail"},
		{"/%u", "/"},
		{"/home/%u/Maildir", "/home"},
		{"/a/b%%c/%u", "/a"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct config_service service = {.path = cases[i][0]};

		assert_true(str_equal(config_mailbox_base(&service), str_from(cases[i][1])));
	}
}

static void names_are_found_in_any_case(void **state)
{
	struct config *c =
		config_of(HOST BOX "domain c.org { service = box }\n"
				   "domain A.org { service = box addresses = { bob, Ann } }\n"
				   "domain b.org { service = box }\n");
	const struct config_domain *domain = config_domain_find(c, STR("a.ORG"));

	(void)state;
	assert_non_null(domain);
	assert_string_equal(c->domains[0].name, "c.org");
	assert_ptr_equal(domain->service, config_service_find(c, STR("box")));
	assert_true(config_domain_has(domain, STR("ANN")));
	assert_true(config_domain_has(domain, STR("bob")));
	assert_false(config_domain_has(domain, STR("bo")));
	assert_false(config_domain_has(domain, STR("bobb")));
	assert_false(config_domain_has(domain, STR("")));
	domain = config_domain_find(c, STR("c.org"));
	assert_non_null(domain);
	assert_true(config_domain_has(domain, STR("anybody")));
	assert_non_null(config_domain_find(c, STR("b.org")));
	assert_null(config_domain_find(c, STR("d.org")));
	assert_null(config_domain_find(c, STR("")));
	assert_null(config_transport_find(c, STR("boxes")));
	config_free(c);
}

static void relaying_follows_the_networks(void **state)
{
	static const struct {
		const char *address;
		bool may;
	} cases[] = {
		{"::ffff:127.0.0.1", true},
		{"::ffff:126.0.0.1", false},
		{"::ffff:10.1.2.129", true},
		{"::ffff:10.1.2.127", false},
		{"::1", true},
		{"::2", false},
		{"2001:db8:1::5", true},
		{"2001:db8:2::5", false},
		{"::127.0.0.1", false},
	};
	struct config *c = config_of(HOST "relay_from = { 127.0.0.0/8, 10.1.2.128/25, ::1,"
					  " 2001:db8:1::/48 }");
	struct config *all = config_of(HOST "relay_from = 0.0.0.0/0");
	struct in6_addr address;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		assert_int_equal(inet_pton(AF_INET6, cases[i].address, &address), 1);
		assert_int_equal(config_may_relay(c, &address), cases[i].may);
		assert_int_equal(config_may_relay(all, &address), i < 4);
	}
	config_free(c);
	config_free(all);
}

static bool is_proxy(const struct config *c, const char *text)
{
	struct in6_addr address;

	assert_int_equal(inet_pton(AF_INET6, text, &address), 1);
	return config_is_proxy(c, &address);
}

static void proxies_are_on_this_machine_unless_said(void **state)
{
	struct config *c = config_of(HOST);
	struct config *set = config_of(HOST "proxy_from = 192.0.2.1");

	(void)state;
	assert_true(is_proxy(c, "::ffff:127.0.0.1"));
	assert_true(is_proxy(c, "::ffff:127.255.0.1"));
	assert_true(is_proxy(c, "::1"));
	assert_false(is_proxy(c, "::2"));
	assert_false(is_proxy(c, "::ffff:128.0.0.1"));
	assert_true(is_proxy(set, "::ffff:192.0.2.1"));
	assert_false(is_proxy(set, "::1"));
	config_free(c);
	config_free(set);
}

static void the_hostname_comes_from_the_machine(void **state)
{
	struct buffer out = outcome_of(STR(""));
	char name[256] = "";

	(void)state;
	assert_int_equal(gethostname(name, sizeof name - 1), 0);
	if (strchr(name, '.') != NULL)
		assert_true(str_starts_with(buffer_view(&out), STR("hostname = ")));
	else
		assert_true(str_starts_with(buffer_view(&out), STR("t: hostname: must be set")));
	buffer_clear(&out);
}

static void unreadable_files_are_reported(void **state)
{
	struct config_problems problems;
	struct config *config = NULL;
	struct buffer out = {0};

	(void)state;
	assert_int_equal(load_config("/nonexistent", &config, &problems), -ENOENT);
	config_problems_print(&problems, "f", &out);
	config_problems_clear(&problems);
	assert_int_equal(load_config("/", &config, &problems), -EISDIR);
	config_problems_print(&problems, "f", &out);
	config_problems_clear(&problems);
	assert_int_equal(load_config("/dev/zero", &config, &problems), -EINVAL);
	config_problems_print(&problems, "f", &out);
	config_problems_clear(&problems);
	assert_true(str_equal(buffer_view(&out),
			      STR("f: No such file or directory\n"
				  "f: Is a directory\n"
				  "f: the file is too large; allowed: at most 4 MiB\n")));
	assert_null(config);
	buffer_clear(&out);
	out = outcome_of(str_slice(HOST "a\0b", sizeof HOST + 2));
	assert_true(str_equal(buffer_view(&out), STR("t:2: a NUL byte in the file\n")));
	buffer_clear(&out);
}

static void many_problems_are_bounded(void **state)
{
	struct buffer text = {0};
	struct buffer out;
	size_t lines = 0;

	(void)state;
	for (int i = 0; i < 5000; i++)
		buffer_append_string(&text, "x = 1\n");
	out = outcome_of(buffer_view(&text));
	for (size_t i = 0; i < out.length; i++)
		lines += buffer_data(&out)[i] == '\n';
	assert_int_equal(lines, 1001);
	assert_true(str_ends_with_nocase(buffer_view(&out),
					 STR("t: there are more problems than these\n")));
	buffer_clear(&out);
	buffer_clear(&text);
}

static void long_values_are_refused(void **state)
{
	struct buffer text = {0};
	struct buffer out;

	(void)state;
	buffer_append_string(&text, HOST "queue = /");
	for (int i = 0; i < 4096; i++)
		buffer_append_byte(&text, 'a');
	out = outcome_of(buffer_view(&text));
	assert_true(str_starts_with(buffer_view(&out), STR("t:2: too long: found \"/aaa")));
	buffer_clear(&out);
	buffer_clear(&text);
}

static void many_domains_are_read_quickly(void **state)
{
	struct config_problems problems;
	struct config *config = NULL;
	struct buffer text = {0};

	(void)state;
	buffer_append_string(&text, HOST BOX);
	for (int i = 0; i < 50000; i++)
		buffer_append_format(&text, "domain d%d.example { service = box }\n", i);
	assert_int_equal(config_parse("t", buffer_view(&text), &config, &problems), 0);
	assert_int_equal(config->domain_count, 50000);
	assert_non_null(config_domain_find(config, STR("d49999.example")));
	config_free(config);
	config_problems_clear(&problems);
	buffer_clear(&text);
}

/* What a listener does by itself with users, and what only if it is told to. */
static void users_are_asked_for_where_they_can_answer(void **state)
{
	static const struct {
		const char *text;
		enum config_listen_auth auth;
		bool submission;
		bool repair;
	} cases[] = {
		{"listen submission { address = 1.2.3.4:1 }", CONFIG_LISTEN_AUTH_NO, true, true},
		{"directory { backend = sqlite } listen submission { address = 1.2.3.4:1 }",
		 CONFIG_LISTEN_AUTH_NO, true, true},
		{"directory { backend = sqlite }\ncertificate a { chain = /x }\n"
		 "listen submission { address = 1.2.3.4:1 submission = no }",
		 CONFIG_LISTEN_AUTH_REQUIRED, false, false},
		{"directory { backend = sqlite }\n"
		 "listen submission { address = 1.2.3.4:1 auth_without_tls = local repair = no }",
		 CONFIG_LISTEN_AUTH_REQUIRED, true, false},
		{"directory { backend = sqlite }\ncertificate a { chain = /x }\n"
		 "listen smtp { address = 1.2.3.4:1 }",
		 CONFIG_LISTEN_AUTH_NO, false, false},
		{"directory { backend = sqlite }\ncertificate a { chain = /x }\n"
		 "listen lmtp { address = unix:/x auth = offered submission = yes }",
		 CONFIG_LISTEN_AUTH_OFFERED, true, true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct buffer text = {0};
		struct config *c;

		buffer_append_format(&text, "hostname = a.example\n%s", cases[i].text);
		buffer_append_byte(&text, '\0');
		c = config_of(buffer_data(&text));
		assert_int_equal(c->listens[0].auth, cases[i].auth);
		assert_int_equal(c->listens[0].submission, cases[i].submission);
		assert_int_equal(c->listens[0].repair, cases[i].repair);
		assert_int_equal(c->listens[0].sender_login, CONFIG_SENDER_LOGIN_STRICT);
		config_free(c);
		buffer_clear(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_complete),
		cmocka_unit_test(a_port_after_a_colon),
		cmocka_unit_test(routes_have_domains_and_relays),
		cmocka_unit_test(the_example_parses),
		cmocka_unit_test(users_are_asked_for_where_they_can_answer),
		cmocka_unit_test(the_key_of_the_site_is_hidden),
		cmocka_unit_test(a_key_can_be_added),
		cmocka_unit_test(what_is_no_key),
		cmocka_unit_test(every_way_to_write_a_value_is_read),
		cmocka_unit_test(passwords_are_hidden),
		cmocka_unit_test(what_is_printed_parses_to_the_same),
		cmocka_unit_test(services_have_their_settings),
		cmocka_unit_test(processes_have_their_users),
		cmocka_unit_test(mailboxes_have_a_base),
		cmocka_unit_test(names_are_found_in_any_case),
		cmocka_unit_test(relaying_follows_the_networks),
		cmocka_unit_test(proxies_are_on_this_machine_unless_said),
		cmocka_unit_test(the_hostname_comes_from_the_machine),
		cmocka_unit_test(unreadable_files_are_reported),
		cmocka_unit_test(many_problems_are_bounded),
		cmocka_unit_test(long_values_are_refused),
		cmocka_unit_test(many_domains_are_read_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
