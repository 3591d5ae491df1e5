// SPDX-License-Identifier: ISC
/* Whether who has authenticated still may: what is asked, and what is believed. */
#include "auth/protocol.h"
#include "auth_client_scene.h"
#include "ipc/pack.h"

static void on_told(void *context, enum auth_login_state state, bool is_answer)
{
	(void)context;
	assert_true(is_answer || state == AUTH_LOGIN_ENDED);
	auth_scene.told++;
	auth_scene.state = state;
	os_loop_stop(auth_scene.loop);
}

static void say_state(uint32_t tag, enum auth_login_state state)
{
	struct buffer body = {0};

	pack_u32(&body, state);
	ipc_channel_send(auth_scene.channel, AUTH_LOGIN, tag, buffer_view(&body), NULL, 0);
	buffer_clear(&body);
}

static struct auth_login *follow(void)
{
	struct auth_login *login =
		auth_login_new(auth_scene.auth, STR("ann"), STR("Hx"), on_told, NULL);

	auth_scene_run_until(&auth_scene.heard, 1);
	assert_int_equal(auth_scene.type, AUTH_FOLLOW);
	return login;
}

/* Asks; the number of messages that "auth" has heard since. */
static unsigned ask(struct auth_login *login)
{
	unsigned heard = auth_scene.heard;

	auth_login_ask(login);
	auth_scene_run_a_little();
	return auth_scene.heard - heard;
}

static void expect_state(unsigned told, enum auth_login_state state)
{
	auth_scene_run_until(&auth_scene.told, told);
	assert_int_equal(auth_scene.state, state);
}

static void only_what_is_not_known_is_asked(void **state)
{
	struct auth_login *login = follow();

	(void)state;
	assert_int_equal(ask(login), 0); /* it has been, and no answer has come */
	assert_int_equal(auth_scene.told, 0);
	say_state(auth_scene.tag, AUTH_LOGIN_VALID);
	expect_state(1, AUTH_LOGIN_VALID);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(ask(login), 0);
		expect_state(i + 2, AUTH_LOGIN_VALID);
	}
	say_state(auth_scene.tag, AUTH_LOGIN_UNKNOWN); /* which nobody has asked */
	auth_scene_run_a_little();
	assert_int_equal(auth_scene.told, 3);
	assert_int_equal(ask(login), 1);
	say_state(auth_scene.tag, AUTH_LOGIN_UNKNOWN);
	expect_state(4, AUTH_LOGIN_UNKNOWN);
	assert_int_equal(ask(login), 1);
	say_state(auth_scene.tag, AUTH_LOGIN_ENDED);
	expect_state(5, AUTH_LOGIN_ENDED);
	auth_login_free(login);
}

static void a_doubt_is_about_all(void **state)
{
	struct auth_login *login = follow();

	(void)state;
	say_state(auth_scene.tag, AUTH_LOGIN_VALID);
	ipc_channel_send(auth_scene.channel, AUTH_DOUBT, 0, STR(""), NULL, 0);
	auth_scene_run_a_little();
	assert_int_equal(auth_scene.told, 0);
	assert_int_equal(ask(login), 1);
	say_state(auth_scene.tag, AUTH_LOGIN_VALID);
	expect_state(1, AUTH_LOGIN_VALID);
	assert_int_equal(ask(login), 0);
	expect_state(2, AUTH_LOGIN_VALID);
	auth_login_free(login);
}

static void a_lost_auth_is_believed_no_more(void **state)
{
	struct auth_login *login = follow();
	uint32_t tag = auth_scene.tag;

	(void)state;
	say_state(tag, AUTH_LOGIN_VALID);
	auth_scene_run_a_little();
	ipc_channel_close(auth_scene.channel);
	auth_scene.channel = NULL;
	auth_scene_run_until(&auth_scene.heard, 2); /* the new one is told of it */
	assert_int_equal(auth_scene.type, AUTH_FOLLOW);
	assert_int_equal(auth_scene.tag, tag);
	assert_int_equal(ask(login), 0);
	assert_int_equal(auth_scene.told, 0);
	say_state(tag, AUTH_LOGIN_VALID);
	expect_state(1, AUTH_LOGIN_VALID);
	auth_login_free(login);
}

#define AUTH_TEST(name) \
	cmocka_unit_test_setup_teardown(name, auth_scene_set_up, auth_scene_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUTH_TEST(only_what_is_not_known_is_asked),
		AUTH_TEST(a_doubt_is_about_all),
		AUTH_TEST(a_lost_auth_is_believed_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
