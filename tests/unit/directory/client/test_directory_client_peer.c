// SPDX-License-Identifier: ISC
/* The directory's client beside peers: word by word, and what servers should not do. */
#include "client_scene.h"
#include "directory/client/internal.h"
#include <stdio.h>
#include <string.h>

static void nobody_there_is_told_at_once(void **state)
{
	struct client_scene scene;

	(void)state;
	scene_open(&scene, "n");
	scene_turn(&scene, SECOND_US / 10);
	assert_true(scene_keeps(&scene, "route", "ann@example.org")); /* answered at once */
	assert_string_equal(scene_ask(&scene, "route", "ann@example.org"), "later");
	assert_string_equal(scene_put(&scene, "address", "a@b", "kind mailbox"), "later");
	scene_close(&scene);
}

static void a_server_that_never_greets_is_left(void **state)
{
	struct client_scene scene;

	(void)state;
	scene_open(&scene, "pr");
	(void)host_connection(&scene.hosts[0]);
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	scene_close(&scene);
}

static void a_server_that_stops_answering_is_left(void **state)
{
	static struct asked asked;
	struct client_scene scene;
	struct directory_peer *peer;

	(void)state;
	scene_open(&scene, "pr");
	peer = host_greet(&scene.hosts[0], "hello|1|other+x|1|read");
	scene_get(&scene, "address", "ann@example.org", 9 * SECOND_US, &asked);
	assert_true(strncmp(directory_peer_hear(peer), "get|1|address|ann@example.org", 29) == 0);
	directory_peer_say(peer, "part|1|kind forw"); /* half of an answer */
	assert_string_equal(asked_answer(&asked), "val|kind mailbox");
	scene_close(&scene);
}

/* Nobody waits as long as it takes to see that a server is mute. */
static void a_server_that_answers_nobody_in_time_is_left(void **state)
{
	static struct asked asked;
	struct client_scene scene;
	struct host *real = &scene.hosts[1];

	(void)state;
	scene_open(&scene, "pr");
	(void)host_greet(&scene.hosts[0], "hello|1|other+x|1|read");
	scene_get(&scene, "address", "ann@example.org", SECOND_US / 10, &asked);
	assert_string_equal(asked_answer(&asked), "later");
	assert_int_equal(real->connections, 0);
	for (unsigned i = 0; i < 100 && real->connections == 0; i++)
		scene_turn(&scene, SECOND_US / 10);
	assert_int_equal(real->connections, 1);
	assert_string_equal(scene_ask(&scene, "address", "ann@example.org"), "val|kind mailbox");
	scene_close(&scene);
}

static void patience_ends(void **state)
{
	static struct asked asked;
	struct client_scene scene;
	struct directory_peer *peer;

	(void)state;
	scene_open(&scene, "p");
	peer = host_greet(&scene.hosts[0], "hello|1|id|1|read");
	scene_get(&scene, "route", "a@b", SECOND_US / 2, &asked);
	assert_true(strncmp(directory_peer_hear(peer), "get|1|route|a@b", 15) == 0);
	assert_string_equal(asked_answer(&asked), "later");
	/* too late to be heard */
	directory_peer_say(peer, "val|1|1000|1|local box a@b");
	scene_turn(&scene, SECOND_US / 10);
	assert_true(directory_client_is_up(scene.client));
	scene_close(&scene);
}

/* A question is under way when the server says FRAME. */
static void assert_ends(const char *frame)
{
	static struct asked asked;
	struct client_scene scene;
	struct directory_peer *peer;
	struct host *host = &scene.hosts[0];

	scene_open(&scene, "p");
	peer = host_greet(host, "hello|1|id|1|read");
	scene_get(&scene, "route", "a@b", 8 * SECOND_US, &asked);
	assert_true(strncmp(directory_peer_hear(peer), "get|1|", 6) == 0);
	directory_peer_say(peer, frame);
	assert_string_equal(directory_peer_hear(peer), "closed");
	host_hang_up(host);
	/* and the question is asked again */
	peer = host_greet(host, "hello|1|id|1|read");
	assert_true(strncmp(directory_peer_hear(peer), "get|1|", 6) == 0);
	directory_peer_say(peer, "val|1|1000|1|local box a@b");
	assert_string_equal(asked_answer(&asked), "val|local box a@b");
	scene_close(&scene);
}

static void what_is_malformed_ends_the_connection(void **state)
{
	static const char *const cases[] = {
		"val|1|x|1|local box a@b",
		"val|1|1000",
		"val|1|1000|-1",
		"fetch|1",
		"new|x|address|a",
		"reset|id",
		"ok|1|x",
		"now|",
		"err|0|bad|I do not like you",
		"hello|1|id|1|read",
		"reset||1",
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_ends(cases[i]);
}

/* No server says as much in one word: a relay could not pass it on. */
static void long_words_end_the_connection(void **state)
{
	static const char *const begins[] = {"val|1|1000|1|local box ", "part|1|",
					     "new|9|address|"};
	static char frame[DIRECTORY_FRAME_MAX];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(begins); i++) {
		size_t length = strlen(begins[i]);

		memset(frame, 'x', sizeof frame);
		memcpy(frame, begins[i], length);
		frame[sizeof frame - 40] = '\0';
		assert_ends(frame);
	}
}

static void greetings_of_others_are_refused(void **state)
{
	static const char *const cases[] = {"hello|2|id|1|read", "hello|1||1|read", "hello|1|id|x",
					    "hello|1|id",        "val|1|1|1",       "220 mx ESMTP"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct client_scene scene;
		struct directory_peer *peer;

		scene_open(&scene, "p");
		peer = host_greet(&scene.hosts[0], cases[i]);
		assert_string_equal(directory_peer_hear(peer), "closed");
		assert_string_equal(scene.states, "");
		scene_close(&scene);
	}
}

static void a_server_that_is_behind_is_left(void **state)
{
	struct client_scene scene;
	struct host *ahead = &scene.hosts[0];
	struct host *behind = &scene.hosts[1];
	struct directory_peer *peer;

	(void)state;
	scene_open(&scene, "pp");
	peer = host_greet(ahead, "hello|1|id+a|1|read");
	directory_peer_say(peer, "new|9|address|x@y");
	scene_turn(&scene, SECOND_US / 20);
	assert_int_equal(directory_client_version(scene.client), 9);
	host_hang_up(ahead);
	/* the configuration does not matter, the data do */
	peer = host_greet(behind, "hello|1|id+b|8|read");
	assert_string_equal(directory_peer_hear(peer), "closed");
	(void)host_greet(ahead, "hello|1|id+a|9|read");
	scene_turn(&scene, SECOND_US / 20);
	assert_true(directory_client_is_up(scene.client));
	scene_close(&scene);
}

/* HOST greets with VERSION, and one answer is cached that has SEEN. */
static struct directory_peer *greet_and_answer(struct client_scene *scene, struct host *host,
					       const char *version, const char *seen)
{
	static struct asked asked;
	char frame[100];
	struct directory_peer *peer;

	snprintf(frame, sizeof frame, "hello|1|id|%s|read", version);
	peer = host_greet(host, frame);
	scene_get(scene, "route", "a@b", 8 * SECOND_US, &asked);
	assert_string_equal(directory_peer_hear(peer), "get|1|route|a@b");
	snprintf(frame, sizeof frame, "val|1|60000|%s|local box a@b", seen);
	directory_peer_say(peer, frame);
	assert_string_equal(asked_answer(&asked), "val|local box a@b");
	assert_true(scene_keeps(scene, "route", "a@b"));
	return peer;
}

/* A version that no server has any more is believed for half a minute. */
static void newer_data_that_none_has_are_forgotten(void **state)
{
	struct client_scene scene;
	struct host *liar = &scene.hosts[0];
	struct host *honest = &scene.hosts[1];
	struct directory_peer *peer;

	(void)state;
	scene_open(&scene, "pp");
	(void)greet_and_answer(&scene, liar, "1", "18446744073709551615");
	host_stop(liar);
	peer = host_greet(honest, "hello|1|id|8|read");
	assert_string_equal(directory_peer_hear(peer), "closed");
	assert_false(directory_client_is_up(scene.client));
	host_hang_up(honest);
	scene.client->lost_us -= 31 * SECOND_US;
	peer = host_greet(honest, "hello|1|id|8|read");
	scene_turn(&scene, SECOND_US / 20);
	assert_true(directory_client_is_up(scene.client));
	assert_int_equal(directory_client_version(scene.client), 8);
	assert_false(scene_keeps(&scene, "route", "a@b"));
	/* and later news are compared with that */
	directory_peer_say(peer, "reset|id|7");
	scene_turn(&scene, SECOND_US / 20);
	assert_false(directory_client_is_up(scene.client));
	scene_close(&scene);
}

static void a_lone_server_is_believed(void **state)
{
	struct client_scene scene;
	struct host *host = &scene.hosts[0];
	struct directory_peer *peer;

	(void)state;
	scene_open(&scene, "p");
	(void)greet_and_answer(&scene, host, "9", "9");
	host_hang_up(host);
	peer = host_greet(host, "hello|1|id|8|read");
	scene_turn(&scene, SECOND_US / 20);
	assert_true(directory_client_is_up(scene.client));
	assert_false(scene_keeps(&scene, "route", "a@b"));
	directory_peer_say(peer, "reset|id|7");
	scene_turn(&scene, SECOND_US / 20);
	assert_true(directory_client_is_up(scene.client));
	assert_int_equal(directory_client_version(scene.client), 7);
	scene_close(&scene);
}

static void a_change_is_not_made_twice(void **state)
{
	static struct asked asked;
	struct str fields[] = {STR("kind mailbox")};
	struct client_scene scene;
	struct directory_peer *peer;
	struct host *host = &scene.hosts[0];

	(void)state;
	scene_open(&scene, "p");
	peer = host_greet(host, "hello|1|id|1|read|change");
	scene_prepare(&scene, &asked);
	directory_client_put(scene.client, "address", STR("a@b"), fields, 1, &asked.question);
	assert_string_equal(directory_peer_hear(peer), "put|1|address|a@b|kind mailbox");
	host_hang_up(host);
	assert_string_equal(asked_answer(&asked), "later");
	peer = host_greet(host, "hello|1|id|1|read|change");
	assert_string_equal(directory_peer_hear_now(peer), "nothing");
	scene_close(&scene);
}

static void since_covers_what_answers_came_with(void **state)
{
	static struct asked asked;
	struct client_scene scene;
	struct directory_peer *peer;
	struct host *host = &scene.hosts[0];

	(void)state;
	scene_open(&scene, "p");
	peer = host_greet(host, "hello|1|id|5|read");
	scene_get(&scene, "route", "a@b", 8 * SECOND_US, &asked);
	assert_string_equal(directory_peer_hear(peer), "get|1|route|a@b");
	directory_peer_say(peer, "val|1|60000|6|local box a@b|on address a@b");
	assert_string_equal(asked_answer(&asked), "val|local box a@b");
	assert_true(asked.ttl_us > 0 && asked.ttl_us <= 60 * SECOND_US);
	host_hang_up(host);
	peer = host_greet(host, "hello|1|id|9|read");
	assert_string_equal(directory_peer_hear(peer), "since|id|6");
	/* lost before it was answered: the same again, whatever was heard meanwhile */
	directory_peer_say(peer, "new|9|address|c@d");
	scene_turn(&scene, SECOND_US / 20);
	host_hang_up(host);
	peer = host_greet(host, "hello|1|id|9|read");
	assert_string_equal(directory_peer_hear(peer), "since|id|6");
	assert_true(scene_keeps(&scene, "route", "a@b"));
	directory_peer_say(peer, "new|7|address|a@b");
	directory_peer_say(peer, "now|9");
	scene_turn(&scene, SECOND_US / 20);
	assert_false(scene_keeps(&scene, "route", "a@b"));
	scene_close(&scene);
}

static void parts_are_put_together(void **state)
{
	static struct asked asked;
	struct client_scene scene;
	struct directory_peer *peer;

	(void)state;
	scene_open(&scene, "p");
	peer = host_greet(&scene.hosts[0], "hello|1|id|5|read");
	scene_get(&scene, "route", "a@b", 8 * SECOND_US, &asked);
	assert_string_equal(directory_peer_hear(peer), "get|1|route|a@b");
	directory_peer_say(peer, "part|1|remote a|on x y");
	directory_peer_say(peer, "part|1|remote b");
	directory_peer_say(peer, "val|1|1000|5|remote c|on z y|remote d");
	assert_string_equal(asked_answer(&asked), "val|remote a|remote b|remote c|remote d");
	scene_close(&scene);
}

/* How long the parts of the answer are that is under way. What is there already is memory that
 * nobody touches. */
static struct buffer *parts_of(const struct asked *asked)
{
	return &asked->question.private->parts;
}

static void parts_are_so_long(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		static struct asked asked;
		struct client_scene scene;
		struct directory_peer *peer;
		size_t length;

		scene_open(&scene, "p");
		peer = host_greet(&scene.hosts[0], "hello|1|id|5|read");
		scene_get(&scene, "route", "a@b", 8 * SECOND_US, &asked);
		assert_string_equal(directory_peer_hear(peer), "get|1|route|a@b");
		directory_peer_say(peer, "part|1|remote a");
		for (unsigned j = 0; j < 100 && parts_of(&asked)->length == 0; j++)
			scene_turn(&scene, SECOND_US / 100);
		length = parts_of(&asked)->length;
		assert_true(length > 0);
		(void)buffer_reserve(parts_of(&asked), CLIENT_ANSWER_MAX);
		buffer_commit(parts_of(&asked), CLIENT_ANSWER_MAX - 2 * length + i);
		directory_peer_say(peer, "part|1|remote a");
		for (unsigned j = 0; j < 100 && i > 0 && scene.hosts[0].connections == 1; j++)
			scene_turn(&scene, SECOND_US / 20);
		scene_turn(&scene, SECOND_US / 20);
		assert_int_equal(scene.hosts[0].connections, 1 + i); /* it comes again */
		directory_question_cancel(scene.client, &asked.question);
		scene_close(&scene);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_there_is_told_at_once),
		cmocka_unit_test(a_server_that_never_greets_is_left),
		cmocka_unit_test(a_server_that_stops_answering_is_left),
		cmocka_unit_test(a_server_that_answers_nobody_in_time_is_left),
		cmocka_unit_test(patience_ends),
		cmocka_unit_test(what_is_malformed_ends_the_connection),
		cmocka_unit_test(long_words_end_the_connection),
		cmocka_unit_test(greetings_of_others_are_refused),
		cmocka_unit_test(a_server_that_is_behind_is_left),
		cmocka_unit_test(newer_data_that_none_has_are_forgotten),
		cmocka_unit_test(a_lone_server_is_believed),
		cmocka_unit_test(a_change_is_not_made_twice),
		cmocka_unit_test(since_covers_what_answers_came_with),
		cmocka_unit_test(parts_are_put_together),
		cmocka_unit_test(parts_are_so_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
