// SPDX-License-Identifier: ISC
/* Settings that are right alone and wrong beside others, and sections of which there are too
 * many: the whole complaint. */
#include "base/panic.h"
#include "config_examples.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MARIADB HOST MAILBOX "record { backend = mariadb database = d\n"
#define AUTH    HOST USERS "auth {\n"
#define IMAP    HOST "service s { kind = imap password_file = /p "

static const struct refusal beside[] = {
	{MARIADB "client_certificate = /c client_key = /k }",
	 "t:4: record.client_certificate: it is presented by TLS only; allowed: authority beside "
	 "it\n"},
	{MARIADB "authority = /a client_certificate = /c }",
	 "t:4: record.client_certificate: one of the two is missing; allowed: client_certificate "
	 "and client_key, or neither\n"},
	{MARIADB "authority = /a client_key = /k }",
	 "t:4: record.client_key: one of the two is missing; allowed: client_certificate and "
	 "client_key, or neither\n"},
	{HOST "uid_min = 6\nuid_max = 5\n",
	 "t:3: uid_max: is below uid_min: no user of this machine would have mail; allowed: a "
	 "number of at least uid_min\n"},
	{HOST "tls a.test { level = verify\nfingerprints = \"" FINGERPRINT "\" }",
	 "t:3: tls a.test.fingerprints: means nothing here; allowed: with level = fingerprint\n"},
	{HOST "tls a.test { level = fingerprint }",
	 "t:2: tls a.test.fingerprints: must be set; allowed: SHA-256 fingerprints\n"},
	{HOST "tls a.test { level = none\ncertificate = c }",
	 "t:3: tls a.test.certificate: means nothing here; allowed: with a level other than none\n"
	 "t:3: tls a.test.certificate: there is no such section certificate; allowed: the name "
	 "of a section certificate\n"},
	{HOST "auth { users = directory }",
	 "t:2: auth.users: there is no section directory; allowed: with a section directory\n"},
	{AUTH "users = ldap }",
	 "t:5: auth.users: the directory's backend is not ldap; allowed: with a section directory "
	 "of backend ldap\n"},
	{AUTH "mechanisms = { PLAIN, plain } }",
	 "t:5: auth.mechanisms: not the name of a mechanism; allowed: 1 to 20 of A-Z, 0-9, '-', "
	 "'_'\n"},
	{AUTH "mechanisms = ABCDEFGHIJKLMNOPQRSTU }",
	 "t:5: auth.mechanisms: not the name of a mechanism; allowed: 1 to 20 of A-Z, 0-9, '-', "
	 "'_'\n"},
	{AUTH "token_keys = { /k, k } token_issuer = i token_audience = a }",
	 "t:5: auth.token_keys: not an absolute path; allowed: absolute paths\n"},
	{AUTH "token_keys = /k token_audience = a }",
	 "t:4: auth.token_issuer: must be set: any key could sign for any service; allowed: the "
	 "claim iss of the tokens\n"},
	{AUTH "token_keys = /k token_issuer = i }",
	 "t:4: auth.token_audience: must be set: a token for another service would be accepted; "
	 "allowed: the claim aud of the tokens\n"},
	{AUTH "token_claim = \"\" }",
	 "t:5: auth.token_claim: must not be empty; allowed: a claim that names the user\n"},
	{AUTH "introspection_url = http://x/y }",
	 "t:5: auth.introspection_url: not such a URL; allowed: https://HOST/PATH, "
	 "https://HOST:PORT/PATH\n"},
	{AUTH "introspection_url = https://x/y introspection_user = u }",
	 "t:4: auth.introspection_secret_file: must be set with introspection_user; allowed: an "
	 "absolute path\n"},
	{IMAP "address = 127.0.0.1:143 login = \"%u%x\" }",
	 "t:2: service s.login: an unknown % sequence; allowed: %a, %u, %d, %%\n"},
	{IMAP "address = unix:/s login = \"%a\" }",
	 "t:2: service s.address: an IMAP server is reached by TCP; allowed: IPV4:PORT, "
	 "[IPV6]:PORT\n"},
	{HOST "source s { addresses = { } }",
	 "t:2: source s.addresses: an empty list: leave the setting out\n"
	 "t:2: source s.addresses: must be set; allowed: IPv4 or IPv6 addresses\n"},
	{HOST "class \"/24\" { queue = 1 refuse = 1 } class \"*\" { queue = 1 refuse = 1 }",
	 "t:2: class /24: not an IP network; allowed: NAME, \"*.NAME\", ADDRESS, ADDRESS/PREFIX "
	 "(IPv4 or IPv6), \"*\"\n"},
	{HOST "senderroutes = \"[192.0.2.1]:r.test\"",
	 "t:2: senderroutes: not a sender before the ':': found \"[192.0.2.1]:r.test\"; allowed: "
	 "SENDER:RELAY or SENDER:RELAY;PORT, where SENDER is USER@DOMAIN, DOMAIN or .DOMAIN, and "
	 "RELAY a host, [ADDRESS] or empty\n"},
};

static void what_others_say_is_wrong_is_explained(void **state)
{
	(void)state;
	check_refusals(beside, COUNT_OF(beside));
}

/* --- how many sections there may be --- */

struct crowd {
	const char *before;
	const char *section; /* has %zu for its number */
	size_t most;
	const char *complaint; /* has %zu for its line and then for its number */
};

static const struct crowd crowds[] = {
	{HOST, "service s%zu { kind = maildir path = /m/%%d/%%u }\n", 250,
	 "t:%zu: service s%zu: too many services; allowed: at most 250\n"},
	{HOST, "listen smtp { address = 127.0.0.1:%zu }\n", 64,
	 "t:%zu: listen smtp: too many listen sections; allowed: at most 64\n"},
	{HOST, "certificate c%zu { chain = /c }\n", 256,
	 "t:%zu: certificate c%zu: too many certificates; allowed: at most 256\n"},
};

/* As many as may be are right; the one after them is not, and what it says is not looked at. */
static void check_crowd(const struct crowd *crowd, size_t count)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer out CLEANUP(buffer_clear) = {0};
	char complaint[200];

	buffer_append_string(&text, crowd->before);
	for (size_t i = 1; i <= count; i++) {
		char section[200];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(section, sizeof section, crowd->section, i);
		snprintf(complaint, sizeof complaint, crowd->complaint, i + 1, i);
#pragma GCC diagnostic pop
		buffer_append_string(&text, section);
	}
	out = outcome_of(buffer_view(&text));
	if (count <= crowd->most)
		assert_true(str_starts_with(buffer_view(&out), STR("hostname = ")));
	else
		assert_true(str_equal(buffer_view(&out), str_from(complaint)));
}

static void too_many_sections_are_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(crowds); i++) {
		check_crowd(&crowds[i], crowds[i].most);
		check_crowd(&crowds[i], crowds[i].most + 1);
	}
}

/* --- whose login is used --- */

/* Those of smtproutes, then of senderroutes, then of fallback_relays, then no more. */
static void each_route_has_its_turn(void **state)
{
	struct config_route routes[3][2] = {0};

	(void)state;
	for (size_t i = 0; i < 27; i++) {
		struct config config = {.smtproutes = routes[0],
					.senderroutes = routes[1],
					.fallback_relays = routes[2],
					.smtproute_count = i % 3,
					.senderroute_count = i / 3 % 3,
					.fallback_relay_count = i / 9};
		const size_t counts[] = {i % 3, i / 3 % 3, i / 9};
		size_t index = 0;

		for (size_t part = 0; part < COUNT_OF(counts); part++)
			for (size_t k = 0; k < counts[part]; k++)
				assert_ptr_equal(config_login_route(&config, index++),
						 &routes[part][k]);
		for (size_t k = 0; k < 3; k++)
			assert_null(config_login_route(&config, index++));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_others_say_is_wrong_is_explained),
		cmocka_unit_test(too_many_sections_are_refused),
		cmocka_unit_test(each_route_has_its_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
