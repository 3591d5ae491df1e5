// SPDX-License-Identifier: ISC
/* The client's side of auth/protocol.h, with an "auth" that is played here and may lie. */
#include "auth/client.h"
#include "auth/login.h"
#include "auth/protocol.h"
#include "ipc/channel.h"
#include "ipc/listener.h"
#include "ipc/pack.h"
#include "os/socket/socket.h"
#include "scratch.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static struct {
	struct os_loop *loop;
	char folder[SCRATCH_SIZE];
	int listening;
	struct ipc_listener *listener;
	struct ipc_channel *channel;
	struct auth *auth;
	struct os_timer *enough;
	/* what "auth" heard last */
	unsigned heard;
	uint16_t type;
	uint32_t tag;
	struct buffer body;
	/* what the caller was told last */
	unsigned answers;
	struct auth_answer answer;
	char message[64];
	char user[64];
	/* about a login */
	unsigned told;
	enum auth_login_state state;
} scene;

static const struct auth_peer peer = {.is_secured = true, .protocol = STR("submission")};

static void stop(void *context)
{
	(void)context;
	os_loop_stop(scene.loop);
}

static void run_until(const unsigned *counter, unsigned count)
{
	os_timer_start(scene.enough, 10 * SECOND_US);
	while (*counter < count && os_timer_is_running(scene.enough))
		os_loop_run(scene.loop);
	os_timer_stop(scene.enough);
	assert_int_equal(*counter, count);
}

static void run_a_little(void)
{
	os_timer_start(scene.enough, SECOND_US / 5);
	os_loop_run(scene.loop);
}

/* --- "auth" --- */

static void on_message(void *context, struct ipc_channel *channel, struct ipc_message *message)
{
	(void)context;
	(void)channel;
	scene.heard++;
	scene.type = message->type;
	scene.tag = message->tag;
	buffer_reset(&scene.body);
	buffer_append_str(&scene.body, message->body);
	os_loop_stop(scene.loop);
}

static void on_lost(void *context, struct ipc_channel *channel)
{
	(void)context;
	ipc_channel_close(channel);
	if (scene.channel == channel)
		scene.channel = NULL;
	os_loop_stop(scene.loop);
}

static void say_offer(uint32_t count)
{
	struct buffer body = {0};

	pack_u32(&body, count);
	pack_str(&body, STR("SCRAM-SHA-256-PLUS"));
	pack_u32(&body, AUTH_NEEDS_SECURED | AUTH_NEEDS_BINDING);
	pack_str(&body, STR("EXTERNAL"));
	pack_u32(&body, AUTH_NEEDS_SECURED | AUTH_NEEDS_CERTIFICATE);
	pack_str(&body, STR("SCRAM-SHA-256"));
	pack_u32(&body, 0);
	pack_str(&body, STR("PLAIN"));
	pack_u32(&body, AUTH_NEEDS_SECURED);
	ipc_channel_send(scene.channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void on_connection(void *context, int socket)
{
	static const struct ipc_channel_handler handler = {on_message, on_lost};

	(void)context;
	scene.channel = ipc_channel_new(scene.loop, socket, &handler, NULL);
	say_offer(4);
}

static void say_stamped(uint32_t tag, uint32_t outcome, uint32_t refusal, struct str message,
			struct str user, struct str stamp)
{
	struct buffer body = {0};

	pack_u32(&body, outcome);
	pack_u32(&body, refusal);
	pack_str(&body, message);
	pack_str(&body, user);
	pack_str(&body, stamp);
	ipc_channel_send(scene.channel, AUTH_ANSWER, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static void say(uint32_t tag, uint32_t outcome, uint32_t refusal, struct str message,
		struct str user)
{
	say_stamped(tag, outcome, refusal, message, user, STR(""));
}

/* --- the caller --- */

static void on_answer(void *context, const struct auth_answer *answer)
{
	(void)context;
	scene.answers++;
	scene.answer = *answer;
	snprintf(scene.message, sizeof scene.message, STR_FORMAT, STR_ARGUMENTS(answer->message));
	snprintf(scene.user, sizeof scene.user, STR_FORMAT, STR_ARGUMENTS(answer->user));
	os_loop_stop(scene.loop);
}

static void expect_refused(unsigned answers, enum auth_refusal refusal)
{
	run_until(&scene.answers, answers);
	assert_int_equal(scene.answer.outcome, AUTH_REFUSED);
	assert_int_equal(scene.answer.refusal, refusal);
}

static void on_offered(void *context)
{
	unsigned *offers = context;

	(*offers)++;
	os_loop_stop(scene.loop);
}

static void connect_both(void)
{
	unsigned offers = 0;

	auth_when_offered(scene.auth, on_offered, &offers);
	run_until(&offers, 1);
	assert_true(auth_mechanisms(scene.auth, true, true, true).length > 0);
}

static int set_up(void **state)
{
	static char path[SCRATCH_SIZE + 8];

	(void)state;
	memset(&scene, 0, sizeof scene);
	if (scratch_make(scene.folder) < 0)
		return -1;
	snprintf(path, sizeof path, "%s/auth", scene.folder);
	scene.loop = os_loop_new();
	scene.enough = os_timer_new(scene.loop, stop, NULL);
	scene.listening = os_socket_listen_unix(path, SOCK_SEQPACKET, 0600);
	scene.listener = ipc_listener_new(scene.loop, scene.listening, on_connection, NULL);
	scene.auth = auth_new(scene.loop, path);
	connect_both();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	auth_free(scene.auth);
	ipc_channel_close(scene.channel);
	ipc_listener_free(scene.listener);
	os_socket_close(scene.listening);
	os_timer_free(scene.enough);
	os_loop_free(scene.loop);
	buffer_clear(&scene.body);
	return scratch_remove(scene.folder);
}

static struct auth_exchange fresh(void)
{
	struct auth_exchange exchange = {.answered = on_answer};

	return exchange;
}

static void mechanisms_depend_on_the_connection(void **state)
{
	static const struct {
		bool is_secured;
		bool has_binding;
		bool has_certificate;
		const char *list;
	} cases[] = {{true, true, true, "SCRAM-SHA-256-PLUS EXTERNAL SCRAM-SHA-256 PLAIN"},
		     {true, true, false, "SCRAM-SHA-256-PLUS SCRAM-SHA-256 PLAIN"},
		     {true, false, false, "SCRAM-SHA-256 PLAIN"},
		     {false, false, false, "SCRAM-SHA-256"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		assert_true(
			str_equal(auth_mechanisms(scene.auth, cases[i].is_secured,
						  cases[i].has_binding, cases[i].has_certificate),
				  str_from(cases[i].list)));
}

static void messages_go_to_and_fro(void **state)
{
	struct auth_exchange exchange = fresh();
	struct unpack unpack;

	(void)state;
	auth_exchange_begin(scene.auth, &peer, STR("SCRAM-SHA-256"), true, STR("n,,"), &exchange);
	run_until(&scene.heard, 1);
	assert_int_equal(scene.type, AUTH_BEGIN);
	say(scene.tag, AUTH_CHALLENGE, 0, STR("r=1"), STR(""));
	run_until(&scene.answers, 1);
	assert_string_equal(scene.message, "r=1");
	auth_exchange_respond(&exchange, STR("c="));
	run_until(&scene.heard, 2);
	assert_int_equal(scene.type, AUTH_RESPOND);
	unpack = (struct unpack){buffer_view(&scene.body), false};
	assert_true(str_equal(unpack_str(&unpack), STR("c=")) && unpack_is_whole(&unpack));
	say(scene.tag, AUTH_ACCEPTED, 0, STR(""), STR("ann"));
	run_until(&scene.answers, 2);
	assert_int_equal(scene.answer.outcome, AUTH_ACCEPTED);
	assert_string_equal(scene.user, "ann");
	auth_exchange_cancel(&exchange); /* it is over */
	auth_exchange_respond(&exchange, STR("x"));
	run_a_little();
	assert_int_equal(scene.heard, 2);
}

static void a_failure_is_told_once(void **state)
{
	struct auth_exchange exchange = fresh();

	(void)state;
	auth_exchange_begin(scene.auth, &peer, STR("XOAUTH2"), false, STR(""), &exchange);
	run_until(&scene.heard, 1);
	say(scene.tag, AUTH_CHALLENGE, 0, STR(""), STR(""));
	run_until(&scene.answers, 1);
	assert_false(scene.answer.is_failure);
	auth_exchange_respond(&exchange, STR("user=ann"));
	run_until(&scene.heard, 2);
	say(scene.tag, AUTH_LAST_CHALLENGE, 0, STR("{}"), STR(""));
	run_until(&scene.answers, 2);
	assert_true(scene.answer.is_failure);
	auth_exchange_respond(&exchange, STR(""));
	run_until(&scene.heard, 3);
	say(scene.tag, AUTH_REFUSED, AUTH_FAILED, STR(""), STR(""));
	expect_refused(3, AUTH_FAILED);
	assert_false(scene.answer.is_failure);
	auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), true, STR("x"), &exchange);
	run_until(&scene.heard, 4);
	say(scene.tag, AUTH_REFUSED, AUTH_FAILED, STR(""), STR(""));
	expect_refused(4, AUTH_FAILED);
	assert_true(scene.answer.is_failure);
}

static void nothing_is_heard_of_what_was_cancelled(void **state)
{
	struct auth_exchange exchange = fresh();
	uint32_t tag;

	(void)state;
	auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &exchange);
	run_until(&scene.heard, 1);
	tag = scene.tag;
	auth_exchange_cancel(&exchange);
	run_until(&scene.heard, 2);
	assert_int_equal(scene.type, AUTH_CANCEL);
	assert_int_equal(scene.tag, tag);
	say(tag, AUTH_ACCEPTED, 0, STR(""), STR("ann"));
	run_a_little();
	assert_int_equal(scene.answers, 0);
}

static void without_auth_the_answer_is_later(void **state)
{
	struct auth_exchange asking = fresh();
	struct auth_exchange speaking = fresh();
	struct auth_exchange third = fresh();

	(void)state;
	auth_exchange_begin(scene.auth, &peer, STR("LOGIN"), false, STR(""), &speaking);
	run_until(&scene.heard, 1);
	say(scene.tag, AUTH_CHALLENGE, 0, STR("Username:"), STR(""));
	run_until(&scene.answers, 1);
	auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &asking);
	run_until(&scene.heard, 2);
	ipc_channel_close(scene.channel);
	scene.channel = NULL;
	expect_refused(2, AUTH_TEMPORARY);
	assert_int_equal(auth_mechanisms(scene.auth, true, true, true).length, 0);
	auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &third);
	expect_refused(3, AUTH_TEMPORARY);
	auth_exchange_respond(&speaking, STR("ann"));
	expect_refused(4, AUTH_TEMPORARY);
	connect_both(); /* it is made again */
	assert_true(auth_mechanisms(scene.auth, true, true, true).length > 0);
}

static void long_messages_are_not_sent(void **state)
{
	static char text[AUTH_MESSAGE_MAX + 1];
	struct auth_exchange exchange = fresh();

	(void)state;
	auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), true, str_slice(text, sizeof text),
			    &exchange);
	expect_refused(1, AUTH_MALFORMED);
	auth_exchange_begin(scene.auth, &peer, str_slice(text, AUTH_MECHANISM_SIZE), false, STR(""),
			    &exchange);
	expect_refused(2, AUTH_UNKNOWN);
	auth_exchange_begin(scene.auth, &peer, STR("LOGIN"), false, STR(""), &exchange);
	run_until(&scene.heard, 1);
	say(scene.tag, AUTH_CHALLENGE, 0, STR("Username:"), STR(""));
	run_until(&scene.answers, 3);
	auth_exchange_respond(&exchange, str_slice(text, sizeof text));
	expect_refused(4, AUTH_MALFORMED);
	run_until(&scene.heard, 2);
	assert_int_equal(scene.type, AUTH_CANCEL);
}

/* --- an "auth" that was taken over --- */

static void lies_end_the_connection(void **state)
{
	char too_long[AUTH_USER_MAX + 1];
	const struct {
		uint32_t outcome;
		uint32_t refusal;
		struct str user;
	} lies[] = {{AUTH_ACCEPTED, 0, STR("")},
		    {AUTH_ACCEPTED, 0, STR("ann\0bob")},
		    {AUTH_ACCEPTED, 0, str_slice(too_long, sizeof too_long)},
		    {7, 0, STR("ann")},
		    {AUTH_REFUSED, 99, STR("")}};

	(void)state;
	memset(too_long, 'a', sizeof too_long);
	for (unsigned i = 0; i < COUNT_OF(lies); i++) {
		struct auth_exchange exchange = fresh();

		auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &exchange);
		run_until(&scene.heard, i + 1);
		say(scene.tag, lies[i].outcome, lies[i].refusal, STR(""), lies[i].user);
		expect_refused(i + 1, AUTH_TEMPORARY);
		connect_both();
	}
	say_offer(400);
	for (unsigned i = 0; i < 50 && auth_mechanisms(scene.auth, true, true, true).length > 0;
	     i++)
		run_a_little();
	assert_int_equal(auth_mechanisms(scene.auth, true, true, true).length, 0);
}

static void only_names_are_offered(void **state)
{
	static const struct str names[] = {STR("PLAIN\r\n250 X"), STR("plain"), STR("A B"), STR(""),
					   STR("PLAIN\0")};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct buffer body = {0};

		assert_true(auth_mechanisms(scene.auth, true, true, true).length > 0);
		pack_u32(&body, 1);
		pack_str(&body, names[i]);
		pack_u32(&body, 0);
		ipc_channel_send(scene.channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
		buffer_clear(&body);
		for (unsigned j = 0;
		     j < 50 && auth_mechanisms(scene.auth, true, true, true).length > 0; j++)
			run_a_little();
		assert_int_equal(auth_mechanisms(scene.auth, true, true, true).length, 0);
		connect_both();
	}
}

/* As long as they may be, and one byte longer: the last answer is a lie. */
static void an_answer_has_its_bounds(void **state)
{
	static const struct {
		size_t message, user, stamp;
		bool is_good;
	} cases[] = {{AUTH_MESSAGE_MAX, AUTH_USER_MAX, AUTH_STAMP_MAX, true},
		     {AUTH_MESSAGE_MAX + 1, 1, 1, false},
		     {1, AUTH_USER_MAX + 1, 1, false},
		     {1, 1, AUTH_STAMP_MAX + 1, false}};
	static char text[AUTH_MESSAGE_MAX + 1];

	(void)state;
	memset(text, 'x', sizeof text);
	for (unsigned i = 0; i < COUNT_OF(cases); i++) {
		struct auth_exchange exchange = fresh();

		auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &exchange);
		run_until(&scene.heard, i + 1);
		say_stamped(scene.tag, AUTH_ACCEPTED, 0, str_slice(text, cases[i].message),
			    str_slice(text, cases[i].user), str_slice(text, cases[i].stamp));
		run_until(&scene.answers, i + 1);
		assert_int_equal(scene.answer.outcome,
				 cases[i].is_good ? AUTH_ACCEPTED : AUTH_REFUSED);
		if (!cases[i].is_good)
			connect_both();
	}
}

/* One more is refused at once, and none that is open. */
static void so_many_exchanges_are_open(void **state)
{
	struct auth_exchange *all = calloc(AUTH_OPEN_MAX + 1, sizeof *all);

	(void)state;
	for (size_t i = 0; i <= AUTH_OPEN_MAX; i++) {
		all[i] = fresh();
		assert_int_equal(scene.answers, 0);
		auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &all[i]);
	}
	expect_refused(1, AUTH_TEMPORARY);
	assert_null(all[AUTH_OPEN_MAX].auth);
	auth_exchange_cancel(&all[0]);
	auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &all[AUTH_OPEN_MAX]);
	assert_int_equal(scene.answers, 1);
	for (size_t i = 1; i <= AUTH_OPEN_MAX; i++)
		auth_exchange_cancel(&all[i]);
	free(all);
}

static size_t count_words(struct str text)
{
	size_t count = text.length > 0;

	for (size_t i = 0; i < text.length; i++)
		count += text.data[i] == ' ';
	return count;
}

/* As many as there may be, each with a name that is as long as it may be; and one more of both. */
static void an_offer_has_its_bounds(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		uint32_t count = AUTH_MECHANISMS_MAX + (i & 1);
		size_t length = AUTH_MECHANISM_SIZE - 1 + (i >> 1);
		uint32_t expected = i == 0 ? count : 0;
		char name[AUTH_MECHANISM_SIZE];
		struct buffer body = {0};

		memset(name, 'X', sizeof name);
		pack_u32(&body, count);
		for (uint32_t j = 0; j < count; j++) {
			name[0] = (char)('A' + j);
			pack_str(&body, str_slice(name, length));
			pack_u32(&body, 0);
		}
		ipc_channel_send(scene.channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
		buffer_clear(&body);
		for (unsigned j = 0; j < 50 && count_words(auth_mechanisms(scene.auth, true, true,
									   true)) != expected;
		     j++)
			run_a_little();
		assert_int_equal(count_words(auth_mechanisms(scene.auth, true, true, true)),
				 expected);
		if (expected == 0)
			connect_both();
	}
}

static void answers_to_no_question_are_dropped(void **state)
{
	struct auth_exchange exchange = fresh();

	(void)state;
	auth_exchange_begin(scene.auth, &peer, STR("PLAIN"), false, STR(""), &exchange);
	run_until(&scene.heard, 1);
	say(scene.tag + 1, AUTH_ACCEPTED, 0, STR(""), STR("eve"));
	say(scene.tag, AUTH_CHALLENGE, 0, STR("1"), STR(""));
	say(scene.tag, AUTH_ACCEPTED, 0, STR(""), STR("eve")); /* nobody has responded */
	run_until(&scene.answers, 1);
	run_a_little();
	assert_int_equal(scene.answers, 1);
	assert_int_equal(scene.answer.outcome, AUTH_CHALLENGE);
	auth_exchange_cancel(&exchange);
}

/* --- logins that are followed --- */

static void on_told(void *context, enum auth_login_state state, bool is_answer)
{
	(void)context;
	assert_true(is_answer || state == AUTH_LOGIN_ENDED);
	scene.told++;
	scene.state = state;
	os_loop_stop(scene.loop);
}

static void say_state(uint32_t tag, enum auth_login_state state)
{
	struct buffer body = {0};

	pack_u32(&body, state);
	ipc_channel_send(scene.channel, AUTH_LOGIN, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static struct auth_login *follow(void)
{
	struct auth_login *login = auth_login_new(scene.auth, STR("ann"), STR("Hx"), on_told, NULL);

	run_until(&scene.heard, 1);
	assert_int_equal(scene.type, AUTH_FOLLOW);
	return login;
}

/* Asks; the number of messages that "auth" has heard since. */
static unsigned ask(struct auth_login *login)
{
	unsigned heard = scene.heard;

	auth_login_ask(login);
	run_a_little();
	return scene.heard - heard;
}

static void expect_state(unsigned told, enum auth_login_state state)
{
	run_until(&scene.told, told);
	assert_int_equal(scene.state, state);
}

static void only_what_is_not_known_is_asked(void **state)
{
	struct auth_login *login = follow();

	(void)state;
	assert_int_equal(ask(login), 0); /* it has been, and no answer has come */
	assert_int_equal(scene.told, 0);
	say_state(scene.tag, AUTH_LOGIN_VALID);
	expect_state(1, AUTH_LOGIN_VALID);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ask(login), 0);
		expect_state(i + 2, AUTH_LOGIN_VALID);
	}
	say_state(scene.tag, AUTH_LOGIN_UNKNOWN); /* which nobody has asked */
	run_a_little();
	assert_int_equal(scene.told, 3);
	assert_int_equal(ask(login), 1);
	say_state(scene.tag, AUTH_LOGIN_UNKNOWN);
	expect_state(4, AUTH_LOGIN_UNKNOWN);
	assert_int_equal(ask(login), 1);
	say_state(scene.tag, AUTH_LOGIN_ENDED);
	expect_state(5, AUTH_LOGIN_ENDED);
	auth_login_free(login);
}

static void a_doubt_is_about_all(void **state)
{
	struct auth_login *login = follow();

	(void)state;
	say_state(scene.tag, AUTH_LOGIN_VALID);
	ipc_channel_send(scene.channel, AUTH_DOUBT, 0, STR(""), NULL, 0);
	run_a_little();
	assert_int_equal(scene.told, 0);
	assert_int_equal(ask(login), 1);
	say_state(scene.tag, AUTH_LOGIN_VALID);
	expect_state(1, AUTH_LOGIN_VALID);
	assert_int_equal(ask(login), 0);
	expect_state(2, AUTH_LOGIN_VALID);
	auth_login_free(login);
}

static void a_lost_auth_is_believed_no_more(void **state)
{
	struct auth_login *login = follow();
	uint32_t tag = scene.tag;

	(void)state;
	say_state(tag, AUTH_LOGIN_VALID);
	run_a_little();
	ipc_channel_close(scene.channel);
	scene.channel = NULL;
	run_until(&scene.heard, 2); /* the new one is told of it */
	assert_int_equal(scene.type, AUTH_FOLLOW);
	assert_int_equal(scene.tag, tag);
	assert_int_equal(ask(login), 0);
	assert_int_equal(scene.told, 0);
	say_state(tag, AUTH_LOGIN_VALID);
	expect_state(1, AUTH_LOGIN_VALID);
	auth_login_free(login);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(mechanisms_depend_on_the_connection, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(messages_go_to_and_fro, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_failure_is_told_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(nothing_is_heard_of_what_was_cancelled, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(without_auth_the_answer_is_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(long_messages_are_not_sent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(lies_end_the_connection, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_names_are_offered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(only_what_is_not_known_is_asked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_doubt_is_about_all, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_lost_auth_is_believed_no_more, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_offer_has_its_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(an_answer_has_its_bounds, set_up, tear_down),
		cmocka_unit_test_setup_teardown(so_many_exchanges_are_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(answers_to_no_question_are_dropped, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
