// SPDX-License-Identifier: ISC
/* A client whose login is followed: what is asked about it, and when its session ends. */
#include "base/timestamp.h"
#include "fake_loop.h"
#include "intake/internal.h"
#include "intake_scene.h"
#include "test.h"
#include <string.h>

enum { ROOM = 4000 };

#define LOGIN "AUTH PLAIN AGEAYg==\r\n"
#define MAIL  "MAIL FROM:<a@b.test>\r\n"
#define RCPT  "RCPT TO:<b@server.test>\r\n"
#define TEXT  "Subject: x\r\n\r\nx\r\n"

static const struct smtp_service service = {.hostname = "server.test",
					    .protocol = SMTP_PROTOCOL_SUBMISSION,
					    .auth = SMTP_AUTH_REQUIRED,
					    .mechanisms = intake_auth_mechanisms,
					    .sender_rule = SMTP_SENDER_ENVELOPE,
					    .on_refusal = intake_log_refusal,
					    .limits = {.recipients = 100,
						       .hops = 30,
						       .line = 4096,
						       .command_timeout = 100,
						       .data_timeout = 100,
						       .errors = 100}};
static struct intake intake;
static int client;

static void play(void)
{
	for (unsigned steps = 0; !fake_is_closed(client) && fake_watch_is_ready(client); steps++) {
		assert_true(steps < 1000);
		fake_play_watch(client);
	}
}

static void say(const char *text)
{
	assert_int_equal(fake_peer_write(client, text, strlen(text)), strlen(text));
	play();
}

/* The codes of the replies since the last call: "250 421". */
static void expect(const char *codes)
{
	char text[ROOM];
	size_t length = fake_peer_read(client, text, sizeof text);
	struct str rest = str_slice(text, length);
	struct buffer heard CLEANUP(buffer_clear) = {0};
	struct str line;

	while (rest.length > 0 && str_split(&rest, '\n', &line)) {
		if (line.length < 4 || line.data[3] != ' ')
			continue;
		if (heard.length > 0)
			buffer_append_byte(&heard, ' ');
		buffer_append(&heard, line.data, 3);
	}
	buffer_append_byte(&heard, '\0');
	assert_string_equal(buffer_data(&heard), codes);
}

static void say_and_expect(const char *text, const char *codes)
{
	say(text);
	expect(codes);
}

static void end_login(void)
{
	intake_scene_end_login();
	play();
}

static void answer(void)
{
	intake_scene_answer();
	play();
}

/* Greeted. */
static int set_up(void **state)
{
	static const struct config config = {.smtp_timeout = 300};
	union os_socket_address peer;

	(void)state;
	fake_begin(1);
	intake_scene_begin();
	intake_scene.is_friendly = intake_scene.has_stamps = true;
	intake = (struct intake){.engine = &intake_engine_smtp,
				 .config = &config,
				 .auth = (struct auth *)&intake,
				 .clients = limit_clients_new(),
				 .session_ended = intake_scene_ended};
	client = fake_connect(ROOM, ROOM);
	assert_true(os_socket_address_parse("192.0.2.1", 4711, &peer));
	intake_session_new(&intake, &service, intake_scene_plain(), client, &peer, STR(""));
	expect("220");
	say_and_expect("EHLO client.test\r\n", "250");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	if (!fake_is_closed(client)) {
		fake_peer_close(client);
		if (intake_scene.pending != PENDING_NONE)
			intake_scene_answer();
		play();
	}
	limit_clients_free(intake.clients);
	assert_null(intake_scene.told);
	return intake.session_count > 0 || fake_timers() > 0 ? -1 : 0;
}

/* --- when it ends --- */

static void who_is_idle_hears_at_once_that_the_login_is_over(void **state)
{
	(void)state;
	say_and_expect(LOGIN, "235");
	end_login();
	expect("421");
	assert_true(fake_is_closed(client));
}

static void a_message_that_is_not_whole_is_nobodys(void **state)
{
	(void)state;
	say_and_expect(LOGIN MAIL RCPT "DATA\r\n", "235 250 250 354");
	say(TEXT);
	end_login();
	expect("421");
	assert_true(fake_is_closed(client));
	assert_int_equal(intake_scene.pending, PENDING_NONE);
}

/* However long the disk takes. */
static void the_reply_to_a_message_comes_first(void **state)
{
	static const struct {
		const char *begin, *replies, *end, *codes;
	} cases[] = {
		{"DATA\r\n" TEXT, "250 250 354", ".\r\n", "250 421"},
		{"DATA\r\n" TEXT, "250 250 354", ".\r\n" MAIL RCPT, "250 450 421"},
		{"BDAT 4\r\nSubj", "250 250 250", "BDAT 8 LAST\r\nect: x\r\n", "250 421"},
		{"BDAT 4\r\nSubj", "250 250 250", "BDAT 8 LAST\r\nect: x\r\n" MAIL, "250 450 421"},
	};

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		say_and_expect(LOGIN, "235");
		say(MAIL RCPT);
		say_and_expect(cases[i].begin, cases[i].replies);
		intake_scene.answers = ANSWERS_NEVER;
		say(cases[i].end);
		assert_int_equal(intake_scene.pending, PENDING_COMMIT);
		end_login();
		end_login(); /* that may be said twice */
		expect("");
		assert_false(fake_is_closed(client));
		intake_scene.answers = ANSWERS_AT_ONCE;
		intake_scene.login_state = AUTH_LOGIN_ENDED;
		answer();
		expect(cases[i].codes);
		assert_true(fake_is_closed(client));
		if (i + 1 == COUNT_OF(cases))
			return;
		assert_int_equal(tear_down(state) + set_up(state), 0);
	}
}

/* --- what is asked at MAIL --- */

static void who_still_may_is_asked_about(void **state)
{
	static const struct {
		enum auth_login_state state;
		const char *codes;
	} cases[] = {
		{AUTH_LOGIN_VALID, "250"},
		{AUTH_LOGIN_UNKNOWN, "451"},
		{AUTH_LOGIN_ENDED, "450 421"},
	};

	(void)state;
	say_and_expect(LOGIN, "235");
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		intake_scene.answers = ANSWERS_NEVER;
		say_and_expect("RSET\r\n" MAIL, "250");
		assert_int_equal(intake_scene.pending, PENDING_LOGIN);
		intake_scene.answers = ANSWERS_AT_ONCE;
		intake_scene.login_state = cases[i].state;
		answer();
		expect(cases[i].codes);
	}
	assert_int_equal(intake_scene.logins, COUNT_OF(cases));
	assert_int_equal(intake_scene.senders, 1);
	assert_true(fake_is_closed(client));
}

/* What comes of the answer is known at once, and with it the session ends. */
static void who_has_left_meanwhile_is_gone_once(void **state)
{
	(void)state;
	say_and_expect(LOGIN, "235");
	intake_scene.answers = ANSWERS_NEVER;
	say(MAIL);
	assert_int_equal(intake_scene.pending, PENDING_LOGIN);
	fake_peer_close(client);
	intake_scene.answers = ANSWERS_AT_ONCE;
	answer();
	assert_int_equal(intake_scene.senders, 1);
	assert_true(intake_scene.has_ended && fake_is_closed(client));
}

/* --- a login that its client has given up when it had succeeded --- */

/* The scene has one login at a time, and none when the session is over. */
static void who_gives_a_login_up_has_none(void **state)
{
	(void)state;
	intake_scene.has_last_word = true;
	say_and_expect(LOGIN, "334");
	say_and_expect("*\r\n" MAIL, "501 530");
	say_and_expect(LOGIN, "334");
	say_and_expect("YQ==\r\n" MAIL, "501 530");
	say_and_expect(LOGIN "*\r\n" LOGIN "\r\n" MAIL, "334 501 334 235 250");
	assert_int_equal(intake_scene.users, 4);
	end_login();
	expect("421");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(who_is_idle_hears_at_once_that_the_login_is_over),
		TEST(a_message_that_is_not_whole_is_nobodys),
		TEST(the_reply_to_a_message_comes_first),
		TEST(who_still_may_is_asked_about),
		TEST(who_has_left_meanwhile_is_gone_once),
		TEST(who_gives_a_login_up_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
