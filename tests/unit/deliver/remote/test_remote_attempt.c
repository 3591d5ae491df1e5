// SPDX-License-Identifier: ISC
/* Attempts that have to wait: for their turn, for a place in their server's class of hosts, or
 * since the server gets too much. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/attempt.h"
#include "fake_loop.h"
#include "os/socket/socket.h"
#include "unit/config/config_outcome.h"
#include "unit/limit/limit_scene.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN, PROCESSES, PEERS_MAX = 8, JOBS_MAX = 8, ROOM = 4000 };

#define US "hostname = \"us.test\"\n"

static const char LIMITED[] = US "class \"*\" { queue = 1 refuse = 9 }\n"
				 "destination \"*\" { delay = 10s }\n";

struct peer { /* the server's end of a connection */
	int socket;
	char heard[ROOM];
	size_t heard_length;
	bool is_in_data;
	unsigned messages;
};

static struct {
	struct limit_scene limits;
	struct limit_classes *classes;
	struct config *config;
	struct remote_carrier carrier;
	struct dns_server server;
	bool is_away; /* it cannot be connected to */
	bool is_slow; /* it does not answer to a message */
	struct peer peers[PEERS_MAX];
	size_t peer_count;
	size_t started;
	char reports[JOBS_MAX][64]; /* "4.4.5 class.[any]", "busy"; "": none */
	bool is_finished[JOBS_MAX];
	unsigned fallen_back;
} scene;

int os_socket_connect(const union os_socket_address *address)
{
	struct peer *peer = &scene.peers[scene.peer_count];

	(void)address;
	if (scene.is_away)
		return -ECONNREFUSED;
	assert_true(scene.peer_count++ < PEERS_MAX);
	*peer = (struct peer){.socket = fake_connect(ROOM, ROOM)};
	assert_int_equal(fake_peer_write(peer->socket, "220 x\r\n", 7), 7);
	return peer->socket;
}

int os_socket_connect_from(const struct in6_addr *source, const union os_socket_address *address)
{
	(void)source;
	return os_socket_connect(address);
}

int os_socket_error(int socket)
{
	(void)socket;
	return 0;
}

/* --- jobs --- */

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	assert_false(job->recipients[index].is_reported);
	job->recipients[index].is_reported = true;
	snprintf(scene.reports[job->tag], sizeof scene.reports[job->tag], "%s%s%s", verdict->status,
		 trigger != NULL ? " " : "", trigger != NULL ? trigger : "");
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	if (!job->recipients[0].is_reported)
		deliver_helper_report(job, 0, verdict, trigger);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	scene.is_finished[job->tag] = true;
	arena_free(job->arena);
	free(job);
}

void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason)
{
	(void)flags;
	(void)reason;
	assert_true(wait_us > 0);
	if (!job->recipients[0].is_reported)
		snprintf(scene.reports[job->tag], sizeof scene.reports[job->tag], "busy");
	deliver_helper_finish(job);
}

static void find(void *context, struct remote_attempt *attempt)
{
	(void)context;
	remote_attempt_try(attempt, &scene.server, 1, "host.x");
}

static void end_finding(void *context)
{
	(void)context;
}

static bool fall_back(void *context, struct remote_attempt *attempt)
{
	(void)context;
	(void)attempt;
	scene.fallen_back++;
	return false;
}

static const struct remote_finder finder = {
	.find = find, .end = end_finding, .fall_back = fall_back};

/* Its number; jobs with the same KEY share connections. */
static size_t start(const char *key)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);
	size_t number = scene.started++;

	job->arena = arena_new();
	job->tag = (uint32_t)number;
	job->sender = STR("s@us.test");
	job->destination = STR("d.test");
	job->content = (struct ipc_content){.file = -1, .bytes = STR("x\r\n"), .size = 3};
	job->recipient_count = 1;
	job->recipients = arena_alloc(job->arena, sizeof *job->recipients);
	job->recipients[0].address = STR("r@d.test");
	remote_attempt_start(&scene.carrier, SMTP_CLIENT_SMTP, job, key, &finder, NULL);
	return number;
}

/* --- the server --- */

static void say(const struct peer *peer, const char *text)
{
	assert_int_equal(fake_peer_write(peer->socket, text, strlen(text)), strlen(text));
}

static void on_line(struct peer *peer, struct str line)
{
	bool is_end = peer->is_in_data && str_equal(line, STR("."));

	if (peer->is_in_data && !is_end)
		return;
	peer->is_in_data = str_equal(line, STR("DATA"));
	peer->messages += is_end;
	if (!is_end || !scene.is_slow)
		say(peer, peer->is_in_data ? "354 go\r\n" : "250 so\r\n");
}

/* Whether there was something to hear. */
static bool hear(struct peer *peer)
{
	size_t count = fake_peer_read(peer->socket, peer->heard + peer->heard_length,
				      sizeof peer->heard - peer->heard_length);
	struct str rest;
	ptrdiff_t end;

	peer->heard_length += count;
	rest = str_slice(peer->heard, peer->heard_length);
	while ((end = str_find(rest, '\n')) > 0) {
		on_line(peer, str_slice(rest.data, (size_t)end - 1));
		rest = str_skip(rest, (size_t)end + 1);
	}
	memmove(peer->heard, rest.data, rest.length);
	peer->heard_length = rest.length;
	return count > 0;
}

/* Until nothing happens any more. */
static void play(void)
{
	bool is_moving = true;

	while (is_moving) {
		is_moving = false;
		for (size_t i = 0; i < scene.peer_count; i++) {
			struct peer *peer = &scene.peers[i];

			while (!fake_is_closed(peer->socket) && fake_watch_is_ready(peer->socket)) {
				fake_play_watch(peer->socket);
				is_moving = true;
			}
			is_moving |= !fake_is_closed(peer->socket) && hear(peer);
		}
	}
}

/* --- the world --- */

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	memset(&scene, 0, sizeof scene);
	scene.config = config_of(US);
	remote_carrier_init(&scene.carrier, NULL);
	remote_carrier_configure(&scene.carrier, scene.config, 300 * SECOND_US);
	scene.carrier.shape = shape_new();
	shape_configure(scene.carrier.shape, scene.config);
	scene.server.host = "server.test";
	return os_socket_address_parse("192.0.2.1", 25, &scene.server.address) ? 0 : -1;
}

static int set_up_limited(void **state)
{
	int result = set_up(state);

	config_free(scene.config);
	scene.config = config_of(LIMITED);
	shape_configure(scene.carrier.shape, scene.config);
	remote_carrier_configure(&scene.carrier, scene.config, 300 * SECOND_US);
	scene.classes = limit_classes_new(scene.config);
	limit_scene_init(&scene.limits, PROCESSES);
	limit_scene_start(&scene.limits, OWN, scene.classes);
	scene.carrier.settings.places = remote_places_new();
	remote_places_configure(scene.carrier.settings.places, scene.config,
				scene.limits.memories[OWN]);
	return result;
}

static int tear_down(void **state)
{
	struct remote_places *places = scene.carrier.settings.places;

	(void)state;
	remote_carrier_clear(&scene.carrier);
	shape_free(scene.carrier.shape);
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

/* While a session waits between messages its place may be somebody else's. */
static void who_waited_for_its_turn_needs_a_place_again(void **state)
{
	size_t waiting;
	size_t other;

	(void)state;
	start("key");
	play();
	assert_string_equal(scene.reports[0], "2.0.0");
	waiting = start("key");
	play();
	assert_int_equal(sessions(), 0);
	scene.is_slow = true;
	other = start("other");
	play();
	assert_int_equal(scene.peers[1].messages, 1);
	assert_int_equal(sessions(), 1);
	fake_advance(11 * SECOND_US);
	play();
	assert_int_equal(scene.peers[0].messages, 1);
	assert_string_equal(scene.reports[waiting], "4.4.5 class.[any]");
	assert_false(scene.is_finished[other]);
	assert_int_equal(sessions(), 1);
}

static void who_waited_for_its_turn_is_counted(void **state)
{
	(void)state;
	start("key");
	play();
	scene.is_slow = true;
	start("key");
	play();
	fake_advance(11 * SECOND_US);
	play();
	assert_int_equal(scene.peer_count, 1);
	assert_int_equal(scene.peers[0].messages, 2);
	assert_int_equal(sessions(), 1);
}

/* By the policy that was found before it, nothing more is begun. */
static void who_waited_for_its_turn_goes_by_the_new_configuration(void **state)
{
	(void)state;
	start("key");
	play();
	start("key");
	play();
	remote_carrier_configure(&scene.carrier, scene.config, 300 * SECOND_US);
	fake_advance(11 * SECOND_US);
	play();
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
	start("one");
	play();
	late = start("other");
	play();
	assert_int_equal(scene.fallen_back, 0);
	assert_string_equal(scene.reports[late], "4.4.5 class.[any]");
}

static void a_server_that_is_away_is_one(void **state)
{
	(void)state;
	scene.is_away = true;
	start("key");
	assert_int_equal(scene.fallen_back, 1);
	assert_string_equal(scene.reports[0], "4.4.1 host.x");
}

/* The server says that it gets too much, of what it was sent before it said so for the first time;
 * and it may be sent more again by then. */
static void what_need_not_wait_any_longer_is_reported(void **state)
{
	(void)state;
	scene.is_slow = true;
	start("one");
	start("two");
	play();
	fake_advance(SECOND_US);
	say(&scene.peers[0], "451 4.7.28 too much\r\n");
	play();
	assert_string_equal(scene.reports[0], "busy");
	fake_advance(2 * MINUTE_US);
	say(&scene.peers[1], "451 4.7.28 too much\r\n");
	play();
	assert_string_equal(scene.reports[1], "4.7.28");
	assert_true(scene.is_finished[1]);
}

#define ATTEMPT_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
#define LIMITED_TEST(test) cmocka_unit_test_setup_teardown(test, set_up_limited, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIMITED_TEST(who_waited_for_its_turn_needs_a_place_again),
		LIMITED_TEST(who_waited_for_its_turn_is_counted),
		LIMITED_TEST(who_waited_for_its_turn_goes_by_the_new_configuration),
		LIMITED_TEST(a_full_class_is_no_reason_for_another_way),
		ATTEMPT_TEST(a_server_that_is_away_is_one),
		ATTEMPT_TEST(what_need_not_wait_any_longer_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
