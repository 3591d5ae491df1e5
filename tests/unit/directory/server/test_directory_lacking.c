// SPDX-License-Identifier: ISC
/* Whether some user has no keys of a mechanism (the table "lacking"), as users come, change and go,
 * around a store that answers at once, late, or when a test wants it. */
#include "base/timestamp.h"
#include "config/text.h"
#include "directory/server/internal.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CRYPT       "|password $6$x$y"
#define A22         "AAAAAAAAAAAAAAAAAAAAAA"
#define A27         A22 "AAAAA"
#define A43         A22 "AAAAAAAAAAAAAAAAAAAAA"
#define KEYS_SHA256 "|password SCRAM-SHA-256$4096:" A22 "==$" A43 "=:" A43 "="
#define KEYS_SHA1   "|password SCRAM-SHA-1$4096:" A22 "==$" A27 "=:" A27 "="
#define ALL_KEYS    CRYPT KEYS_SHA256 KEYS_SHA1
#define SHA256      "scram-sha-256"
#define SHA1        "scram-sha-1"

enum {
	PORTION = 200, /* of lacking.c */
	CHANGED_MAX = 64,
	TURNS_MAX = 100,
};

enum answers { AT_ONCE, LATE, WHEN_TOLD };

static struct {
	struct os_loop *loop;
	struct memory_store *store;
	struct config *config;
	struct directory_server *server;
	struct directory_peer *peer;
} scene;

static void begin(enum answers answers)
{
	struct directory_transport transport;
	struct config_problems problems;
	int sockets[2];

	assert_int_equal(
		config_parse("t", STR("hostname = mx.example.org\n"), &scene.config, &problems), 0);
	config_problems_clear(&problems);
	scene.loop = os_loop_new();
	scene.store = memory_store_new(answers == WHEN_TOLD ? NULL : scene.loop);
	scene.store->is_late = answers != AT_ONCE;
	scene.server = directory_server_new(scene.loop, &scene.store->base, scene.config);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	directory_transport_plain(sockets[0], &transport);
	directory_server_accept(scene.server, &transport,
				DIRECTORY_ROLE_READ | DIRECTORY_ROLE_SECRET, "uid 0");
	scene.peer = directory_peer_new(scene.loop, sockets[1]);
	assert_true(strncmp(directory_peer_hear(scene.peer), "hello|1|", 8) == 0);
}

static void end(void)
{
	directory_peer_free(scene.peer);
	directory_server_free(scene.server);
	memory_store_answer_all(scene.store);
	memory_store_free(scene.store);
	config_free(scene.config);
	os_loop_free(scene.loop);
}

static void put(const char *name, const char *fields)
{
	char text[1000];

	snprintf(text, sizeof text, "user %s%s", name, fields);
	memory_store_put(scene.store, text);
}

/* The user with that number, in the order of their names. */
static void put_number(unsigned number, const char *fields)
{
	char name[16];

	snprintf(name, sizeof name, "u%04u", number);
	put(name, fields);
}

static void ask(const char *method)
{
	char text[64];

	snprintf(text, sizeof text, "get|7|lacking|%s", method);
	directory_peer_say(scene.peer, text);
}

/* Of the data as they are now. */
static void expect_answer(bool is_lacking)
{
	char text[64];

	snprintf(text, sizeof text, "%s|7|0|%u", is_lacking ? "val" : "none",
		 (unsigned)scene.store->base.version);
	assert_string_equal(directory_peer_hear(scene.peer), text);
}

static void expect(const char *method, bool is_lacking)
{
	ask(method);
	expect_answer(is_lacking);
}

/* Until the server has asked a store that answers WHEN_TOLD; and has done what is left. */
static void turn_until_asked(void)
{
	for (unsigned turns = 0; !memory_store_answer(scene.store); turns++) {
		assert_true(turns < TURNS_MAX);
		directory_peer_turn(scene.loop, SECOND_US / 100);
	}
	directory_peer_turn(scene.loop, SECOND_US / 100);
}

static void a_password_needs_keys(void **state)
{
	static const struct {
		const char *fields;
		bool lacks_sha256, lacks_sha1;
	} cases[] = {
		{"", false, false},
		{CRYPT, true, true},
		{CRYPT KEYS_SHA256, false, true},
		{KEYS_SHA1, true, false},
		{KEYS_SHA1 CRYPT KEYS_SHA256, false, false},
		{CRYPT "|state disabled", false, false},
	};

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT_OF(cases); i++) {
		begin(i % 2 == 0 ? AT_ONCE : LATE);
		put("ann", ALL_KEYS);
		put("bob", cases[i / 2].fields);
		expect(SHA256, cases[i / 2].lacks_sha256);
		expect(SHA1, cases[i / 2].lacks_sha1);
		end();
	}
}

static void only_who_authenticates_users_may_ask(void **state)
{
	(void)state;
	begin(AT_ONCE);
	put("ann", CRYPT);
	ask("yescrypt");
	assert_string_equal(directory_peer_hear(scene.peer),
			    "err|7|bad|There is no such method with keys of its own");
	scene.server->sessions->roles = DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST;
	ask(SHA256);
	assert_string_equal(directory_peer_hear(scene.peer), "err|7|denied|Not with this role");
	end();
}

static void who_has_changed_is_looked_at_again(void **state)
{
	(void)state;
	for (enum answers answers = AT_ONCE; answers <= LATE; answers++) {
		begin(answers);
		expect(SHA256, false);
		put("ann", ALL_KEYS);
		expect(SHA256, false);
		put("ann", CRYPT);
		expect(SHA256, true);
		put("ann", CRYPT "|state disabled");
		expect(SHA256, false);
		put("ann", CRYPT KEYS_SHA1);
		expect(SHA256, true);
		expect(SHA1, false);
		memory_store_remove(scene.store, "user ann");
		expect(SHA256, false);
		end();
	}
}

/* Nobody is read twice who has not changed. */
static void what_is_known_is_not_read_again(void **state)
{
	(void)state;
	begin(AT_ONCE);
	for (unsigned i = 0; i < PORTION + 50; i++)
		put_number(i, ALL_KEYS);
	expect(SHA256, false);
	assert_int_equal(scene.store->listed, PORTION + 50);
	put_number(0, ALL_KEYS);
	put_number(0, ALL_KEYS);
	put_number(PORTION, ALL_KEYS);
	memory_store_put(scene.store, "domain example.org|kind local|service box");
	expect(SHA256, false);
	expect(SHA256, false);
	assert_int_equal(scene.store->listed, PORTION + 50);
	assert_int_equal(scene.store->gets, 2);
	end();
}

/* One is named, and gets keys; the others lack theirs still. */
static void all_who_lack_keys_are_kept_in_mind(void **state)
{
	(void)state;
	for (enum answers answers = AT_ONCE; answers <= LATE; answers++) {
		begin(answers);
		for (unsigned i = 0; i < 3; i++)
			put_number(i, ALL_KEYS);
		expect(SHA256, false);
		for (unsigned i = 0; i < 3; i++)
			put_number(i, CRYPT);
		for (unsigned i = 0; i < 3; i++) {
			expect(SHA256, true);
			put_number(i, ALL_KEYS);
		}
		expect(SHA256, false);
		end();
	}
}

/* Wherever it is among those that are read at a time. */
static void one_among_many_is_found(void **state)
{
	static const unsigned numbers[] = {0, PORTION - 1, PORTION, 2 * PORTION - 1};

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT_OF(numbers); i++) {
		begin(i % 2 == 0 ? AT_ONCE : LATE);
		for (unsigned k = 0; k < 2 * PORTION; k++)
			put_number(k, k == numbers[i / 2] ? CRYPT : ALL_KEYS);
		expect(SHA256, true);
		put_number(numbers[i / 2], ALL_KEYS);
		expect(SHA256, false);
		end();
	}
}

static void more_may_change_than_are_kept_in_mind(void **state)
{
	(void)state;
	for (enum answers answers = AT_ONCE; answers <= LATE; answers++) {
		begin(answers);
		for (unsigned i = 0; i < PORTION; i++)
			put_number(i, ALL_KEYS);
		expect(SHA256, false);
		for (unsigned i = 0; i < CHANGED_MAX; i++)
			put_number(i, CRYPT);
		put_number(PORTION - 1, CRYPT);
		for (unsigned i = 0; i < CHANGED_MAX; i++)
			put_number(i, ALL_KEYS);
		expect(SHA256, true);
		put_number(PORTION - 1, ALL_KEYS);
		expect(SHA256, false);
		end();
	}
}

/* While the second portion is read so many of the first one change that all is read again. */
static void what_is_read_meanwhile_is_not_the_whole(void **state)
{
	(void)state;
	begin(WHEN_TOLD);
	for (unsigned i = 0; i < PORTION + 1; i++)
		put_number(i, ALL_KEYS);
	ask(SHA256);
	turn_until_asked();
	for (unsigned i = 0; i <= CHANGED_MAX; i++)
		put_number(i, CRYPT);
	for (unsigned i = 1; i <= CHANGED_MAX; i++)
		put_number(i, ALL_KEYS);
	turn_until_asked();
	turn_until_asked();
	expect_answer(true);
	end();
}

/* --- the store --- */

static void other_data_have_other_users(void **state)
{
	(void)state;
	for (enum answers answers = AT_ONCE; answers <= LATE; answers++) {
		begin(answers);
		put("ann", CRYPT);
		expect(SHA256, true);
		memory_store_replace(scene.store, "another");
		assert_true(strncmp(directory_peer_hear(scene.peer), "reset|another+", 14) == 0);
		expect(SHA256, false);
		put("bob", CRYPT);
		expect(SHA256, true);
		end();
	}
}

static void what_cannot_be_read_is_not_answered(void **state)
{
	(void)state;
	begin(LATE);
	put("ann", ALL_KEYS);
	memory_store_set_up(scene.store, false);
	assert_string_equal(directory_peer_hear(scene.peer), "down");
	ask(SHA256);
	assert_string_equal(directory_peer_hear(scene.peer),
			    "err|7|later|The data cannot be reached now");
	memory_store_set_up(scene.store, true);
	assert_string_equal(directory_peer_hear(scene.peer), "up");
	expect(SHA256, false);
	end();
}

static int get_error;

static void fail_get(struct directory_store *store, const struct directory_key *keys, size_t count,
		     directory_got *got, void *context)
{
	(void)keys, (void)count;
	got(context, get_error, NULL, store->version);
}

/* One of those that have changed: then the others are found in the list. Other servers do not say
 * that it is malformed, but that they cannot answer. */
static void a_malformed_user_hides_nobody(void **state)
{
	static const int errors[] = {-EBADMSG, -ENOTCONN};
	struct directory_store_operations operations;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(errors); i++) {
		begin(AT_ONCE);
		operations = *scene.store->base.operations;
		operations.get = fail_get;
		get_error = errors[i];
		put("ann", ALL_KEYS);
		put("bob", ALL_KEYS);
		expect(SHA256, false);
		put("bob", CRYPT);
		scene.store->base.operations = &operations;
		if (errors[i] != -EBADMSG) {
			ask(SHA256);
			assert_string_equal(directory_peer_hear(scene.peer),
					    "err|7|later|The data cannot be reached now");
		}
		expect(SHA256, true);
		end();
	}
}

/* A client, or the server, while the store is asked. */
static void who_asks_may_leave(void **state)
{
	(void)state;
	begin(WHEN_TOLD);
	put("ann", CRYPT);
	ask(SHA256);
	ask(SHA256);
	ask(SHA1);
	directory_peer_turn(scene.loop, SECOND_US / 100);
	assert_int_equal(scene.server->questions_under_way, 3);
	end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_password_needs_keys),
		cmocka_unit_test(only_who_authenticates_users_may_ask),
		cmocka_unit_test(who_has_changed_is_looked_at_again),
		cmocka_unit_test(what_is_known_is_not_read_again),
		cmocka_unit_test(all_who_lack_keys_are_kept_in_mind),
		cmocka_unit_test(one_among_many_is_found),
		cmocka_unit_test(more_may_change_than_are_kept_in_mind),
		cmocka_unit_test(what_is_read_meanwhile_is_not_the_whole),
		cmocka_unit_test(other_data_have_other_users),
		cmocka_unit_test(what_cannot_be_read_is_not_answered),
		cmocka_unit_test(a_malformed_user_hides_nobody),
		cmocka_unit_test(who_asks_may_leave),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
