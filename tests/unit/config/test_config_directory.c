// SPDX-License-Identifier: ISC
/* Section directory. */
#include "config_outcome.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TLS "certificate = /c key = /k authority = /a "

static void there_is_none_without_its_section(void **state)
{
	struct config *c = config_of(HOST);
	struct buffer out = {0};

	(void)state;
	assert_int_equal(c->directory.backend, CONFIG_BACKEND_NONE);
	config_print(c, &out);
	buffer_append_byte(&out, '\0');
	assert_null(strstr(buffer_data(&out), "backend"));
	buffer_clear(&out);
	config_free(c);
}

static void an_empty_section_is_sqlite(void **state)
{
	struct config *c = config_of(HOST "directory { }\n");

	(void)state;
	assert_int_equal(c->directory.backend, CONFIG_BACKEND_SQLITE);
	assert_string_equal(c->directory.path, "/var/lib/stagepost/directory.db");
	assert_int_equal(c->directory.ttl_us, HOUR_US);
	assert_int_equal(c->directory.negative_ttl_us, 5 * MINUTE_US);
	assert_string_equal(c->directory.certificate, "");
	assert_int_equal(c->directory.listen_count + c->directory.socketmap_count, 0);
	assert_int_equal(c->directory.alias_count, 1);
	assert_string_equal(c->directory.aliases[0], "/etc/aliases");
	config_free(c);
}

static void each_backend_has_its_settings(void **state)
{
	struct config *c =
		config_of(HOST "directory { backend = postgresql database = { \"host=a\", "
			       "\"host=b\" } listen = 0.0.0.0:7071 " TLS
			       "readers = { mx1.example.org, b } changers = c ttl = 2m "
			       "socketmap = { 127.0.0.1:7072, unix:/run/map } }\n");

	(void)state;
	assert_int_equal(c->directory.backend, CONFIG_BACKEND_POSTGRESQL);
	assert_int_equal(c->directory.database_count, 2);
	assert_string_equal(c->directory.database[1], "host=b");
	assert_int_equal(c->directory.listens[0].port, 7071);
	assert_string_equal(c->directory.socketmaps[1].host, "/run/map");
	assert_string_equal(c->directory.key, "/k");
	assert_string_equal(c->directory.readers[0], "mx1.example.org");
	assert_string_equal(c->directory.changers[0], "c");
	assert_int_equal(c->directory.ttl_us, 2 * MINUTE_US);
	config_free(c);
}

static void what_is_printed_parses_to_the_same(void **state)
{
	static const char *const texts[] = {
		HOST "directory { }",
		HOST "process directory { user = d } directory { backend = ldap url = "
		     "{ ldap://a, ldaps://b:636 } base = \"dc=example,dc=org\" bind_dn = \"cn=x\" "
		     "password_file = /p path = /copy.db map = { \"address.key=mail\" } }",
		HOST "directory { backend = servers servers = { a.org:1, \"[::1]:2\", "
		     "unix:/run/d } " TLS "negative_ttl = 0 }",
		HOST "directory { backend = postgresql database = \"password='a b\\\\\" }",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct buffer once = outcome_of(str_from(texts[i]));
		struct buffer twice = outcome_of(buffer_view(&once));

		assert_true(str_starts_with(buffer_view(&once), STR("hostname = ")));
		buffer_append_byte(&once, '\0');
		assert_non_null(strstr(buffer_data(&once), "\ndirectory {\n\tbackend = "));
		buffer_truncate(&once, once.length - 1);
		assert_true(str_equal(buffer_view(&once), buffer_view(&twice)));
		buffer_clear(&once);
		buffer_clear(&twice);
	}
}

static const struct refusal cases[] = {
	{HOST "directory { backend = bdb }",
	 "t:2: directory.backend: unknown word: found \"bdb\"; allowed: sqlite, postgresql, ldap, "
	 "servers\n"},
	{HOST "directory { backend = postgresql }",
	 "t:2: directory.database: must be set; allowed: a text of 1 to 4096 bytes\n"},
	{HOST "directory {\n path = /x\n backend = servers\n servers = unix:/s }",
	 "t:3: directory.path: means nothing for this backend; allowed: with backend = sqlite, "
	 "ldap\n"},
	{HOST "directory {\n database = x\n}",
	 "t:3: directory.database: means nothing for this backend; allowed: with backend = "
	 "postgresql\n"},
	{HOST "directory { backend = ldap }",
	 "t:2: directory.url: must be set; allowed: ldap://HOST:PORT, ldaps://HOST:PORT, "
	 "ldapi://PATH\n"
	 "t:2: directory.base: must be set; allowed: a text of at most 4096 bytes\n"},
	{HOST "directory { backend = ldap base = b\n url = { http://x, ldap://x }\n"
	      " map = { address.key, \"a b.c=d\", \"address.key=mail\" } }",
	 "t:3: directory.url: not the URL of an LDAP server: found \"http://x\"; allowed: "
	 "ldap://HOST:PORT, ldaps://HOST:PORT, ldapi://PATH\n"
	 "t:4: directory.map: not a mapping: found \"address.key\"; allowed: "
	 "FIELD=ATTRIBUTE, with a field of stagepost-directory-ldap(7)\n"
	 "t:4: directory.map: no such field: found \"a b.c=d\"; allowed: "
	 "FIELD=ATTRIBUTE, with a field of stagepost-directory-ldap(7)\n"},
	{HOST "directory { backend = servers servers = { a, a:b, \"[::1\", a-:1, ::1:1, "
	      "unix:run } }",
	 "t:2: directory.servers: no port: found \"a\"; allowed: HOST:PORT, IPV4:PORT, [IPV6]:PORT "
	 "with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: directory.servers: not a port: found \"a:b\"; allowed: HOST:PORT, IPV4:PORT, "
	 "[IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: directory.servers: not a host name or IP address: found \"[::1\"; allowed: "
	 "HOST:PORT, IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: directory.servers: not a host name or IP address: found \"a-:1\"; allowed: "
	 "HOST:PORT, IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: directory.servers: not a host name or IP address: found \"::1:1\"; allowed: "
	 "HOST:PORT, IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"
	 "t:2: directory.servers: not an absolute path: found \"unix:run\"; allowed: HOST:PORT, "
	 "IPV4:PORT, [IPV6]:PORT with a port from 1 to 65535, unix:/PATH\n"},
	{HOST "directory { backend = servers\n servers = a.org:1 }",
	 "t:2: directory.certificate: must be set: machines show each other who they are; allowed: "
	 "an absolute path\n"
	 "t:2: directory.key: must be set: machines show each other who they are; allowed: an "
	 "absolute path\n"
	 "t:2: directory.authority: must be set: machines show each other who they are; allowed: "
	 "an absolute path\n"},
	{HOST "directory {\n certificate = /c }",
	 "t:2: directory.key: must be set: certificate, key and authority go together; allowed: an "
	 "absolute path\n"
	 "t:2: directory.authority: must be set: certificate, key and authority go together; "
	 "allowed: an absolute path\n"},
	{HOST "directory { " TLS "listen = { 127.0.0.1:1, unix:/x } }",
	 "t:2: directory.listen: a UNIX socket, which RUN/directory is already; "
	 "allowed: IPV4:PORT, [IPV6]:PORT\n"
	 "t:2: directory.readers: must be set: nobody may ask at listen; allowed: names of "
	 "certificates, in readers or changers\n"},
	{HOST "directory {\n readers = a\n changers = b }",
	 "t:3: directory.readers: means nothing without listen; allowed: with listen\n"
	 "t:4: directory.changers: means nothing without listen; allowed: with listen\n"},
	{HOST "listen smtp { address = 127.0.0.1:25 }\ndirectory { socketmap = { 0.0.0.0:25, "
	      "1.2.3.4:1 } " TLS "readers = x\n listen = 1.2.3.4:1 }",
	 "t:3: directory.socketmap: already taken by 127.0.0.1:25 in line 2: found "
	 "\"0.0.0.0:25\"\n"
	 "t:3: directory.socketmap: already taken by 1.2.3.4:1 in line 4: found \"1.2.3.4:1\"\n"},
	{HOST "directory { }\ndirectory { backend = x }",
	 "t:3: directory: given twice: first in line 2\n"
	 "t:3: directory.backend: unknown word: found \"x\"; allowed: sqlite, postgresql, ldap, "
	 "servers\n"},
	{HOST "directory main { backend = sqlite }\nlisten { }\ndirectory = x\n",
	 "t:2: directory: a section with a name, which it does not have; allowed: {\n"
	 "t:3: listen: a section without its name; allowed: smtp, submission, lmtp, qmtp or qmqp\n"
	 "t:4: directory: a section, not a setting: directory { ... }\n"},
	{HOST "directory { patth = /x }\npath = /y",
	 "t:2: directory.patth: unknown setting: did you mean \"path\"?\n"
	 "t:3: path: belongs into a section \"service\"\n"},
	{HOST "directory { ttl = 8d",
	 "t:2: directory: the section that begins here has no end; allowed: }\n"},
};

static void what_is_wrong_is_reported(void **state)
{
	(void)state;
	check_refusals(cases, COUNT_OF(cases));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_is_none_without_its_section),
		cmocka_unit_test(an_empty_section_is_sqlite),
		cmocka_unit_test(each_backend_has_its_settings),
		cmocka_unit_test(what_is_printed_parses_to_the_same),
		cmocka_unit_test(what_is_wrong_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
