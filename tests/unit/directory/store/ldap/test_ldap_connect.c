// SPDX-License-Identifier: ISC
/* How LDAP servers are connected to and asked, with played servers. */
#include "directory/store/ldap/link/link.h"
#include "ldap_scene.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- URLs --- */

static void urls_are_read(void **state)
{
	static const struct {
		const char *url, *uri; /* URI NULL: it is refused, with WORDS */
		bool is_tls, starts_tls;
		const char *words;
	} rows[] = {
		{"ldap://localhost", "ldap://localhost:389", false, false, NULL},
		{"ldap://localhost/????StartTLS", "ldap://localhost:389", false, true, NULL},
		{"LDAP://127.3.4.5:17/????starttls", "ldap://127.3.4.5:17", false, true, NULL},
		{"ldap://127.0.0.1", "ldap://127.0.0.1:389", false, false, NULL},
		{"ldap://[::1]", "ldap://[::1]:389", false, false, NULL},
		{"ldap://128.0.0.1", "ldap://128.0.0.1:389", false, true, NULL},
		{"ldap://host.example", "ldap://host.example:389", false, true, NULL},
		{"ldap://host.example/????x-no-tls", "ldap://host.example:389", false, false, NULL},
		{"ldap://host.example/????X-NO-TLS,StartTLS", "ldap://host.example:389", false,
		 true, NULL},
		{"ldaps://host.example", "ldap://host.example:636", true, false, NULL},
		{"ldaps://localhost:17", "ldap://localhost:17", true, false, NULL},
		{"ldapi://%2frun%2fldapi", "ldapi://%2Frun%2Fldapi", false, false, NULL},
		{"http://host", NULL, false, false,
		 "\"http://host\" is not ldap://HOST, ldaps://HOST or ldapi://"},
		{"cldap://host", NULL, false, false,
		 "\"cldap://host\" is not ldap://HOST, ldaps://HOST or ldapi://"},
		{"ldap://host/dc=test", NULL, false, false,
		 "\"ldap://host/dc=test\": where to search is said by the setting base, not by the "
		 "URL"},
		{"ldap://host/?uid", NULL, false, false,
		 "\"ldap://host/?uid\": what is searched is said by the setting map, not by the "
		 "URL"},
		{"ldap://host/?\?\?(uid=x)", NULL, false, false,
		 "\"ldap://host/\?\?\?(uid=x)\": what is searched is said by the setting map, not "
		 "by "
		 "the URL"},
		{"ldap://host/????StartTLS,x-other", NULL, false, false,
		 "\"ldap://host/\?\?\?\?StartTLS,x-other\": the extensions of a URL are StartTLS "
		 "and "
		 "x-no-tls"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct link_server server;
		int error = link_server_parse(rows[i].url, &server, &why);

		assert_int_equal(error, rows[i].uri != NULL ? 0 : -EINVAL);
		if (error < 0) {
			assert_why(rows[i].words);
			continue;
		}
		assert_string_equal(server.url, rows[i].url);
		assert_string_equal(server.uri, rows[i].uri);
		if (server.is_tls != rows[i].is_tls || server.starts_tls != rows[i].starts_tls)
			fail_msg("%s", rows[i].url);
		assert_int_equal(link_server_needs_tls(&server),
				 rows[i].is_tls || rows[i].starts_tls);
		link_server_clear(&server);
		assert_null(server.url);
	}
}

/* --- connecting --- */

static const struct link_login login = {
	.bind_dn = "cn=reader", .password = "sesame", .base = "ou=a,dc=test"};
static LDAP *ld;

/* To the first server, by EXTENSION of its URL. */
static int open_link(const char *extension, const struct link_login *as)
{
	struct link_server server;
	char url[200];
	int code;

	ld = NULL;
	snprintf(url, sizeof url, "%s%s", played_ldap.servers[0].url, extension);
	assert_int_equal(link_server_parse(url, &server, &why), 0);
	code = link_open(&server, as, &ld, &why);
	link_server_clear(&server);
	assert_int_equal(code == 0, ld != NULL);
	return code;
}

static void close_link(void)
{
	link_close(ld);
	played_ldap_turn();
	assert_int_equal(played_ldap.open, 0);
}

static void a_connection_is_bound(void **state)
{
	const struct link_login anonymous = {.base = "dc=test"};

	(void)state;
	assert_int_equal(open_link("", &login), 0);
	assert_why("");
	close_link();
	assert_heard("bind 3 \"cn=reader\" \"sesame\"\nunbind\n");
	assert_text(&played_ldap.options, "11=3\n5005=5 s\n5002=5 s\n8=off\n5015=5000\n");
	assert_int_equal(open_link("", &anonymous), 0);
	close_link();
	assert_heard("bind 3 \"\" \"\"\nunbind\n");
	assert_int_equal(played_ldap.installed, 0);
}

static void tls_is_started(void **state)
{
	(void)state;
	assert_int_equal(open_link("/????StartTLS", &login), 0);
	assert_int_equal(played_ldap.installed, 1);
	close_link();
	assert_heard("extended 1.3.6.1.4.1.1466.20037\nbind 3 \"cn=reader\" \"sesame\"\nunbind\n");
	played_ldap.servers[0].tls_code = LDAP_PROTOCOL_ERROR;
	assert_int_equal(open_link("/????StartTLS", &login), LDAP_PROTOCOL_ERROR);
	assert_why("StartTLS: Protocol error (2): no TLS");
	played_ldap.servers[0].tls_code = 0;
	played_ldap.install_code = LDAP_CONNECT_ERROR;
	assert_int_equal(open_link("/????StartTLS", &login), LDAP_CONNECT_ERROR);
	assert_int_equal(played_ldap.installed, 2);
	close_link();
}

/* No password is sent before TLS is there. */
static void ldaps_begins_with_tls(void **state)
{
	struct link_server server;
	char url[60];

	(void)state;
	snprintf(url, sizeof url, "ldaps://%s", played_ldap.servers[0].url + strlen("ldap://"));
	assert_int_equal(link_server_parse(url, &server, &why), 0);
	assert_int_equal(link_open(&server, &login, &ld, &why), 0);
	assert_int_equal(played_ldap.installed, 1);
	close_link();
	assert_heard("bind 3 \"cn=reader\" \"sesame\"\nunbind\n");
	played_ldap.install_code = LDAP_LOCAL_ERROR;
	ld = NULL;
	assert_int_equal(link_open(&server, &login, &ld, &why), LDAP_LOCAL_ERROR);
	assert_null(ld);
	close_link();
	assert_heard("unbind\n");
	link_server_clear(&server);
}

static void a_bind_is_refused(void **state)
{
	const struct link_login anonymous = {.base = "dc=test"};

	(void)state;
	played_ldap.servers[0].bind_code = LDAP_INVALID_CREDENTIALS;
	assert_int_equal(open_link("", &login), LDAP_INVALID_CREDENTIALS);
	assert_why("bind as cn=reader: Invalid credentials (49): not you");
	assert_int_equal(open_link("", &anonymous), LDAP_INVALID_CREDENTIALS);
	assert_why("bind as anonymous: Invalid credentials (49): not you");
	close_link();
}

static void nobody_is_there(void **state)
{
	int64_t begun_us = played_ldap.now_us;

	(void)state;
	played_ldap_stop(0);
	assert_int_equal(open_link("", &login), LDAP_SERVER_DOWN);
	assert_true(str_starts_with(buffer_view(&why), STR("connect: Can't contact LDAP server")));
	assert_int_equal(played_ldap.now_us, begun_us);
}

static void each_request_of_the_beginning_fails(void **state)
{
	static const struct {
		enum played_ldap_fault fault;
		int code, result;
	} rows[] = {
		{PLAYED_LDAP_REFUSES, LDAP_BUSY, LDAP_BUSY},
		{PLAYED_LDAP_CLOSES, 0, LDAP_SERVER_DOWN},
		{PLAYED_LDAP_IS_SILENT, 0, LDAP_TIMEOUT},
		{PLAYED_LDAP_BABBLES, 0, 0 /* another one, of libldap */},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (unsigned at = 1; at <= 2; at++) {
			int64_t begun_us = played_ldap.now_us;
			int code;

			buffer_reset(&why);
			played_ldap_fail_at(at, rows[i].fault, rows[i].code);
			code = open_link("/????StartTLS", &login);
			assert_int_not_equal(code, 0);
			if (rows[i].result != 0)
				assert_int_equal(code, rows[i].result);
			assert_true(str_starts_with(buffer_view(&why),
						    at == 1 ? STR("StartTLS: ")
							    : STR("bind as cn=reader: ")));
			if (code == LDAP_TIMEOUT)
				assert_int_equal(played_ldap.now_us - begun_us,
						 LINK_PATIENCE_S * 1000000);
			played_ldap_fail_at(0, PLAYED_LDAP_FINE, 0);
			played_ldap.servers[0].is_silent = false;
			played_ldap_turn();
			assert_int_equal(played_ldap.open, 0);
		}
}

static void what_is_wrong_with_tls_is_guessed(void **state)
{
	static const char guess[] = "is its certificate for this host";

	(void)state;
	for (int is_tls = 0; is_tls <= 1; is_tls++) {
		played_ldap_fail_at(is_tls ? 2 : 1, PLAYED_LDAP_CLOSES, 0);
		assert_int_equal(open_link(is_tls ? "/????StartTLS" : "", &login),
				 LDAP_SERVER_DOWN);
		/* only where the library has words, too */
		if (!is_tls)
			assert_null(memmem(buffer_data(&why), why.length, guess, strlen(guess)));
		buffer_reset(&why);
	}
}

/* --- contextCSN --- */

static void the_context_is_above_the_base(void **state)
{
	static const struct {
		const char *contexts[4], *base, *found;
	} rows[] = {
		{{"dc=other", "DC = Test"}, "ou=a,dc=test", "DC = Test"},
		{{"dc=test"}, "dc=test", "dc=test"},
		{{"dc=test", "ou=a,dc=test"}, "ou=a,dc=test", "dc=test"},
		{{"ou=a,dc=test"}, "dc=test", NULL},
		{{"dc=tes", "dc=testx"}, "dc=test", NULL},
		{{"c=test"}, "dc=test", NULL},
		{{"not a name", "dc=test"}, "dc=test", "dc=test"},
		{{"dc=test"}, "not a name", NULL},
		{{NULL}, "dc=test", NULL},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char *found;

		played_ldap.servers[0].says_more = i % 2 == 1;
		assert_int_equal(open_link("", &login), 0);
		memcpy(played_ldap.servers[0].contexts, rows[i].contexts, sizeof rows[i].contexts);
		buffer_reset(&played_ldap.heard);
		found = link_find_context(ld, rows[i].base);
		if ((found == NULL) != (rows[i].found == NULL) ||
		    (found != NULL && strcmp(found, rows[i].found) != 0))
			fail_msg("%s: %s", rows[i].base, found);
		free(found);
		assert_heard("search \"\" 0, 0 at most, time 0, types 0 (objectClass=*) "
			     "namingContexts\n");
		close_link();
	}
}

static void csns_are_read(void **state)
{
	static const char csn[] = "20261120192556.362513Z#000000#001#000000";
	static const int hidden[] = {LDAP_NO_SUCH_OBJECT, LDAP_INSUFFICIENT_ACCESS};
	struct csn_set set = {0};

	(void)state;
	assert_int_equal(open_link("", &login), 0);
	assert_int_equal(link_read_csns(ld, "dc=test", &set), 0);
	assert_int_equal(set.count, 0);
	played_ldap.servers[0].csn = csn;
	buffer_reset(&played_ldap.heard);
	assert_int_equal(link_read_csns(ld, "dc=test", &set), 0);
	assert_heard("search \"dc=test\" 0, 0 at most, time 0, types 0 (objectClass=*) "
		     "contextCSN\n");
	assert_int_equal(set.count, 1);
	assert_string_equal(set.csns[0], csn);
	/* what cannot be seen is nothing */
	for (size_t i = 0; i < COUNT_OF(hidden); i++) {
		played_ldap.servers[0].csn_code = hidden[i];
		assert_int_equal(link_read_csns(ld, "dc=test", &set), 0);
	}
	played_ldap.servers[0].csn_code = LDAP_BUSY;
	assert_int_equal(link_read_csns(ld, "dc=test", &set), LDAP_BUSY);
	link_describe(ld, LDAP_BUSY, &why);
	assert_why("Server is busy (51)");
	link_describe(NULL, LDAP_BUSY, &why);
	assert_why("Server is busy (51)");
	played_ldap_close(0);
	assert_int_equal(link_read_csns(ld, "dc=test", &set), LDAP_SERVER_DOWN);
	assert_null(link_find_context(ld, "dc=test"));
	close_link();
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
#define TLS_TEST(name)  cmocka_unit_test_setup_teardown(name, set_up_tcp, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(urls_are_read),
		LINK_TEST(a_connection_is_bound),
		TLS_TEST(tls_is_started),
		TLS_TEST(ldaps_begins_with_tls),
		LINK_TEST(a_bind_is_refused),
		LINK_TEST(nobody_is_there),
		TLS_TEST(each_request_of_the_beginning_fails),
		TLS_TEST(what_is_wrong_with_tls_is_guessed),
		LINK_TEST(the_context_is_above_the_base),
		LINK_TEST(csns_are_read),
	};

	signal(SIGPIPE, SIG_IGN); /* libldap writes as long as it may */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
