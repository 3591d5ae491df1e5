// SPDX-License-Identifier: ISC
/* What the directory's server holds for clients that are behind with their answers. */
#include "base/timestamp.h"
#include "config/text.h"
#include "directory/server/internal.h"
#include "os/process/process.h"
#include "os/socket/socket.h"
#include "test.h"
#include "unit/directory/directory_peer.h"
#include "unit/directory/store/memory_store.h"
#include <stdio.h>
#include <string.h>

enum {
	RECORDS = 200,
	TARGETS = 600, /* of each */
	RECORD_SIZE = TARGETS * 60,
	GETS = 240,
	ASKED = 20,
	QUIET = 5, /* turns */
	TURNS_MAX = 2000,
	/* a backlog, a portion or an answer, and pushes */
	HELD_MAX = 2 * SERVER_BACKLOG_MAX,
};

struct scene {
	struct os_loop *loop;
	struct memory_store *store;
	struct config *config;
	struct directory_server *server;
	struct directory_peer *peer;
};

static void put_large(struct memory_store *store, unsigned number)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	buffer_append_format(&text, "address u%04u@example.org|kind forward", number);
	for (unsigned i = 0; i < TARGETS; i++)
		buffer_append_format(&text, "|target t%04u%040d@example.net", i, 0);
	buffer_append_byte(&text, '\0');
	memory_store_put(store, buffer_data(&text));
}

enum answers { AT_ONCE, LATE, WHEN_TOLD };

static void begin(struct scene *scene, enum answers answers)
{
	static const char text[] = "hostname = mx.example.org\n"
				   "service box { kind = maildir path = /m/%u }\n"
				   "directory { ttl = 1h negative_ttl = 5m }\n";
	struct directory_transport transport;
	struct config_problems problems;
	int sockets[2];

	assert_int_equal(config_parse("t", STR(text), &scene->config, &problems), 0);
	config_problems_clear(&problems);
	scene->loop = os_loop_new();
	scene->store = memory_store_new(answers == WHEN_TOLD ? NULL : scene->loop);
	memory_store_put(scene->store, "domain example.org|kind local|service box");
	for (unsigned i = 0; i < RECORDS; i++)
		put_large(scene->store, i);
	scene->store->is_late = answers != AT_ONCE;
	scene->server = directory_server_new(scene->loop, &scene->store->base, scene->config);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, sockets), 0);
	directory_transport_plain(sockets[0], &transport);
	directory_server_accept(scene->server, &transport,
				DIRECTORY_ROLE_READ | DIRECTORY_ROLE_LIST, "uid 0");
	scene->peer = directory_peer_new(scene->loop, sockets[1]);
	assert_true(strncmp(directory_peer_hear(scene->peer), "hello|1|", 8) == 0);
}

static void end(struct scene *scene)
{
	if (scene->peer != NULL)
		directory_peer_free(scene->peer);
	directory_server_free(scene->server);
	memory_store_answer_all(scene->store);
	memory_store_free(scene->store);
	config_free(scene->config);
	os_loop_free(scene->loop);
}

/* The most that is held for the one client, who reads nothing, until LEAST is and the server has
 * nothing to do any more. */
static size_t held(struct scene *scene, size_t least)
{
	size_t most = 0;

	for (unsigned turns = 0, quiet = 0; quiet < QUIET && turns < TURNS_MAX; turns++) {
		size_t now;

		directory_peer_turn(scene->loop, SECOND_US / 100);
		assert_non_null(scene->server->sessions);
		now = scene->server->sessions->output.length;
		quiet = now > most || now < least ? 0 : quiet + 1;
		most = now > most ? now : most;
	}
	return most;
}

/* Large answers and, between them, small ones. */
static void ask_gets(struct scene *scene)
{
	char text[64];

	for (unsigned i = 0; i < GETS; i++) {
		snprintf(text, sizeof text, "get|%u|%s|u%04u@example.org", i,
			 i % 2 == 0 ? "address" : "route", i % RECORDS);
		directory_peer_say(scene->peer, text);
	}
}

/* Each once, in any order, of its own key. */
static void hear_gets(struct scene *scene)
{
	static bool is_heard[GETS];

	memset(is_heard, 0, sizeof is_heard);
	for (unsigned count = 0; count < GETS; count++) {
		const char *heard = directory_peer_hear(scene->peer);
		unsigned number = GETS;
		char on[64];

		assert_int_equal(sscanf(heard, "val|%u|", &number), 1);
		assert_in_range(number, 0, GETS - 1);
		assert_false(is_heard[number]);
		is_heard[number] = true;
		snprintf(on, sizeof on, "|on address u%04u@example.org", number % RECORDS);
		assert_non_null(strstr(heard, on));
	}
	assert_string_equal(directory_peer_hear_now(scene->peer), "nothing");
}

static void answers_are_found_again_when_there_is_room(void **state)
{
	struct scene scene;

	(void)state;
	for (enum answers answers = AT_ONCE; answers <= LATE; answers++) {
		begin(&scene, answers);
		directory_peer_read(scene.peer, false);
		ask_gets(&scene);
		assert_in_range(held(&scene, SERVER_BACKLOG_MAX), SERVER_BACKLOG_MAX, HELD_MAX);
		directory_peer_read(scene.peer, true);
		hear_gets(&scene);
		end(&scene);
	}
}

/* Records of a list, in the order of their keys; the frame that ends it. */
static unsigned hear_list(struct scene *scene, unsigned first, const char **last_out)
{
	unsigned count = 0;

	do {
		*last_out = directory_peer_hear(scene->peer);
		for (const char *at = *last_out; (at = strstr(at, "|= u")) != NULL; at++) {
			unsigned number = RECORDS;

			assert_int_equal(sscanf(at, "|= u%u@", &number), 1);
			assert_int_equal(number, first + count);
			count++;
		}
	} while (strncmp(*last_out, "part|", 5) == 0);
	return count;
}

static void a_page_is_read_as_its_client_reads(void **state)
{
	static const struct {
		unsigned first, limit, count;
		const char *after;
	} cases[] = {
		{0, 1000, RECORDS, ""},
		{0, RECORDS, RECORDS, ""},
		{0, 1, 1, ""},
		{11, 100, 100, "u0010@example.org"},
		{RECORDS, 1000, 0, "u0199@example.org"},
	};
	struct scene scene;
	const char *last;
	char text[64];

	(void)state;
	for (unsigned i = 0; i < 2 * COUNT_OF(cases); i++) {
		begin(&scene, i % 2 == 0 ? LATE : AT_ONCE);
		directory_peer_read(scene.peer, false);
		snprintf(text, sizeof text, "list|7|address|u|%s|%u", cases[i / 2].after,
			 cases[i / 2].limit);
		directory_peer_say(scene.peer, text);
		assert_in_range(held(&scene, 0), 0, HELD_MAX);
		assert_in_range(scene.store->listed, 0,
				(HELD_MAX + 2 * SERVER_BACKLOG_MAX) / RECORD_SIZE);
		directory_peer_read(scene.peer, true);
		assert_int_equal(hear_list(&scene, cases[i / 2].first, &last), cases[i / 2].count);
		assert_true(strncmp(last, "val|7|0|201", 11) == 0);
		end(&scene);
	}
}

/* What was read later may be newer: who has the answer may not have seen all up to then. */
static void a_list_is_as_old_as_its_first_portion(void **state)
{
	struct scene scene;
	const char *last;

	(void)state;
	begin(&scene, AT_ONCE);
	directory_peer_read(scene.peer, false);
	directory_peer_say(scene.peer, "list|7|address|u||1000");
	assert_in_range(held(&scene, SERVER_BACKLOG_MAX), SERVER_BACKLOG_MAX, HELD_MAX);
	memory_store_put(scene.store, "address u0198@example.org|kind mailbox");
	directory_peer_read(scene.peer, true);
	assert_int_equal(hear_list(&scene, 0, &last), RECORDS);
	assert_true(strncmp(last, "val|7|0|201", 11) == 0);
	assert_int_equal(scene.store->base.version, 202);
	end(&scene);
}

static void a_list_is_of_one_identity(void **state)
{
	struct scene scene;
	const char *heard;

	(void)state;
	begin(&scene, AT_ONCE);
	directory_peer_read(scene.peer, false);
	directory_peer_say(scene.peer, "list|7|address|u||1000");
	assert_in_range(held(&scene, SERVER_BACKLOG_MAX), SERVER_BACKLOG_MAX, HELD_MAX);
	memory_store_replace(scene.store, "another");
	directory_peer_read(scene.peer, true);
	do
		heard = directory_peer_hear(scene.peer);
	while (strncmp(heard, "part|", 5) == 0 || strncmp(heard, "reset|", 6) == 0);
	assert_string_equal(heard, "err|7|later|The data cannot be reached now");
	end(&scene);
}

static void leave(struct scene *scene)
{
	directory_peer_free(scene->peer);
	scene->peer = NULL;
	for (unsigned i = 0; i < TURNS_MAX && !directory_server_is_idle(scene->server); i++)
		directory_peer_turn(scene->loop, SECOND_US / 100);
	assert_int_equal(scene->server->session_count, 0);
	assert_true(directory_server_is_idle(scene->server));
}

/* The client leaves, or the server ends first. */
static void lists_of_who_is_gone_are_forgotten(void **state)
{
	struct scene scene;

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		begin(&scene, i % 2 == 0 ? AT_ONCE : LATE);
		directory_peer_read(scene.peer, false);
		for (unsigned list = 0; list < SERVER_LISTS_MAX; list++)
			directory_peer_say(scene.peer, "list|7|address|u||1000");
		ask_gets(&scene);
		assert_in_range(held(&scene, SERVER_BACKLOG_MAX), SERVER_BACKLOG_MAX, HELD_MAX);
		assert_false(directory_server_is_idle(scene.server));
		if (i < 2)
			leave(&scene);
		end(&scene);
	}
}

/* Each may be answered with thousands of keys. */
static void what_was_missed_is_asked_for_by_few_at_once(void **state)
{
	struct scene scene;
	char text[128];
	unsigned answers = 0;

	(void)state;
	begin(&scene, WHEN_TOLD);
	snprintf(text, sizeof text, "since|%s|1", scene.server->identity);
	for (unsigned i = 0; i < ASKED; i++)
		directory_peer_say(scene.peer, text);
	for (unsigned turns = 0; answers < ASKED && turns < TURNS_MAX; turns++) {
		directory_peer_turn(scene.loop, SECOND_US / 100);
		assert_in_range(scene.server->sessions->question_count, 0, SERVER_LISTS_MAX);
		answers += (unsigned)memory_store_answer_all(scene.store);
	}
	assert_int_equal(answers, ASKED);
	for (answers = 0; answers < ASKED;) {
		const char *heard = directory_peer_hear(scene.peer);

		assert_true(*heard == 'n' && strcmp(heard, "nothing") != 0); /* new, now */
		answers += strncmp(heard, "now|201", 7) == 0;
	}
	end(&scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_are_found_again_when_there_is_room),
		cmocka_unit_test(a_page_is_read_as_its_client_reads),
		cmocka_unit_test(a_list_is_as_old_as_its_first_portion),
		cmocka_unit_test(a_list_is_of_one_identity),
		cmocka_unit_test(what_was_missed_is_asked_for_by_few_at_once),
		cmocka_unit_test(lists_of_who_is_gone_are_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
