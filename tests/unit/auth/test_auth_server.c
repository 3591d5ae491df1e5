// SPDX-License-Identifier: ISC
/* The server "auth" as a whole: what its settings become, at the start and with each later ones,
 * what of its clients' messages goes where, and what ends with a connection. */
#include "server_scene.h"

enum { PATH_SIZE = SCRATCH_SIZE + 16 };

/* --- settings --- */

static const char *key_files[5];
static char paths[5][PATH_SIZE];

static void write_auth_file(size_t i, size_t length, const char *text)
{
	FILE *file;

	snprintf(paths[i], PATH_SIZE, "%s/%zu", world.folder, i);
	file = fopen(paths[i], "w");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	for (size_t k = strlen(text); k < length; k++)
		assert_true(fputc('x', file) >= 0);
	assert_int_equal(fclose(file), 0);
	key_files[i] = paths[i];
}

static void settings_reach_all_parts(void **state)
{
	struct config_network exempt;

	(void)state;
	world.config.auth.failure_exempt = &exempt;
	world.config.auth.failure_exempt_count = 1;
	open_server();
	expect_calls("keys offer");
	assert_int_equal(world.failures.limit, 8);
	assert_int_equal(world.failures.memory_us, 9);
	assert_ptr_equal(world.failures.exempt, &exempt);
	assert_int_equal(world.failures.exempt_count, 1);
	assert_string_equal(world.tokens.rules.issuer, "issuer");
	assert_string_equal(world.tokens.rules.audience, "audience");
	assert_string_equal(world.tokens.rules.claim, "claim");
	assert_string_equal(world.tokens.rules.scope, "scope");
	assert_string_equal(world.tokens.url, "url");
	assert_string_equal(world.tokens.user, "user");
	assert_non_null(world.tokens.keys);
	assert_string_equal(world.secret, "");
	auth_server_set_users(world.server, (const uid_t[]){1, 9}, 2);
	expect_calls("users");
}

static void without_threads_there_is_none(void **state)
{
	const struct auth_server_ways ways = {.listening = 6};
	struct auth_server *server = NULL;

	(void)state;
	world.checks_error = -EAGAIN;
	assert_int_equal(auth_server_new(&ways, &world.config, &server), -EAGAIN);
	assert_null(server);
}

static void files_are_read_or_named(void **state)
{
	char expected[3 * PATH_SIZE + 400];

	(void)state;
	write_auth_file(0, AUTH_JWT_FILE_MAX, "good");
	write_auth_file(1, AUTH_JWT_FILE_MAX + 1, "good");
	write_auth_file(2, 0, "bad");
	write_auth_file(3, 0, "sesame\nmore\n");
	key_files[3] = "/nowhere/at/all";
	world.config.auth.token_keys = key_files;
	world.config.auth.token_key_count = 4;
	world.config.auth.introspection_secret_file = paths[3];
	open_server();
	assert_int_equal(world.keys, 1);
	assert_string_equal(world.secret, "sesame");
	snprintf(expected, sizeof expected,
		 "AUTH_ERROR file=%s error=%s\nAUTH_ERROR file=%s text=is no key\n"
		 "AUTH_ERROR file=/nowhere/at/all error=%s\n",
		 paths[1], strerror(EFBIG), paths[2], strerror(ENOENT));
	check_log(expected);
	/* another secret, and none */
	world.config.auth.token_key_count = 0;
	write_auth_file(3, 0, "open\n");
	auth_server_configure(world.server, &world.config);
	assert_string_equal(world.secret, "open");
	write_auth_file(3, 0, "\n");
	auth_server_configure(world.server, &world.config);
	assert_string_equal(world.secret, "");
	snprintf(expected, sizeof expected, "AUTH_ERROR file=%s text=its first line is empty\n",
		 paths[3]);
	check_log(expected);
	world.config.auth.introspection_secret_file = "/nowhere";
	auth_server_configure(world.server, &world.config);
	snprintf(expected, sizeof expected, "AUTH_ERROR file=/nowhere error=%s\n",
		 strerror(ENOENT));
	check_log(expected);
	world.config.auth.introspection_secret_file = "";
	auth_server_configure(world.server, &world.config);
	assert_string_equal(world.secret, "");
	check_log("");
}

static void mechanisms_must_exist(void **state)
{
	static const char *names[] = {"PLAIN", "PLEIN"};

	(void)state;
	world.config.auth.mechanisms = names;
	world.config.auth.mechanism_count = 2;
	open_server();
	check_log("AUTH_ERROR setting=auth.mechanisms text=no such mechanism mechanism=PLEIN\n");
	world.config.auth.users = CONFIG_AUTH_DOVECOT; /* which may have others */
	auth_server_configure(world.server, &world.config);
	check_log("");
}

/* An attempt of each kind: for Dovecot, for an issuer of tokens, and of our own. */
static void connect_with_attempts(void)
{
	world.asker = world.kind->connected(world.server, world.channel);
	for (uint32_t i = 0; i < 3; i++) {
		struct auth_attempt *attempt = memory_alloc_zero(1, sizeof *attempt);

		attempt->asker = world.asker;
		attempt->tag = 7 + i;
		attempt->state = ATTEMPT_ASKS;
		if (i == 0)
			attempt->dovecot.dovecot = (struct dovecot *)(void *)&world;
		if (i == 1)
			attempt->token = (struct auth_token_request *)(void *)&world;
		HASH_ADD(hh, world.asker->attempts, tag, sizeof attempt->tag, attempt);
	}
	buffer_clear(&world.calls);
}

static void lose_connection(void)
{
	world.kind->lost(world.asker);
	world.asker = NULL;
	buffer_clear(&world.calls);
}

/* What another process is asked ends when it is not asked any more. */
static void dovecot_is_kept_or_left(void **state)
{
	static const struct {
		enum config_auth_users users;
		const char *socket, *calls;
	} steps[] = {
		{CONFIG_AUTH_DOVECOT, "/one", "refuse refuse dovecot offer keys offer"},
		{CONFIG_AUTH_DOVECOT, "/one", "refuse keys offer"},
		{CONFIG_AUTH_DOVECOT, "/two", "refuse refuse no-dovecot dovecot offer keys offer"},
		{CONFIG_AUTH_DIRECTORY, "/two", "refuse refuse no-dovecot keys offer"},
		{CONFIG_AUTH_LDAP, "/two", "refuse refuse keys offer"},
	};

	(void)state;
	open_server();
	for (size_t i = 0; i < COUNT_OF(steps); i++) {
		connect_with_attempts();
		world.config.auth.users = steps[i].users;
		world.config.auth.socket = steps[i].socket;
		auth_server_configure(world.server, &world.config);
		expect_calls(steps[i].calls);
		lose_connection();
	}
	/* one that speaks is told when it has spoken */
	connect_with_attempts();
	for (struct auth_attempt *a = world.asker->attempts; a != NULL; a = a->hh.next)
		a->state = ATTEMPT_SPEAKS;
	auth_server_configure(world.server, &world.config);
	expect_calls("keys offer");
	assert_null(world.asker->attempts->dovecot.dovecot);
	lose_connection();
}

/* --- messages --- */

static bool take(uint16_t type, uint32_t tag, const char *body)
{
	const struct ipc_message message = {.type = type, .tag = tag, .body = str_from(body)};

	return world.kind->message(world.asker, world.channel, &message);
}

static void messages_go_where_they_belong(void **state)
{
	static const struct {
		uint16_t type;
		uint32_t tag;
		const char *body, *calls;
		bool is_good;
	} rows[] = {
		{AUTH_BEGIN, 7, "body", "auth_attempt_begin", true},
		{AUTH_FOLLOW, 7, "body", "auth_logins_follow", true},
		{AUTH_RESPOND, 7, "body", "respond", true},
		{AUTH_RESPOND, 99, "body", "", false},
		{AUTH_UNFOLLOW, 7, "", "unfollow", true},
		{AUTH_UNFOLLOW, 7, "body", "", false},
		{AUTH_CANCEL, 99, "", "", true},
		{AUTH_CANCEL, 7, "body", "", false},
		{AUTH_CANCEL, 7, "", "cancel", true},
		{AUTH_LEAVE, 99, "", "", true},
		{AUTH_LEAVE, 8, "", "leave", true},
		{AUTH_FORGIVE, 9, "", "free", true},
		{AUTH_FORGIVE, 9, "", "", true},
		{AUTH_OFFER, 7, "", "", false},
		{AUTH_ANSWER, 7, "", "", false},
		{99, 7, "", "", false},
	};

	(void)state;
	open_server();
	connect_with_attempts();
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].is_good && *rows[i].body != '\0') {
			world.is_malformed = true;
			assert_false(take(rows[i].type, rows[i].tag, rows[i].body));
			world.is_malformed = false;
			buffer_clear(&world.calls);
		}
		if (take(rows[i].type, rows[i].tag, rows[i].body) != rows[i].is_good)
			fail_msg("row %zu", i);
		expect_calls(rows[i].calls);
	}
	lose_connection();
}

static void all_of_a_connection_ends_with_it(void **state)
{
	(void)state;
	open_server();
	buffer_clear(&world.calls);
	world.asker = world.kind->connected(world.server, world.channel);
	expect_calls("secret tell");
	assert_ptr_equal(world.asker->channel, world.channel);
	lose_connection();
	connect_with_attempts();
	world.kind->lost(world.asker);
	world.asker = NULL;
	expect_calls("free free free lose");
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(settings_reach_all_parts),         CASE(without_threads_there_is_none),
		CASE(files_are_read_or_named),          CASE(mechanisms_must_exist),
		CASE(dovecot_is_kept_or_left),          CASE(messages_go_where_they_belong),
		CASE(all_of_a_connection_ends_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
