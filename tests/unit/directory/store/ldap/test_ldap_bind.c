// SPDX-License-Identifier: ISC
/* Passwords that are tried at LDAP servers, by binding as their users, with played servers. */
#include "directory/store/ldap/bind.h"
#include "directory/store/ldap/link/link.h"
#include "ldap_scene.h"
#include "scratch.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static char folder[SCRATCH_SIZE], secret[SCRATCH_SIZE + 20];
static struct store_ldap_settings settings;
static const char *urls[PLAYED_LDAP_SERVERS];

static int set_up_binder(void **state)
{
	FILE *file;

	(void)set_up(state);
	assert_int_equal(scratch_make(folder), 0);
	snprintf(secret, sizeof secret, "%s/secret", folder);
	file = fopen(secret, "w");
	assert_non_null(file);
	assert_true(fputs("sesame\nstreet\n", file) >= 0);
	assert_int_equal(fclose(file), 0);
	for (size_t i = 0; i < PLAYED_LDAP_SERVERS; i++)
		urls[i] = played_ldap.servers[i].url;
	settings = (struct store_ldap_settings){.urls = urls,
						.url_count = 2,
						.base = "dc=test",
						.bind_dn = "cn=reader",
						.password_file = secret};
	return 0;
}

static int tear_down_binder(void **state)
{
	assert_int_equal(scratch_remove(folder), 0);
	return tear_down(state);
}

static struct store_ldap_binder *new_binder(void)
{
	struct store_ldap_binder *binder;

	assert_int_equal(store_ldap_binder_new(&settings, &binder, &why), 0);
	return binder;
}

static enum store_ldap_bound bind_as_user(const char *user, const char *password)
{
	struct store_ldap_binder *binder = new_binder();
	enum store_ldap_bound bound;

	buffer_reset(&why);
	bound = store_ldap_bind(binder, str_from(user), str_from(password), &why);
	store_ldap_binder_free(binder);
	played_ldap_turn();
	assert_int_equal(played_ldap.open, 0);
	return bound;
}

static void a_user_is_looked_for_and_bound_as(void **state)
{
	(void)state;
	played_ldap.servers[0].found = 1;
	played_ldap.servers[0].password = "open";
	assert_int_equal(bind_as_user("l*(i)\\s\x01\x7f\xc3\xa4", "open"), STORE_LDAP_RIGHT);
	assert_heard("bind 3 \"cn=reader\" \"sesame\"\n"
		     "search \"dc=test\" 2, 2 at most, time 5, types 1 "
		     "(|(uid=l*(i)\\s\x01\x7f\xc3\xa4)) 1.1\n"
		     "bind 3 \"uid=1,dc=test\" \"open\"\nunbind\n");
	assert_int_equal(bind_as_user("lisa", "wrong"), STORE_LDAP_WRONG);
	buffer_reset(&played_ldap.heard);
	/* which would be anonymous */
	assert_int_equal(bind_as_user("lisa", ""), STORE_LDAP_WRONG);
	assert_heard("");
	/* none, or not only one */
	played_ldap.servers[0].found = 0;
	assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_WRONG);
	played_ldap.servers[0].found = 2;
	assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_WRONG);
	assert_int_equal(played_ldap.servers[1].accepted, 0);
}

static void a_search_says_that_there_is_no_one(void **state)
{
	(void)state;
	played_ldap.servers[0].search_code = LDAP_NO_SUCH_OBJECT;
	assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_WRONG);
	played_ldap.servers[0].found = 2;
	played_ldap.servers[0].search_code = LDAP_SIZELIMIT_EXCEEDED;
	assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_WRONG);
	assert_int_equal(played_ldap.servers[1].accepted, 0);
}

/* Codes that say that a password is wrong, and others: then the next server is asked. */
static void a_code_is_a_refusal_or_no_answer(void **state)
{
	static const struct {
		int code;
		bool is_refusal;
	} rows[] = {{LDAP_INVALID_CREDENTIALS, true},
		    {LDAP_INAPPROPRIATE_AUTH, true},
		    {LDAP_NO_SUCH_OBJECT, true},
		    {LDAP_INSUFFICIENT_ACCESS, true},
		    {LDAP_CONSTRAINT_VIOLATION, true},
		    {LDAP_UNWILLING_TO_PERFORM, true},
		    {LDAP_BUSY, false},
		    {LDAP_UNAVAILABLE, false},
		    {LDAP_OTHER, false}};
	char wanted[300];

	(void)state;
	played_ldap.servers[0].found = played_ldap.servers[1].found = 1;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		played_ldap_fail_at(3, PLAYED_LDAP_REFUSES, rows[i].code);
		assert_int_equal(bind_as_user("lisa", "open"),
				 rows[i].is_refusal ? STORE_LDAP_WRONG : STORE_LDAP_RIGHT);
	}
	/* if none answers, all say why */
	settings.url_count = 1;
	played_ldap_fail_at(3, PLAYED_LDAP_REFUSES, LDAP_BUSY);
	assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_NO_ANSWER);
	snprintf(wanted, sizeof wanted, "%s: Server is busy (51): it is refused", urls[0]);
	assert_why(wanted);
	played_ldap_fail_at(2, PLAYED_LDAP_REFUSES, LDAP_BUSY);
	assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_NO_ANSWER);
	assert_why(wanted);
	settings.url_count = 2;
	played_ldap.servers[0].bind_code = played_ldap.servers[1].bind_code = LDAP_BUSY;
	assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_NO_ANSWER);
	snprintf(wanted, sizeof wanted,
		 "%s: bind as cn=reader: Server is busy (51): not you; %s: bind as cn=reader: "
		 "Server "
		 "is busy (51): not you",
		 urls[0], urls[1]);
	assert_why(wanted);
}

static void a_server_that_is_lost_is_passed_over(void **state)
{
	(void)state;
	played_ldap.servers[0].found = played_ldap.servers[1].found = 1;
	for (unsigned at = 1; at <= 3; at++)
		for (int fault = PLAYED_LDAP_CLOSES; fault <= PLAYED_LDAP_BABBLES; fault++) {
			int64_t begun_us = played_ldap.now_us;

			played_ldap_fail_at(at, (enum played_ldap_fault)fault, 0);
			assert_int_equal(bind_as_user("lisa", "open"), STORE_LDAP_RIGHT);
			if (fault == PLAYED_LDAP_IS_SILENT)
				assert_true(played_ldap.now_us - begun_us <=
					    2 * LINK_PATIENCE_S * 1000000);
			played_ldap.servers[0].is_silent = false;
			played_ldap_turn();
		}
}

static void check_settings(int error, const char *words)
{
	struct store_ldap_binder *binder = NULL;

	buffer_reset(&why);
	assert_int_equal(store_ldap_binder_new(&settings, &binder, &why), error);
	if (error != 0)
		assert_why(words);
	assert_int_equal(binder != NULL, error == 0);
	store_ldap_binder_free(binder);
}

static void settings_are_checked(void **state)
{
	static const char *const bad_map[] = {"nothing=of=that"};
	static const char *const tls[] = {"ldap://host.example", "ldap://localhost"};
	char words[200];

	(void)state;
	settings.base = "no name";
	check_settings(-EINVAL, "base \"no name\" is not the name of an entry");
	settings.base = "dc=test";
	settings.password_file = "";
	check_settings(-EINVAL, "bind_dn needs a password_file");
	settings.password_file = NULL;
	check_settings(-EINVAL, "bind_dn needs a password_file");
	settings.bind_dn = "";
	check_settings(0, NULL);
	settings.bind_dn = NULL;
	check_settings(0, NULL);
	settings.bind_dn = "cn=reader";
	settings.password_file = "/nonexistent";
	check_settings(-ENOENT, "password_file /nonexistent: No such file or directory");
	settings.password_file = secret;
	assert_int_equal(truncate(secret, 0), 0);
	snprintf(words, sizeof words, "password_file %s: its first line is empty", secret);
	check_settings(-ENODATA, words);
	assert_int_equal(truncate(secret, 1 << 20), 0);
	snprintf(words, sizeof words, "password_file %s: its first line is too long", secret);
	check_settings(-EFBIG, words);
	settings.bind_dn = NULL;
	settings.map = (const char **)bad_map;
	settings.map_count = 1;
	buffer_reset(&why);
	assert_int_equal(
		store_ldap_binder_new(&settings, &(struct store_ldap_binder *){NULL}, &why),
		-EINVAL);
	settings.map_count = 0;
	settings.urls = (const char **)tls;
	settings.authority = "ca.pem";
	buffer_reset(&played_ldap.options);
	check_settings(0, NULL);
	assert_text(&played_ldap.options,
		    "all 6002=ca.pem\nall 6006=2\nall 6007=771\nall 600f=0\n");
	settings.authority = "";
	buffer_reset(&played_ldap.options);
	check_settings(0, NULL);
	assert_true(str_starts_with(buffer_view(&played_ldap.options),
				    STR("all 6002=/etc/ssl/certs/ca-certificates.crt\n")));
	settings.urls = (const char **)tls + 1;
	settings.url_count = 1;
	buffer_reset(&played_ldap.options);
	check_settings(0, NULL);
	assert_int_equal(played_ldap.options.length, 0);
}

#define BINDER_TEST(name) cmocka_unit_test_setup_teardown(name, set_up_binder, tear_down_binder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BINDER_TEST(a_user_is_looked_for_and_bound_as),
		BINDER_TEST(a_search_says_that_there_is_no_one),
		BINDER_TEST(a_code_is_a_refusal_or_no_answer),
		BINDER_TEST(a_server_that_is_lost_is_passed_over),
		BINDER_TEST(settings_are_checked),
	};

	signal(SIGPIPE, SIG_IGN); /* libldap writes as long as it may */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
