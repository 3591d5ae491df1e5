// SPDX-License-Identifier: ISC
/* A destination with two servers, of which the better one is silent, or takes messages without
 * saying so: how long mail waits for it, and what those after it have learnt. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "deliver/remote/attempt/attempt.h"
#include "fake_loop.h"
#include "os/clock.h"
#include "os/socket/socket.h"
#include "unit/config/config_outcome.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SERVERS = 2, PEERS_MAX = 64, ROOM = 4000, FIRST_SOCKET = 1000 };

/* What a server does not do, and nothing after it. */
enum until { UNTIL_NOTHING, UNTIL_CONNECTED, UNTIL_GREETING, UNTIL_EHLO, UNTIL_MAIL, UNTIL_FINAL };

struct peer { /* the server's end of a connection */
	size_t server;
	int socket;
	char heard[ROOM];
	size_t heard_length;
	bool is_in_data;
};

static struct {
	struct config *config;
	struct remote_client client;
	struct dns_server servers[SERVERS];
	enum until until[SERVERS];
	bool closes;      /* instead of being silent */
	int64_t delay_us; /* of each reply */
	struct peer peers[PEERS_MAX];
	size_t peer_count;
	char asked[PEERS_MAX + 1]; /* "01": the servers that were connected to, in this order */
	bool is_finished;
	char status[16];
	char text[MAIL_TEXT_SIZE];
	struct mail_id id;
} scene;

static void say(const struct peer *peer, const char *text)
{
	if (scene.delay_us > 0)
		fake_pass(scene.delay_us);
	assert_int_equal(fake_peer_write(peer->socket, text, strlen(text)), strlen(text));
}

/* Whether it goes on. */
static bool goes_beyond(const struct peer *peer, enum until stage)
{
	bool goes = scene.until[peer->server] == UNTIL_NOTHING || scene.until[peer->server] > stage;

	if (!goes && scene.closes)
		fake_peer_close(peer->socket);
	return goes;
}

int os_socket_connect(const union os_socket_address *address)
{
	struct peer *peer = &scene.peers[scene.peer_count];
	size_t server = os_socket_address_port(address) - 1u;
	bool is_away = scene.until[server] == UNTIL_CONNECTED;

	assert_true(scene.peer_count < PEERS_MAX);
	scene.asked[scene.peer_count++] = (char)('0' + (int)server);
	*peer = (struct peer){.server = server, .socket = fake_connect(ROOM, is_away ? 0 : ROOM)};
	if (!is_away && goes_beyond(peer, UNTIL_GREETING))
		say(peer, "220 x\r\n");
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

static void on_line(struct peer *peer, struct str line)
{
	bool is_end = peer->is_in_data && str_equal(line, STR("."));

	if (peer->is_in_data && !is_end)
		return;
	if ((str_starts_with(line, STR("EHLO")) && !goes_beyond(peer, UNTIL_EHLO)) ||
	    (str_starts_with(line, STR("MAIL")) && !goes_beyond(peer, UNTIL_MAIL)) ||
	    (is_end && !goes_beyond(peer, UNTIL_FINAL)))
		return;
	peer->is_in_data = str_equal(line, STR("DATA"));
	say(peer, peer->is_in_data ? "354 go\r\n" : "250 so\r\n");
}

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

static bool play_once(void)
{
	bool is_moving = false;

	for (size_t i = 0; i < scene.peer_count; i++) {
		struct peer *peer = &scene.peers[i];

		while (!fake_is_closed(peer->socket) && fake_watch_is_ready(peer->socket)) {
			fake_play_watch(peer->socket);
			is_moving = true;
		}
		is_moving |= !fake_is_closed(peer->socket) && hear(peer);
	}
	return is_moving;
}

/* --- jobs --- */

void deliver_helper_report(struct deliver_helper_job *job, size_t index,
			   const struct mail_verdict *verdict, const char *trigger)
{
	(void)trigger;
	job->recipients[index].is_reported = true;
	snprintf(scene.status, sizeof scene.status, "%s", verdict->status);
	snprintf(scene.text, sizeof scene.text, "%s", verdict->text);
}

void deliver_helper_tell_said(const struct deliver_helper_job *job, const struct ipc_job_said *said)
{
	(void)job;
	(void)said;
}

void deliver_helper_report_rest(struct deliver_helper_job *job, const struct mail_verdict *verdict,
				const char *trigger)
{
	if (!job->recipients[0].is_reported)
		deliver_helper_report(job, 0, verdict, trigger);
}

void deliver_helper_finish(struct deliver_helper_job *job)
{
	scene.is_finished = true;
	arena_free(job->arena);
	free(job);
}

void deliver_helper_finish_busy(struct deliver_helper_job *job, int64_t wait_us, uint32_t flags,
				const char *reason)
{
	(void)job;
	(void)flags;
	fail_msg("busy for %lld us: %s", (long long)wait_us, reason);
}

static void find(void *context, struct remote_attempt *attempt)
{
	(void)context;
	remote_attempt_try(attempt, scene.servers, SERVERS, "host.x");
}

static void end_finding(void *context)
{
	(void)context;
}

static const struct remote_finder finder = {.find = find, .end = end_finding};

/* Which servers the message's attempt has asked, and how long it took. */
static const char *attempt(uint64_t number, int64_t *took_us_out)
{
	struct deliver_helper_job *job = memory_alloc_zero(1, sizeof *job);
	int64_t begin_us = os_clock_monotonic_us();

	scene.is_finished = false;
	scene.peer_count = 0;
	memset(scene.asked, 0, sizeof scene.asked);
	job->arena = arena_new();
	job->id = (struct mail_id){number, 1};
	job->sender = STR("s@us.test");
	job->destination = STR("d.test");
	job->content = (struct ipc_content){.file = -1, .bytes = STR("x\r\n"), .size = 3};
	job->recipient_count = 1;
	job->recipients = arena_alloc(job->arena, sizeof *job->recipients);
	job->recipients[0].address = STR("r@d.test");
	remote_attempt_start(&scene.client, SMTP_CLIENT_SMTP, job, "key", &finder, NULL);
	while (!scene.is_finished)
		if (!play_once())
			fake_play_timer();
	*took_us_out = os_clock_monotonic_us() - begin_us;
	remote_client_configure(&scene.client, scene.config, 600 * SECOND_US); /* none is idle */
	return scene.asked;
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	memset(&scene, 0, sizeof scene);
	scene.config = config_of(HOST);
	remote_client_init(&scene.client, NULL);
	remote_client_configure(&scene.client, scene.config, 600 * SECOND_US);
	for (size_t i = 0; i < SERVERS; i++) {
		scene.servers[i].host = i == 0 ? "best.test" : "second.test";
		assert_true(os_socket_address_parse("192.0.2.1", (uint16_t)(i + 1),
						    &scene.servers[i].address));
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	remote_client_clear(&scene.client);
	config_free(scene.config);
	assert_int_equal(fake_timers(), 0);
	return 0;
}

static void one_waits_for_a_silent_server_and_the_others_do_not(void **state)
{
	int64_t took_us;

	(void)state;
	for (enum until until = UNTIL_CONNECTED; until <= UNTIL_MAIL; until++) {
		scene.until[0] = until;
		assert_string_equal(attempt(1, &took_us), "01");
		assert_string_equal(scene.status, "2.0.0");
		assert_true(took_us >= MINUTE_US / 2 && took_us <= 5 * MINUTE_US + SECOND_US);
		for (uint64_t i = 2; i < 10; i++) {
			assert_string_equal(attempt(i, &took_us), "1");
			assert_true(took_us < SECOND_US);
		}
		/* after a while one finds out whether it still is, and only one */
		fake_advance(16 * MINUTE_US);
		assert_string_equal(attempt(1, &took_us), "01");
		assert_string_equal(attempt(2, &took_us), "1");
		fake_advance(16 * MINUTE_US);
		scene.until[0] = UNTIL_NOTHING;
		assert_string_equal(attempt(3, &took_us), "0");
		assert_string_equal(attempt(4, &took_us), "0");
	}
}

/* Each of its first replies comes in time, but not all of them together. */
static void a_slow_server_has_five_minutes_in_all(void **state)
{
	int64_t took_us;

	(void)state;
	scene.until[0] = UNTIL_MAIL;
	scene.delay_us = 2 * MINUTE_US;
	attempt(1, &took_us);
	assert_int_equal(scene.asked[0], '0');
	assert_int_equal(scene.asked[1], '1');
}

/* A server that is silent is better than none. */
static void a_silent_server_is_asked_last(void **state)
{
	int64_t took_us;

	(void)state;
	scene.until[0] = UNTIL_GREETING;
	assert_string_equal(attempt(1, &took_us), "01");
	scene.until[0] = UNTIL_NOTHING;
	scene.until[1] = UNTIL_MAIL;
	scene.closes = true;
	assert_string_equal(attempt(2, &took_us), "10");
	assert_string_equal(scene.status, "2.0.0");
	assert_string_equal(attempt(3, &took_us), "0"); /* it has answered */
}

/* The best one has the whole message each time, and says nothing. */
static void the_third_attempt_goes_elsewhere(void **state)
{
	int64_t took_us;

	(void)state;
	scene.until[0] = UNTIL_FINAL;
	for (int round = 0; round < 2; round++) {
		uint64_t number = (uint64_t)round + 1;

		scene.closes = round == 0;
		assert_string_equal(attempt(number, &took_us), "0");
		assert_string_equal(scene.status, "4.4.2");
		assert_string_equal(attempt(number, &took_us), "0");
		assert_string_equal(attempt(number, &took_us), "1");
		assert_string_equal(scene.status, "2.0.0");
		assert_non_null(strstr(scene.text, "there may be a second copy"));
		/* other messages are not concerned */
		assert_string_equal(attempt(number + 10, &took_us), "0");
	}
}

static void without_another_server_the_same_is_asked_again(void **state)
{
	int64_t took_us;

	(void)state;
	scene.until[0] = UNTIL_FINAL;
	scene.closes = true;
	for (int i = 0; i < 2; i++)
		assert_string_equal(attempt(1, &took_us), "0");
	scene.until[1] = UNTIL_GREETING;
	assert_string_equal(attempt(1, &took_us), "10");
	scene.until[0] = UNTIL_NOTHING;
	assert_string_equal(attempt(1, &took_us), "10");
	assert_string_equal(scene.status, "2.0.0");
	assert_null(strstr(scene.text, "second copy")); /* by the same server */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(one_waits_for_a_silent_server_and_the_others_do_not,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_slow_server_has_five_minutes_in_all, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_silent_server_is_asked_last, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_third_attempt_goes_elsewhere, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_another_server_the_same_is_asked_again,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
