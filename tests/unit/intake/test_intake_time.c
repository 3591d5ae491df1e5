// SPDX-License-Identifier: ISC
/* One client of a server in time: how long it is waited for, whose place may be given away, and
 * how its connection begins and ends. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "fake_loop.h"
#include "intake/internal.h"
#include "intake/session.h"
#include "intake_scene.h"
#include "os/clock.h"
#include "test.h"
#include <string.h>

enum { CLIENTS = 2, COMMAND_SECONDS = 100, DATA_SECONDS = 400, ROOM = 4000, RATE = 10000 };

static struct smtp_service service = {.hostname = "server.test",
				      .protocol = SMTP_PROTOCOL_SMTP,
				      .on_refusal = intake_log_refusal,
				      .limits = {.recipients = 100,
						 .hops = 30,
						 .line = 4096,
						 .command_timeout = COMMAND_SECONDS,
						 .data_timeout = DATA_SECONDS,
						 .errors = 100}};
static struct config config;
static struct intake intake;
static int sockets[CLIENTS];
static size_t client_count;

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	intake_scene_begin();
	config = (struct config){.smtp_timeout = 300, .smtp_min_rate = RATE};
	intake = (struct intake){.engine = &intake_engine_smtp,
				 .config = &config,
				 .clients = limit_clients_new(),
				 .session_ended = intake_scene_ended};
	client_count = 0;
	return 0;
}

static void leave(int socket)
{
	if (fake_is_closed(socket))
		return;
	fake_peer_close(socket);
	if (intake_scene.pending != PENDING_NONE)
		intake_scene_answer();
	if (!fake_is_closed(socket))
		fake_play_watch(socket);
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < client_count; i++)
		leave(sockets[i]);
	limit_clients_free(intake.clients);
	return intake.session_count > 0 || fake_timers() > 0 ? -1 : 0;
}

/* Its socket; FIRST is what it has sent before it was accepted. */
static int connect_with(size_t room_to_client, const char *first, bool has_spoken)
{
	union os_socket_address peer;
	int socket = sockets[client_count++] = fake_connect(ROOM, room_to_client);

	assert_true(os_socket_address_parse("192.0.2.1", 4711, &peer));
	assert_int_equal(fake_peer_write(socket, first, strlen(first)), strlen(first));
	intake_session_new(&intake, &service, intake_scene_plain(), socket, &peer,
			   has_spoken ? STR("?") : STR(""));
	return socket;
}

static int connect_one(void)
{
	return connect_with(ROOM, "", false);
}

static void play(int socket)
{
	for (unsigned steps = 0; !fake_is_closed(socket) && fake_watch_is_ready(socket); steps++) {
		assert_true(steps < 1000);
		fake_play_watch(socket);
	}
}

/* That the last line that SOCKET's client has heard begins with CODE. */
static void expect(int socket, const char *code)
{
	char text[ROOM + 1];
	size_t length = fake_peer_read(socket, text, ROOM);
	const char *last = text;

	assert_true(length > 5 && text[length - 1] == '\n');
	text[length - 1] = '\0';
	if (strrchr(text, '\n') != NULL)
		last = strrchr(text, '\n') + 1;
	assert_memory_equal(last, code, strlen(code));
}

static void say(int socket, const char *text)
{
	assert_int_equal(fake_peer_write(socket, text, strlen(text)), strlen(text));
	play(socket);
}

static void say_and_expect(int socket, const char *text, const char *code)
{
	say(socket, text);
	expect(socket, code);
}

static void greet(int socket)
{
	expect(socket, "220 ");
	say_and_expect(socket, "EHLO client.test\r\n", "250 ");
}

/* --- how long --- */

static void every_command_has_its_time(void **state)
{
	int client = connect_one();

	(void)state;
	greet(client);
	for (int i = 0; i < 5; i++) {
		fake_advance((COMMAND_SECONDS - 1) * SECOND_US);
		say_and_expect(client, "NOOP\r\n", "250 ");
	}
	fake_advance((COMMAND_SECONDS + 1) * SECOND_US);
	expect(client, "421 ");
	assert_true(fake_is_closed(client));
}

static void a_command_after_a_message_has_no_longer(void **state)
{
	int client = connect_one();

	(void)state;
	greet(client);
	say_and_expect(client, "MAIL FROM:<a@b.test>\r\n", "250 ");
	say(client, "RCPT TO:<b@server.test>\r\nDATA\r\n");
	fake_advance((COMMAND_SECONDS + 1) * SECOND_US); /* a message has more time */
	assert_false(fake_is_closed(client));
	say(client, "Subject: x\r\n\r\nx\r\n.\r\n");
	(void)fake_peer_read(client, (char[ROOM]){0}, ROOM);
	say_and_expect(client, "RSET\r\n", "250 ");
	fake_advance((COMMAND_SECONDS + 1) * SECOND_US);
	assert_true(fake_is_closed(client));
}

static void nobody_is_hurried_while_we_ask(void **state)
{
	int client = connect_one();

	(void)state;
	intake_scene.answers = ANSWERS_NEVER;
	greet(client);
	say_and_expect(client, "MAIL FROM:<a@b.test>\r\n", "250 ");
	say(client, "RCPT TO:<b@server.test>\r\n");
	assert_int_equal(intake_scene.pending, PENDING_RECIPIENT);
	fake_advance(1000 * SECOND_US);
	assert_false(fake_is_closed(client));
	assert_int_equal(fake_peer_unread(client), 0);
	intake_scene_answer();
	assert_true(fake_peer_unread(client) > 0);
	(void)fake_peer_read(client, (char[ROOM]){0}, ROOM);
	fake_advance((COMMAND_SECONDS - 1) * SECOND_US);
	say_and_expect(client, "NOOP\r\n", "250 ");
}

/* Whether its writer still lives is not asked of a file older than that. */
static void play_long_message(const char *code, int hours)
{
	int client = connect_one();

	config.smtp_min_rate = 0;
	greet(client);
	say_and_expect(client, "MAIL FROM:<a@b.test>\r\n", "250 ");
	for (int i = 0; i < 5; i++) /* one of them is good */
		say(client, "RCPT TO:<b@server.test>\r\n");
	(void)fake_peer_read(client, (char[ROOM]){0}, ROOM);
	say_and_expect(client, "DATA\r\n", "354 ");
	for (int i = 0; i < 10 * hours; i++) {
		fake_advance(6 * MINUTE_US);
		say(client, "x\r\n");
		assert_false(fake_is_closed(client));
	}
	say_and_expect(client, ".\r\n", code);
}

static void a_message_may_take_a_day(void **state)
{
	(void)state;
	play_long_message("250 ", 23);
}

static void a_message_may_take_no_more_than_a_day(void **state)
{
	(void)state;
	play_long_message("451 4.4.2 ", 25);
	assert_int_equal(intake_scene.message->state, QUEUE_CLIENT_IDLE);
}

/* --- whose place may be given away --- */

static void a_day_is_not_late_and_more_is(void **state)
{
	int64_t began = os_clock_monotonic_us();

	(void)state;
	assert_false(intake_message_is_late(began));
	fake_advance(DAY_US);
	assert_false(intake_message_is_late(began));
	fake_advance(1);
	assert_true(intake_message_is_late(began));
}

static void a_client_that_waits_for_us_keeps_its_place(void **state)
{
	int client = connect_one();

	(void)state;
	intake_scene.answers = ANSWERS_NEVER;
	greet(client);
	assert_null(intake_session_find_idle(&intake));
	say_and_expect(client, "MAIL FROM:<a@b.test>\r\n", "250 ");
	fake_advance(2 * SECOND_US);
	assert_non_null(intake_session_find_idle(&intake));
	say(client, "RCPT TO:<b@server.test>\r\n");
	assert_null(intake_session_find_idle(&intake));
	fake_advance(100 * SECOND_US);
	assert_null(intake_session_find_idle(&intake));
}

/* Not for long; but we do not give a session up in the midst of a question. */
static void who_does_not_hear_us_has_a_place_while_we_ask(void **state)
{
	int client = connect_one();

	(void)state;
	intake_scene.answers = ANSWERS_NEVER;
	greet(client);
	say(client, "MAIL FROM:<a@b.test>\r\n");
	while (fake_peer_room(client) > 0 && fake_peer_unread(client) < ROOM)
		say(client, "NOOP\r\n");
	say(client, "RCPT TO:<b@server.test>\r\n");
	assert_int_equal(intake_scene.pending, PENDING_RECIPIENT);
	fake_advance(2 * SECOND_US);
	assert_null(intake_session_find_idle(&intake));
	intake_scene_answer();
	fake_advance(2 * SECOND_US);
	assert_non_null(intake_session_find_idle(&intake));
}

static void our_own_time_is_not_its_idleness(void **state)
{
	int client = connect_one();

	(void)state;
	intake_scene.answers = ANSWERS_NEVER;
	greet(client);
	say_and_expect(client, "MAIL FROM:<a@b.test>\r\n", "250 ");
	say(client, "RCPT TO:<b@server.test>\r\n");
	fake_advance(100 * SECOND_US);
	intake_scene_answer();
	assert_null(intake_session_find_idle(&intake));
}

static void a_client_has_its_share_of_sessions_alone(void **state)
{
	(void)state;
	config.maxsessions_client = 1;
	greet(connect_one());
	expect(connect_one(), "421 ");
	assert_int_equal(intake.session_count, 1);
}

static void who_may_relay_has_as_many_as_it_wants(void **state)
{
	(void)state;
	config.maxsessions_client = 1;
	intake_scene.may_relay = true;
	greet(connect_one());
	greet(connect_one());
	assert_int_equal(intake.session_count, 2);
}

/* --- begin and end --- */

static void who_talks_before_the_banner_is_refused(void **state)
{
	(void)state;
	expect(connect_with(ROOM, "EHLO client.test\r\n", false), "554 ");
	expect(connect_with(ROOM, "", true), "554 ");
}

static void who_has_closed_its_side_still_hears(void **state)
{
	int client = connect_with(10, "", false);
	char heard[2 * ROOM] = "";
	size_t length = 0;

	(void)state;
	fake_peer_shut(client);
	if (fake_watch_is_ready(client))
		fake_play_watch(client);
	assert_false(fake_is_closed(client));
	assert_int_equal(fake_watched(client) & OS_WATCH_WRITE, OS_WATCH_WRITE);
	for (unsigned i = 0; i < 1000 && (fake_peer_unread(client) > 0 || !fake_is_closed(client));
	     i++) {
		length += fake_peer_read(client, heard + length, 10);
		play(client);
	}
	assert_true(fake_is_closed(client));
	assert_memory_equal(heard, "220 ", 4);
	assert_int_equal(heard[length - 1], '\n');
}

static void an_order_to_stop_is_told_at_once(void **state)
{
	int client = connect_one();

	(void)state;
	greet(client);
	intake_stop(&intake);
	expect(client, "421 ");
	assert_true(fake_is_closed(client));
}

static void who_has_quit_needs_no_politeness(void **state)
{
	int first = connect_one();
	int second = connect_one();

	(void)state;
	greet(first);
	say_and_expect(first, "QUIT\r\n", "221 ");
	assert_true(fake_is_closed(first) && !fake_is_polite(first));
	greet(second);
	fake_advance((COMMAND_SECONDS + 1) * SECOND_US);
	assert_true(fake_is_closed(second) && fake_is_polite(second));
}

/* --- what it costs --- */

static void the_log_has_so_many_refusals_of_a_session(void **state)
{
	int client = connect_one();

	(void)state;
	greet(client);
	for (int i = 0; i < 60; i++)
		say_and_expect(client, "\r\n", "500 ");
	assert_int_equal(intake_scene.refusals, 50);
	assert_int_equal(intake_scene.withheld, 0);
	say_and_expect(client, "QUIT\r\n", "221 ");
	assert_int_equal(intake_scene.refusals, 50);
	assert_int_equal(intake_scene.withheld, 10);
}

static void a_few_refusals_are_all_in_the_log(void **state)
{
	int client = connect_one();

	(void)state;
	greet(client);
	for (int i = 0; i < 50; i++)
		say_and_expect(client, "\r\n", "500 ");
	say_and_expect(client, "QUIT\r\n", "221 ");
	assert_int_equal(intake_scene.refusals, 50);
	assert_int_equal(intake_scene.withheld, 0);
}

#define TIME_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TIME_TEST(every_command_has_its_time),
		TIME_TEST(a_command_after_a_message_has_no_longer),
		TIME_TEST(nobody_is_hurried_while_we_ask),
		TIME_TEST(a_message_may_take_a_day),
		TIME_TEST(a_message_may_take_no_more_than_a_day),
		TIME_TEST(a_day_is_not_late_and_more_is),
		TIME_TEST(a_client_that_waits_for_us_keeps_its_place),
		TIME_TEST(who_does_not_hear_us_has_a_place_while_we_ask),
		TIME_TEST(our_own_time_is_not_its_idleness),
		TIME_TEST(a_client_has_its_share_of_sessions_alone),
		TIME_TEST(who_may_relay_has_as_many_as_it_wants),
		TIME_TEST(who_talks_before_the_banner_is_refused),
		TIME_TEST(who_has_closed_its_side_still_hears),
		TIME_TEST(an_order_to_stop_is_told_at_once),
		TIME_TEST(who_has_quit_needs_no_politeness),
		TIME_TEST(the_log_has_so_many_refusals_of_a_session),
		TIME_TEST(a_few_refusals_are_all_in_the_log),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
