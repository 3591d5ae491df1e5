// SPDX-License-Identifier: ISC
/* What is no message of auth/protocol.h is refused, and what is at a bound is not. */
#include "client_scene.h"

static void expect_message(bool is_good)
{
	assert_int_equal(fake_ipc.refused, !is_good);
	if (!is_good) /* nothing is offered any more */
		assert_int_equal(auth_mechanisms(world.auth, true, true, true).length, 0);
	fake_ipc.refused = 0;
}

static void offer(uint32_t count, struct str name, const char *more)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, count);
	for (uint32_t i = 0; i < count; i++) {
		pack_str(&body, name);
		pack_u32(&body, 0);
	}
	buffer_append_string(&body, more);
	say(AUTH_OFFER, 0, buffer_view(&body));
}

static void what_is_no_answer_is_refused(void **state)
{
	static char text[AUTH_MESSAGE_MAX + 1];

	(void)state;
	memset(text, 'x', sizeof text);
	for (uint32_t outcome = 0; outcome <= AUTH_LAST_CHALLENGE + 1; outcome++) {
		say_answer(999, outcome, 0, STR(""), STR("a"), STR(""), "");
		expect_message(outcome <= AUTH_LAST_CHALLENGE);
	}
	for (uint32_t refusal = 0; refusal <= AUTH_TOO_WEAK + 1; refusal++) {
		say_answer(999, AUTH_REFUSED, refusal, STR(""), STR(""), STR(""), "");
		expect_message(refusal <= AUTH_TOO_WEAK);
	}
	for (size_t beyond = 0; beyond <= 1; beyond++) {
		say_answer(999, AUTH_ACCEPTED, 0, STR(""),
			   str_slice(text, beyond > 0 ? AUTH_USER_MAX + 1 : AUTH_USER_MAX), STR(""),
			   "");
		expect_message(beyond == 0);
		say_answer(999, AUTH_CHALLENGE, 0, str_slice(text, AUTH_MESSAGE_MAX + beyond),
			   STR(""), STR(""), "");
		expect_message(beyond == 0);
		say_answer(999, AUTH_ACCEPTED, 0, STR(""), STR("a"),
			   str_slice(text, AUTH_STAMP_MAX + beyond), "");
		expect_message(beyond == 0);
	}
	say_answer(999, AUTH_ACCEPTED, 0, STR(""), STR(""), STR(""), "");
	expect_message(false);
	say_answer(999, AUTH_ACCEPTED, 0, STR(""), str_slice("a\0b", 3), STR(""), "");
	expect_message(false);
	say_answer(999, AUTH_CHALLENGE, 0, STR(""), STR(""), STR(""), "x");
	expect_message(false);
}

static void what_is_no_state_is_refused(void **state)
{
	(void)state;
	for (uint32_t what = 0; what <= AUTH_LOGIN_UNKNOWN + 1; what++) {
		say_login(999, what, "");
		expect_message(what <= AUTH_LOGIN_UNKNOWN);
	}
	say_login(999, AUTH_LOGIN_VALID, "x");
	expect_message(false);
	say(AUTH_LOGIN, 999, STR(""));
	expect_message(false);
	say(AUTH_DOUBT, 0, STR("x"));
	expect_message(false);
	say(AUTH_DOUBT, 0, STR(""));
	expect_message(true);
	say(AUTH_BEGIN, 0, STR(""));
	expect_message(false);
	say(99, 0, STR(""));
	expect_message(false);
}

static void mechanisms_have_names(void **state)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

	(void)state;
	for (unsigned byte = 0; byte < 256; byte++) {
		char c = (char)byte;

		offer(1, str_slice(&c, 1), "");
		expect_message(byte != 0 && strchr(allowed, c) != NULL);
	}
	offer(1, STR(""), "");
	expect_message(false);
	offer(1, str_slice(allowed, AUTH_MECHANISM_SIZE - 1), "");
	expect_message(true);
	assert_int_equal(auth_mechanisms(world.auth, true, true, true).length,
			 AUTH_MECHANISM_SIZE - 1);
	offer(1, str_slice(allowed, AUTH_MECHANISM_SIZE), "");
	expect_message(false);
	offer(AUTH_MECHANISMS_MAX, STR("A"), "");
	expect_message(true);
	offer(AUTH_MECHANISMS_MAX + 1, STR("A"), "");
	expect_message(false);
	offer(1, STR("A"), "x");
	expect_message(false);
	offer(0, STR(""), "");
	expect_message(true);
}

static void note_answer(void *context, const struct auth_answer *answer)
{
	*(enum auth_refusal *)context = answer->refusal;
	assert_int_equal(answer->outcome, AUTH_REFUSED);
}

/* All of the client that "auth" is told, in its order, with as much as there may be of it, and what
 * is too much without asking. */
static void who_begins_is_described(void **state)
{
	static char long_text[AUTH_MESSAGE_MAX + 1];
	static const size_t initials[] = {0, 1, AUTH_MESSAGE_MAX, AUTH_MESSAGE_MAX + 1};
	static const size_t mechanisms[] = {1, AUTH_MECHANISM_SIZE - 1, AUTH_MECHANISM_SIZE};
	const enum auth_refusal none = (enum auth_refusal)99;
	struct buffer begun CLEANUP(buffer_clear) = {0};
	struct auth_peer peer = {.exporter = STR("exported"),
				 .end_point = STR("end"),
				 .certificate = STR("0a1b"),
				 .certificate_name = STR("joe@example.org"),
				 .protocol = STR("lmtp"),
				 .session = STR("7:9")};

	(void)state;
	memset(long_text, 'm', sizeof long_text);
	for (uint8_t i = 0; i < sizeof peer.address; i++)
		peer.address.s6_addr[i] = (uint8_t)(i * 3);
	world.begun = &begun;
	for (unsigned i = 0; i < COUNT_OF(initials) * COUNT_OF(mechanisms) * 4; i++) {
		struct str mechanism =
			str_slice(long_text, mechanisms[i / 4 % COUNT_OF(mechanisms)]);
		struct str initial = str_slice(long_text, initials[i / 4 / COUNT_OF(mechanisms)]);
		struct auth_exchange exchange = {0};
		enum auth_refusal refusal = none, expected = none;
		struct buffer body CLEANUP(buffer_clear) = {0};
		const unsigned heard = world.heard;

		exchange.answered = note_answer;
		exchange.context = &refusal;
		peer.is_secured = i % 2 > 0;
		peer.port = i % 4 > 1 ? UINT16_MAX : 0;
		if (mechanism.length == AUTH_MECHANISM_SIZE)
			expected = AUTH_UNKNOWN;
		else if (initial.length > AUTH_MESSAGE_MAX)
			expected = AUTH_MALFORMED;
		pack_str(&body, str_slice((const char *)&peer.address, 16));
		pack_u32(&body, i % 2);
		for (size_t j = 0; j < 5; j++)
			pack_str(&body,
				 ((const struct str[]){STR("exported"), STR("end"), STR("0a1b"),
						       STR("joe@example.org"), STR("lmtp")})[j]);
		pack_u32(&body, i % 4 > 1 ? 65535 : 0);
		pack_str(&body, STR("7:9"));
		pack_str(&body, mechanism);
		pack_u32(&body, i % 3 > 0);
		pack_str(&body, initial);
		buffer_reset(&begun);
		auth_exchange_begin(world.auth, &peer, mechanism, i % 3 > 0, initial, &exchange);
		assert_int_equal(refusal, expected);
		assert_int_equal(world.heard - heard, expected == none);
		assert_true(expected != none || str_equal(buffer_view(&begun), buffer_view(&body)));
		assert_int_equal(exchange.auth != NULL, expected == none);
		auth_exchange_cancel(&exchange);
	}
	world.begun = NULL;
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	memset(&world, 0, sizeof world);
	memset(&fake_ipc, 0, sizeof fake_ipc);
	world.auth = auth_new(NULL, "the path");
	fake_ipc.is_connected = true;
	fake_ipc.client.handler.connected(fake_ipc.client.context);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	auth_free(world.auth);
	return fake_timers() > 0 ? -1 : 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(what_is_no_answer_is_refused),
		CASE(what_is_no_state_is_refused),
		CASE(mechanisms_have_names),
		CASE(who_begins_is_described),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
