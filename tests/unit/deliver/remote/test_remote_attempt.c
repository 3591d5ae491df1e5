// SPDX-License-Identifier: ISC
/* Attempts that have to wait: for their turn, for a place in their server's class of hosts, or
 * since the server gets too much. */
#include "attempt_scene.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/internal.h"
#include "fake_loop.h"
#include "unit/config/config_outcome.h"
#include "unit/limit/limit_scene.h"
#include <string.h>

enum { OWN, PROCESSES };

#define US "hostname = \"us.test\"\n"

static const char LIMITED[] = US "class \"*\" { queue = 1 refuse = 9 }\n"
				 "destination \"*\" { delay = 10s }\n";

/* --- the world --- */

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	memset(&scene, 0, sizeof scene);
	scene.config = config_of(US);
	remote_client_init(&scene.client, NULL);
	remote_client_configure(&scene.client, scene.config, 300 * SECOND_US);
	scene.client.shape = shape_new();
	shape_configure(scene.client.shape, scene.config);
	scene.server.host = "server.test";
	return os_socket_address_parse("192.0.2.1", 25, &scene.server.address) ? 0 : -1;
}

static int set_up_limited(void **state)
{
	int result = set_up(state);

	config_free(scene.config);
	scene.config = config_of(LIMITED);
	shape_configure(scene.client.shape, scene.config);
	remote_client_configure(&scene.client, scene.config, 300 * SECOND_US);
	scene.classes = limit_classes_new(scene.config);
	limit_scene_init(&scene.limits, PROCESSES);
	limit_scene_start(&scene.limits, OWN, scene.classes);
	scene.client.settings.places = remote_places_new();
	remote_places_configure(scene.client.settings.places, scene.config,
				scene.limits.memories[OWN]);
	return result;
}

static int tear_down(void **state)
{
	struct remote_places *places = scene.client.settings.places;

	(void)state;
	remote_client_clear(&scene.client);
	shape_free(scene.client.shape);
	remote_places_free(places);
	if (scene.classes != NULL)
		limit_scene_clear(&scene.limits);
	limit_classes_free(scene.classes);
	config_free(scene.config);
	assert_int_equal(fake_timers(), 0);
	return 0;
}

static uint64_t sessions(void)
{
	struct limit_total total;

	limit_total_of(scene.limits.supervisor, limit_classes_at(scene.classes, 0)->key, &total);
	return total.out;
}

/* --- tests --- */

static const char *defer_recipients(struct peer *peer, struct str line)
{
	(void)peer;
	return str_starts_with(line, STR("RCPT")) ? "451 4.3.0 later" : NULL;
}

/* For a recipient whom each of them defers. */
static void so_many_servers_are_asked(void **state)
{
	for (size_t servers = 1; servers <= SERVERS_MAX + 1; servers++) {
		size_t number;

		tear_down(state);
		set_up(state);
		scene.servers = servers;
		scene.answer = defer_recipients;
		number = scene_start("key");
		scene_play();
		assert_int_equal(scene.peer_count, servers < SERVERS_MAX ? servers : SERVERS_MAX);
		assert_true(scene.is_finished[number]);
		assert_string_equal(scene.reports[number], "4.3.0");
	}
}

/* While a session waits between messages its place may be somebody else's. */
static void who_waited_for_its_turn_needs_a_place_again(void **state)
{
	size_t waiting;
	size_t other;

	(void)state;
	scene_start("key");
	scene_play();
	assert_string_equal(scene.reports[0], "2.0.0");
	waiting = scene_start("key");
	scene_play();
	assert_int_equal(sessions(), 0);
	scene.is_slow = true;
	other = scene_start("other");
	scene_play();
	assert_int_equal(scene.peers[1].messages, 1);
	assert_int_equal(sessions(), 1);
	fake_advance(11 * SECOND_US);
	scene_play();
	assert_int_equal(scene.peers[0].messages, 1);
	assert_string_equal(scene.reports[waiting], "4.4.5 class.[any]");
	assert_false(scene.is_finished[other]);
	assert_int_equal(sessions(), 1);
}

static void who_waited_for_its_turn_is_counted(void **state)
{
	(void)state;
	scene_start("key");
	scene_play();
	scene.is_slow = true;
	scene_start("key");
	scene_play();
	fake_advance(11 * SECOND_US);
	scene_play();
	assert_int_equal(scene.peer_count, 1);
	assert_int_equal(scene.peers[0].messages, 2);
	assert_int_equal(sessions(), 1);
}

/* By the policy that was found before it, nothing more is begun. */
static void who_waited_for_its_turn_goes_by_the_new_configuration(void **state)
{
	(void)state;
	scene_start("key");
	scene_play();
	scene_start("key");
	scene_play();
	remote_client_configure(&scene.client, scene.config, 300 * SECOND_US);
	fake_advance(11 * SECOND_US);
	scene_play();
	assert_int_equal(scene.peers[0].messages, 1);
	assert_int_equal(scene.peer_count, 2);
	assert_int_equal(scene.peers[1].messages, 1);
	assert_string_equal(scene.reports[1], "2.0.0");
}

/* The class has no place, but the server is there. */
static void a_full_class_is_no_reason_for_another_way(void **state)
{
	size_t late;

	(void)state;
	scene.is_slow = true;
	scene_start("one");
	scene_play();
	late = scene_start("other");
	scene_play();
	assert_int_equal(scene.fallen_back, 0);
	assert_string_equal(scene.reports[late], "4.4.5 class.[any]");
}

static void a_server_that_is_away_is_one(void **state)
{
	(void)state;
	scene.is_away = true;
	scene_start("key");
	assert_int_equal(scene.fallen_back, 1);
	assert_string_equal(scene.reports[0], "4.4.1 host.x");
}

/* Two senders are told that it gets too much: the first cannot be known to be told of others. The
 * third one was sent before it said so for the first time, and it may be sent more again by then.
 */
static void what_need_not_wait_any_longer_is_reported(void **state)
{
	(void)state;
	scene.is_slow = true;
	scene_start("one");
	scene_start("two");
	scene_start("three");
	scene_play();
	fake_advance(SECOND_US);
	scene_say(&scene.peers[0], "451 4.7.28 too much\r\n");
	scene_play();
	assert_string_equal(scene.reports[0], "4.7.28");
	scene_say(&scene.peers[1], "451 4.7.28 too much\r\n");
	scene_play();
	assert_string_equal(scene.reports[1], "busy");
	fake_advance(2 * MINUTE_US);
	scene_say(&scene.peers[2], "451 4.7.28 too much\r\n");
	scene_play();
	assert_string_equal(scene.reports[2], "4.7.28");
	assert_true(scene.is_finished[2]);
}

#define ATTEMPT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define LIMITED_TEST(test) cmocka_unit_test_setup_teardown(test, set_up_limited, tear_down)

/* What is known of a server forbids to send it anything: nobody connects, and no other mail to it
 * waits for that. */
static void a_policy_that_refuses_is_no_fault_of_the_server(void **state)
{
	struct mail_verdict refusal;

	(void)state;
	mail_verdict_set(&refusal, "4.7.5", "its policy cannot be met");
	scene.refusal = &refusal;
	for (scene.servers = 1; scene.servers <= 3; scene.servers++) {
		size_t number = scene_start("key");

		scene_play();
		assert_int_equal(scene.peer_count, 0);
		assert_true(scene.is_finished[number]);
		assert_string_equal(scene.reports[number], "4.7.5");
	}
	scene.refusal = NULL;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ATTEMPT_TEST(so_many_servers_are_asked),
		LIMITED_TEST(who_waited_for_its_turn_needs_a_place_again),
		LIMITED_TEST(who_waited_for_its_turn_is_counted),
		LIMITED_TEST(who_waited_for_its_turn_goes_by_the_new_configuration),
		LIMITED_TEST(a_full_class_is_no_reason_for_another_way),
		ATTEMPT_TEST(a_server_that_is_away_is_one),
		ATTEMPT_TEST(a_policy_that_refuses_is_no_fault_of_the_server),
		ATTEMPT_TEST(what_need_not_wait_any_longer_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
