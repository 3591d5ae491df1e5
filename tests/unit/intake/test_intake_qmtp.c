// SPDX-License-Identifier: ISC
/* A client that speaks QMTP: how long it is waited for, and what it gets though it has gone on. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "fake_loop.h"
#include "intake/session.h"
#include "intake_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { COMMAND_SECONDS = 100, DATA_SECONDS = 400, ROOM = 4000 };

static const char ENVELOPE[] = ",7:a@b.com,17:13:b@server.test,,";

static struct smtp_service service = {.hostname = "server.test",
				      .protocol = SMTP_PROTOCOL_QMTP,
				      .on_refusal = intake_log_refusal,
				      .limits = {.recipients = 100,
						 .hops = 30,
						 .command_timeout = COMMAND_SECONDS,
						 .data_timeout = DATA_SECONDS,
						 .errors = 100}};
static struct config config;
static struct intake intake;
static struct os_task *deferred;
static int client;

void os_loop_defer(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	deferred = task;
}

void os_task_cancel(struct os_loop *loop, struct os_task *task)
{
	(void)loop;
	if (deferred == task)
		deferred = NULL;
}

/* With this seed all answers are good. */
static int set_up(void **state)
{
	union os_socket_address peer;

	(void)state;
	fake_begin(4);
	intake_scene_begin();
	config = (struct config){.smtp_timeout = 300, .smtp_min_rate = 0};
	intake = (struct intake){.engine = &intake_engine_qmtp,
				 .config = &config,
				 .clients = limit_clients_new(),
				 .session_ended = intake_scene_ended};
	client = fake_connect(ROOM, ROOM);
	assert_true(os_socket_address_parse("192.0.2.1", 4711, &peer));
	intake_session_new(&intake, &service, intake_scene_plain(), client, &peer, STR(""));
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (!fake_is_closed(client)) {
		fake_peer_close(client);
		if (intake_scene.pending != PENDING_NONE)
			intake_scene_answer();
		while (!fake_is_closed(client) && fake_watch_is_ready(client))
			fake_play_watch(client);
	}
	limit_clients_free(intake.clients);
	return intake.session_count > 0 || fake_timers() > 0 ? -1 : 0;
}

static void play(void)
{
	while (!fake_is_closed(client) && fake_watch_is_ready(client))
		fake_play_watch(client);
}

static void say(const char *text)
{
	assert_int_equal(fake_peer_write(client, text, strlen(text)), strlen(text));
	play();
}

/* The letter of the answer, and that TEXT is in it. */
static void expect(char letter, const char *text)
{
	char said[ROOM + 1] = "";
	size_t length = fake_peer_read(client, said, ROOM);

	assert_true(length > 4);
	assert_int_equal(strchr(said, ':')[1], letter);
	assert_non_null(strstr(said, text));
}

/* A message of SIZE bytes, of which one comes in each six minutes for so many HOURS. */
static void play_long_message(int hours)
{
	char length[32];

	snprintf(length, sizeof length, "%d:\n", 10 * hours + 1);
	say(length);
	for (int i = 0; i < 10 * hours; i++) {
		fake_advance(6 * MINUTE_US);
		say("x");
		assert_false(fake_is_closed(client));
	}
	say(ENVELOPE);
}

static void a_message_may_take_a_day(void **state)
{
	(void)state;
	play_long_message(23);
	expect('K', "ok, queued as 4711-");
}

static void a_message_may_take_no_more_than_a_day(void **state)
{
	(void)state;
	play_long_message(25);
	expect('Z', "The message took longer than a day (#4.4.2)");
}

static void a_package_has_its_time(void **state)
{
	(void)state;
	say("5:\nab");
	fake_advance((DATA_SECONDS - 1) * SECOND_US);
	assert_false(fake_is_closed(client));
	fake_advance(2 * SECOND_US);
	assert_true(fake_is_closed(client));
}

static void the_next_package_has_its_time(void **state)
{
	(void)state;
	say("2:\na");
	say(ENVELOPE);
	expect('K', "ok");
	fake_advance((COMMAND_SECONDS - 1) * SECOND_US);
	assert_false(fake_is_closed(client));
	fake_advance(2 * SECOND_US);
	assert_true(fake_is_closed(client));
}

/* It has done its part, and has even closed its side. */
static void a_commit_is_waited_for(void **state)
{
	(void)state;
	say("2:\na");
	intake_scene.answers = ANSWERS_NEVER;
	say(",7:a@b.com,17:13:b@server.test,");
	intake_scene_answer(); /* about the recipient */
	say(",");
	assert_int_equal(intake_scene.pending, PENDING_COMMIT);
	fake_peer_close(client);
	play();
	fake_advance(10 * COMMAND_SECONDS * SECOND_US);
	assert_null(intake_session_find_idle(&intake));
	assert_false(fake_is_closed(client));
	intake_scene_answer();
	assert_non_null(deferred);
	deferred->call(deferred->context);
	deferred = NULL;
	assert_true(fake_is_closed(client));
}

/* Its time is long over when the answer comes, and passes before that is sent. */
static void an_answer_is_sent_before_time_is_over(void **state)
{
	(void)state;
	say("2:\na");
	intake_scene.answers = ANSWERS_NEVER;
	say(",7:a@b.com,17:13:b@server.test,");
	intake_scene_answer(); /* about the recipient */
	say(",");
	fake_advance(10 * COMMAND_SECONDS * SECOND_US);
	intake_scene_answer();
	assert_non_null(deferred);
	fake_advance(2 * SECOND_US);
	expect('K', "ok");
}

/* The session is over for the engine while the queue still makes the file, which fails. */
static void a_file_may_fail_when_the_service_stops(void **state)
{
	static char text[2 * ROOM];

	(void)state;
	say("100000:\n");
	intake_scene.answers = ANSWERS_NEVER;
	memset(text, 'x', sizeof text);
	while (intake_scene.pending != PENDING_SHARE) {
		assert_true(fake_peer_write(client, text, ROOM) > 0);
		play();
	}
	intake_stop(&intake);
	assert_false(fake_is_closed(client));
	intake_scene.pending = PENDING_NONE;
	intake_scene.message->state = QUEUE_CLIENT_IDLE;
	intake_scene.message->done(intake_scene.message->context, -ENOSPC);
	assert_true(fake_is_closed(client));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_message_may_take_a_day, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_message_may_take_no_more_than_a_day, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_package_has_its_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_next_package_has_its_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_commit_is_waited_for, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_is_sent_before_time_is_over, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_may_fail_when_the_service_stops, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
