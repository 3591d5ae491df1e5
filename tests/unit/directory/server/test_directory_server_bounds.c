// SPDX-License-Identifier: ISC
/* How much a client of the directory's server may ask at once, and be told at once. */
#include "config/text.h"
#include "directory/server/internal.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <stdio.h>
#include <string.h>

static struct {
	struct os_loop *loop;
	struct memory_store *store; /* it answers when it is told to, if IS_LATE */
	struct config *config;
	struct directory_server *server;
	struct directory_peer *peer;
} scene;

static int set_up(void **state)
{
	struct directory_transport transport;
	struct config_problems problems;
	int sockets[2];

	(void)state;
	assert_int_equal(
		config_parse("t", STR("hostname = mx.example.org\n"), &scene.config, &problems), 0);
	config_problems_clear(&problems);
	scene.loop = os_loop_new();
	scene.store = memory_store_new(NULL);
	scene.server = directory_server_new(scene.loop, &scene.store->base, scene.config);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	directory_transport_plain(sockets[0], &transport);
	directory_server_accept(scene.server, &transport, DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST,
				"uid 0");
	scene.peer = directory_peer_new(scene.loop, sockets[1]);
	assert_true(strncmp(directory_peer_hear(scene.peer), "hello|1|", 8) == 0);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	directory_peer_free(scene.peer);
	directory_server_free(scene.server);
	memory_store_answer_all(scene.store);
	memory_store_free(scene.store);
	config_free(scene.config);
	os_loop_free(scene.loop);
	return 0;
}

static void so_many_questions_are_open(void **state)
{
	char text[64];

	(void)state;
	scene.store->is_late = true;
	for (unsigned i = 0; i < SERVER_QUESTIONS_MAX + 1; i++) {
		snprintf(text, sizeof text, "get|%u|address|a%u@example.org", i, i);
		directory_peer_say(scene.peer, text);
	}
	assert_string_equal(directory_peer_hear_now(scene.peer), "nothing");
	assert_int_equal(scene.store->gets, SERVER_QUESTIONS_MAX);
	assert_true(memory_store_answer(scene.store));
	assert_true(strncmp(directory_peer_hear(scene.peer), "none|0|", 7) == 0);
	assert_string_equal(directory_peer_hear_now(scene.peer), "nothing");
	assert_int_equal(scene.store->gets, SERVER_QUESTIONS_MAX + 1);
}

static void a_number_has_so_many_digits(void **state)
{
	char text[SERVER_ID_MAX + 20];

	(void)state;
	snprintf(text, sizeof text, "ping|%0*d", SERVER_ID_MAX, 7);
	directory_peer_say(scene.peer, text);
	snprintf(text, sizeof text, "ok|%0*d|0", SERVER_ID_MAX, 7);
	assert_string_equal(directory_peer_hear(scene.peer), text);
	snprintf(text, sizeof text, "ping|%0*d", SERVER_ID_MAX + 1, 7);
	directory_peer_say(scene.peer, text);
	assert_string_equal(directory_peer_hear(scene.peer),
			    "err|0|bad|The question's number is not 1 to 20 digits");
	assert_string_equal(directory_peer_hear(scene.peer), "closed");
}

/* Who has missed more has to forget all that he knows. */
static void so_many_changes_are_told_later(void **state)
{
	char text[SERVER_IDENTITY_SIZE + 40];

	(void)state;
	for (unsigned i = 0; i <= SERVER_MISSED_MAX; i++) {
		snprintf(text, sizeof text, "address a%u@example.org|kind mailbox", i);
		memory_store_put(scene.store, text);
	}
	for (unsigned first = 1; first < 2; first--) {
		const char *heard = "";
		unsigned told = 0;

		snprintf(text, sizeof text, "since|%s|%u", scene.server->identity, first);
		directory_peer_say(scene.peer, text);
		while (strncmp(heard = directory_peer_hear(scene.peer), "new|", 4) == 0)
			told++;
		assert_int_equal(told, first == 1 ? SERVER_MISSED_MAX : 0);
		assert_true(strncmp(heard, first == 1 ? "now|" : "reset|", 4) == 0);
	}
}

#define BOUNDS_TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		BOUNDS_TEST(so_many_questions_are_open),
		BOUNDS_TEST(a_number_has_so_many_digits),
		BOUNDS_TEST(so_many_changes_are_told_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
