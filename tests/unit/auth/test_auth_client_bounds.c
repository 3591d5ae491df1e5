// SPDX-License-Identifier: ISC
/* What is said to "auth", and by it, at its bounds and one beyond. */
#include "auth/protocol.h"
#include "auth_client_scene.h"
#include "ipc/pack.h"
#include <stdlib.h>
#include <string.h>

static void long_messages_are_not_sent(void **state)
{
	static char text[AUTH_MESSAGE_MAX + 1];
	struct auth_exchange exchange = auth_scene_fresh();

	(void)state;
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), true,
			    str_slice(text, sizeof text), &exchange);
	auth_scene_expect_refused(1, AUTH_MALFORMED);
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, str_slice(text, AUTH_MECHANISM_SIZE),
			    false, STR(""), &exchange);
	auth_scene_expect_refused(2, AUTH_UNKNOWN);
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("LOGIN"), false, STR(""),
			    &exchange);
	auth_scene_run_until(&auth_scene.heard, 1);
	auth_scene_say(auth_scene.tag, AUTH_CHALLENGE, 0, STR("Username:"), STR(""));
	auth_scene_run_until(&auth_scene.answers, 3);
	auth_exchange_respond(&exchange, str_slice(text, sizeof text));
	auth_scene_expect_refused(4, AUTH_MALFORMED);
	auth_scene_run_until(&auth_scene.heard, 2);
	assert_int_equal(auth_scene.type, AUTH_CANCEL);
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
		struct auth_exchange exchange = auth_scene_fresh();

		auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
				    &exchange);
		auth_scene_run_until(&auth_scene.heard, i + 1);
		auth_scene_say_stamped(
			auth_scene.tag, AUTH_ACCEPTED, 0, str_slice(text, cases[i].message),
			str_slice(text, cases[i].user), str_slice(text, cases[i].stamp));
		auth_scene_run_until(&auth_scene.answers, i + 1);
		assert_int_equal(auth_scene.answer.outcome,
				 cases[i].is_good ? AUTH_ACCEPTED : AUTH_REFUSED);
		if (!cases[i].is_good)
			auth_scene_connect_both();
	}
}

/* One more is refused at once, and none that is open. */
static void so_many_exchanges_are_open(void **state)
{
	struct auth_exchange *all = calloc(AUTH_OPEN_MAX + 1, sizeof *all);

	(void)state;
	for (size_t i = 0; i <= AUTH_OPEN_MAX; i++) {
		all[i] = auth_scene_fresh();
		assert_int_equal(auth_scene.answers, 0);
		auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
				    &all[i]);
	}
	auth_scene_expect_refused(1, AUTH_TEMPORARY);
	assert_null(all[AUTH_OPEN_MAX].auth);
	auth_exchange_cancel(&all[0]);
	auth_exchange_begin(auth_scene.auth, &auth_scene_peer, STR("PLAIN"), false, STR(""),
			    &all[AUTH_OPEN_MAX]);
	assert_int_equal(auth_scene.answers, 1);
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
		ipc_channel_send(auth_scene.channel, AUTH_OFFER, 0, buffer_view(&body), NULL, 0);
		buffer_clear(&body);
		for (unsigned j = 0; j < 50 && count_words(auth_mechanisms(auth_scene.auth, true,
									   true, true)) != expected;
		     j++)
			auth_scene_run_a_little();
		assert_int_equal(count_words(auth_mechanisms(auth_scene.auth, true, true, true)),
				 expected);
		if (expected == 0)
			auth_scene_connect_both();
	}
}

#define AUTH_TEST(name) \
	cmocka_unit_test_setup_teardown(name, auth_scene_set_up, auth_scene_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		AUTH_TEST(long_messages_are_not_sent),
		AUTH_TEST(an_answer_has_its_bounds),
		AUTH_TEST(so_many_exchanges_are_open),
		AUTH_TEST(an_offer_has_its_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
