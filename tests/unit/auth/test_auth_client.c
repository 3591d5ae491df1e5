// SPDX-License-Identifier: ISC
/* Exchanges with an "auth" that answers, is lost or lies. */
#include "auth/protocol.h"
#include "auth_client_scene.h"
#include "ipc/pack.h"
#include <string.h>

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
			str_equal(auth_mechanisms(auth_scene.auth, cases[i].is_secured,
						  cases[i].has_binding, cases[i].has_certificate),
				  str_from(cases[i].list)));
}

static void messages_go_to_and_fro(void **state)
{
	struct auth_exchange exchange = auth_scene_fresh();
	struct unpack unpack;

	(void)state;
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("SCRAM-SHA-256"), true,
			    STR("n,,"), &exchange);
	auth_scene_run_until(&auth_scene.heard, 1);
	assert_int_equal(auth_scene.type, AUTH_BEGIN);
	auth_scene_say(auth_scene.tag, AUTH_CHALLENGE, 0, STR("r=1"), STR(""));
	auth_scene_run_until(&auth_scene.answers, 1);
	assert_string_equal(auth_scene.message, "r=1");
	auth_exchange_respond(&exchange, STR("c="));
	auth_scene_run_until(&auth_scene.heard, 2);
	assert_int_equal(auth_scene.type, AUTH_RESPOND);
	unpack = (struct unpack){buffer_view(&auth_scene.body), false};
	assert_true(str_equal(unpack_str(&unpack), STR("c=")) && unpack_is_whole(&unpack));
	auth_scene_say(auth_scene.tag, AUTH_ACCEPTED, 0, STR(""), STR("ann"));
	auth_scene_run_until(&auth_scene.answers, 2);
	assert_int_equal(auth_scene.answer.outcome, AUTH_ACCEPTED);
	assert_string_equal(auth_scene.user, "ann");
	auth_exchange_cancel(&exchange); /* it is over */
	auth_exchange_respond(&exchange, STR("x"));
	auth_scene_run_a_little();
	assert_int_equal(auth_scene.heard, 2);
}

static void a_failure_is_told_once(void **state)
{
	struct auth_exchange exchange = auth_scene_fresh();

	(void)state;
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("XOAUTH2"), false, STR(""),
			    &exchange);
	auth_scene_run_until(&auth_scene.heard, 1);
	auth_scene_say(auth_scene.tag, AUTH_CHALLENGE, 0, STR(""), STR(""));
	auth_scene_run_until(&auth_scene.answers, 1);
	assert_false(auth_scene.answer.is_failure);
	auth_exchange_respond(&exchange, STR("user=ann"));
	auth_scene_run_until(&auth_scene.heard, 2);
	auth_scene_say(auth_scene.tag, AUTH_LAST_CHALLENGE, 0, STR("{}"), STR(""));
	auth_scene_run_until(&auth_scene.answers, 2);
	assert_true(auth_scene.answer.is_failure);
	auth_exchange_respond(&exchange, STR(""));
	auth_scene_run_until(&auth_scene.heard, 3);
	auth_scene_say(auth_scene.tag, AUTH_REFUSED, AUTH_FAILED, STR(""), STR(""));
	auth_scene_expect_refused(3, AUTH_FAILED);
	assert_false(auth_scene.answer.is_failure);
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), true, STR("x"),
			    &exchange);
	auth_scene_run_until(&auth_scene.heard, 4);
	auth_scene_say(auth_scene.tag, AUTH_REFUSED, AUTH_FAILED, STR(""), STR(""));
	auth_scene_expect_refused(4, AUTH_FAILED);
	assert_true(auth_scene.answer.is_failure);
}

static void nothing_is_heard_of_what_was_cancelled(void **state)
{
	struct auth_exchange exchange = auth_scene_fresh();
	uint32_t tag;

	(void)state;
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
			    &exchange);
	auth_scene_run_until(&auth_scene.heard, 1);
	tag = auth_scene.tag;
	auth_exchange_cancel(&exchange);
	auth_scene_run_until(&auth_scene.heard, 2);
	assert_int_equal(auth_scene.type, AUTH_CANCEL);
	assert_int_equal(auth_scene.tag, tag);
	auth_scene_say(tag, AUTH_ACCEPTED, 0, STR(""), STR("ann"));
	auth_scene_run_a_little();
	assert_int_equal(auth_scene.answers, 0);
}

static void without_auth_the_answer_is_later(void **state)
{
	struct auth_exchange asking = auth_scene_fresh();
	struct auth_exchange speaking = auth_scene_fresh();
	struct auth_exchange third = auth_scene_fresh();

	(void)state;
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("LOGIN"), false, STR(""),
			    &speaking);
	auth_scene_run_until(&auth_scene.heard, 1);
	auth_scene_say(auth_scene.tag, AUTH_CHALLENGE, 0, STR("Username:"), STR(""));
	auth_scene_run_until(&auth_scene.answers, 1);
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
			    &asking);
	auth_scene_run_until(&auth_scene.heard, 2);
	ipc_channel_close(auth_scene.channel);
	auth_scene.channel = NULL;
	auth_scene_expect_refused(2, AUTH_TEMPORARY);
	assert_int_equal(auth_mechanisms(auth_scene.auth, true, true, true).length, 0);
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
			    &third);
	auth_scene_expect_refused(3, AUTH_TEMPORARY);
	auth_exchange_respond(&speaking, STR("ann"));
	auth_scene_expect_refused(4, AUTH_TEMPORARY);
	auth_scene_connect_both(); /* it is made again */
	assert_true(auth_mechanisms(auth_scene.auth, true, true, true).length > 0);
}

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
		struct auth_exchange exchange = auth_scene_fresh();

		auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
				    &exchange);
		auth_scene_run_until(&auth_scene.heard, i + 1);
		auth_scene_say(auth_scene.tag, lies[i].outcome, lies[i].refusal, STR(""),
			       lies[i].user);
		auth_scene_expect_refused(i + 1, AUTH_TEMPORARY);
		auth_scene_connect_both();
	}
	auth_scene_say_offer(400);
	for (unsigned i = 0;
	     i < 50 && auth_mechanisms(auth_scene.auth, true, true, true).length > 0; i++)
		auth_scene_run_a_little();
	assert_int_equal(auth_mechanisms(auth_scene.auth, true, true, true).length, 0);
}

static void only_names_are_offered(void **state)
{
	static const struct str names[] = {STR("PLAIN\r\n250 X"), STR("plain"), STR("A B"), STR(""),
					   STR("PLAIN\0")};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct buffer body = {0};

		assert_true(auth_mechanisms(auth_scene.auth, true, true, true).length > 0);
		pack_u32(&body, 1);
		pack_str(&body, names[i]);
		pack_u32(&body, 0);
		ipc_channel_send(auth_scene.channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
		buffer_clear(&body);
		for (unsigned j = 0;
		     j < 50 && auth_mechanisms(auth_scene.auth, true, true, true).length > 0; j++)
			auth_scene_run_a_little();
		assert_int_equal(auth_mechanisms(auth_scene.auth, true, true, true).length, 0);
		auth_scene_connect_both();
	}
}

static void answers_to_no_question_are_dropped(void **state)
{
	struct auth_exchange exchange = auth_scene_fresh();

	(void)state;
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
			    &exchange);
	auth_scene_run_until(&auth_scene.heard, 1);
	auth_scene_say(auth_scene.tag + 1, AUTH_ACCEPTED, 0, STR(""), STR("eve"));
	auth_scene_say(auth_scene.tag, AUTH_CHALLENGE, 0, STR("1"), STR(""));
	auth_scene_say(auth_scene.tag, AUTH_ACCEPTED, 0, STR(""),
		       STR("eve")); /* nobody has responded */
	auth_scene_run_until(&auth_scene.answers, 1);
	auth_scene_run_a_little();
	assert_int_equal(auth_scene.answers, 1);
	assert_int_equal(auth_scene.answer.outcome, AUTH_CHALLENGE);
	auth_exchange_cancel(&exchange);
}

#define AUTH_TEST(name) \
	cmocka_unit_test_setup_teardown(name, auth_scene_set_up, auth_scene_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUTH_TEST(mechanisms_depend_on_the_connection),
		AUTH_TEST(messages_go_to_and_fro),
		AUTH_TEST(a_failure_is_told_once),
		AUTH_TEST(nothing_is_heard_of_what_was_cancelled),
		AUTH_TEST(without_auth_the_answer_is_later),
		AUTH_TEST(lies_end_the_connection),
		AUTH_TEST(only_names_are_offered),
		AUTH_TEST(answers_to_no_question_are_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
