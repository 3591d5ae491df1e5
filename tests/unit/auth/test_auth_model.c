// SPDX-License-Identifier: ISC
/* The client's side of auth/protocol.h against a model: any order of exchanges, logins, answers,
 * lost connections and doubts, while time passes. */
#include "client_scene.h"
#include "os/clock.h"

enum { EXCHANGES = 4, LOGINS = 3, TURNS = 20000 };

enum bulk_state { NONE, ASKING, WAITING, WAITING_LOST };

static struct played {
	struct auth_exchange exchange;
	enum bulk_state is;
	uint32_t tag;
	int64_t until_us;
	bool has_failed;
	unsigned answers;
	struct auth_answer last;
	char message[20];
} played[EXCHANGES];

static struct followed {
	struct auth_login *login; /* NULL: none */
	uint32_t tag;
	bool is_asking, is_sent, is_valid;
	int64_t until_us;
	unsigned told;
	enum auth_login_state state;
	bool was_answer;
} followed[LOGINS];

static void on_exchange_answered(void *context, const struct auth_answer *answer)
{
	struct played *one = context;

	one->answers++;
	one->last = *answer;
	snprintf(one->message, sizeof one->message, STR_FORMAT, STR_ARGUMENTS(answer->message));
}

static void on_login_told(void *context, enum auth_login_state state, bool is_answer)
{
	struct followed *one = context;

	one->told++;
	one->state = state;
	one->was_answer = is_answer;
}

static void expect_refusal(struct played *one, unsigned before, enum auth_refusal refusal)
{
	assert_int_equal(one->answers, before + 1);
	assert_int_equal(one->last.outcome, AUTH_REFUSED);
	assert_int_equal(one->last.refusal, refusal);
	assert_null(one->exchange.auth);
	one->is = NONE;
}

/* --- the connection --- */

static void expect_logins_followed_again(unsigned heard)
{
	for (size_t i = 0; i < LOGINS; i++)
		if (followed[i].login != NULL) {
			heard++;
			followed[i].is_sent = true;
		}
	assert_int_equal(world.heard, heard);
}

static void connect_now(void)
{
	const unsigned heard = world.heard;

	fake_ipc.is_connected = true;
	fake_ipc.is_secret = false;
	fake_ipc.client.handler.connected(fake_ipc.client.context);
	assert_true(fake_ipc.is_secret);
	expect_logins_followed_again(heard);
}

static void lose(void)
{
	unsigned before[EXCHANGES], told[LOGINS];

	for (size_t i = 0; i < EXCHANGES; i++)
		before[i] = played[i].answers;
	for (size_t i = 0; i < LOGINS; i++)
		told[i] = followed[i].told;
	fake_ipc.is_connected = false;
	fake_ipc.client.handler.lost(fake_ipc.client.context);
	for (size_t i = 0; i < EXCHANGES; i++) {
		if (played[i].is == ASKING)
			expect_refusal(&played[i], before[i], AUTH_TEMPORARY);
		if (played[i].is == WAITING)
			played[i].is = WAITING_LOST;
	}
	for (size_t i = 0; i < LOGINS; i++) {
		struct followed *one = &followed[i];

		assert_int_equal(one->told - told[i], one->is_asking);
		if (one->is_asking)
			assert_true(one->state == AUTH_LOGIN_UNKNOWN && one->was_answer);
		one->is_asking = one->is_sent = one->is_valid = false;
	}
}

static void pass_time(int64_t us)
{
	int64_t now_us = os_clock_boot_us() + us;
	unsigned before[EXCHANGES], told[LOGINS];

	for (size_t i = 0; i < EXCHANGES; i++)
		before[i] = played[i].answers;
	for (size_t i = 0; i < LOGINS; i++)
		told[i] = followed[i].told;
	fake_advance(us);
	for (size_t i = 0; i < EXCHANGES; i++) {
		if (played[i].is == ASKING && played[i].until_us <= now_us)
			expect_refusal(&played[i], before[i], AUTH_TEMPORARY);
		assert_true(played[i].is != ASKING || played[i].answers == before[i]);
	}
	for (size_t i = 0; i < LOGINS; i++) {
		struct followed *one = &followed[i];
		bool is_over = one->is_asking && one->until_us <= now_us;

		assert_int_equal(one->told - told[i], is_over);
		if (!is_over)
			continue;
		assert_true(one->state == AUTH_LOGIN_UNKNOWN && one->was_answer);
		one->is_asking = one->is_sent = one->is_valid = false;
	}
}

/* --- exchanges --- */

static void begin(struct played *one)
{
	static const struct auth_peer peer = {.is_secured = true};
	const unsigned before = one->answers, heard = world.heard;

	one->exchange = (struct auth_exchange){.answered = on_exchange_answered, .context = one};
	one->has_failed = false;
	auth_exchange_begin(world.auth, &peer, STR("PLAIN"), true, STR("initial"), &one->exchange);
	if (!fake_ipc.is_connected) {
		expect_refusal(one, before, AUTH_TEMPORARY);
		return;
	}
	assert_int_equal(world.heard, heard + 1);
	assert_int_equal(world.type, AUTH_BEGIN);
	for (size_t i = 0; i < EXCHANGES; i++)
		assert_true(played[i].is == NONE || played[i].tag != world.tag);
	one->tag = world.tag;
	one->is = ASKING;
	one->until_us = os_clock_boot_us() + AUTH_PATIENCE_US;
}

static void respond(struct played *one)
{
	const unsigned before = one->answers, heard = world.heard;

	auth_exchange_respond(&one->exchange, STR("response"));
	if (one->is == WAITING_LOST) {
		expect_refusal(one, before, AUTH_TEMPORARY);
		return;
	}
	assert_int_equal(world.heard, heard + 1);
	assert_true(world.type == AUTH_RESPOND && world.tag == one->tag);
	assert_string_equal(world.text[0], "response");
	one->is = ASKING;
	one->until_us = os_clock_boot_us() + AUTH_PATIENCE_US;
}

static void give_up(struct played *one, bool leaves)
{
	const unsigned heard = world.heard;
	const bool is_known = one->is == ASKING || one->is == WAITING;

	if (leaves)
		assert_int_equal(auth_exchange_leave(&one->exchange), is_known ? one->tag : 0);
	else
		auth_exchange_cancel(&one->exchange);
	assert_int_equal(world.heard - heard, is_known);
	if (is_known)
		assert_true(world.type == (leaves ? AUTH_LEAVE : AUTH_CANCEL) &&
			    world.tag == one->tag);
	assert_null(one->exchange.auth);
	one->is = NONE;
}

/* Also one that does not wait for it, or is over. */
static void answer(struct played *one)
{
	static const enum auth_outcome outcomes[] = {AUTH_CHALLENGE, AUTH_LAST_CHALLENGE,
						     AUTH_ACCEPTED, AUTH_REFUSED};
	enum auth_outcome outcome = outcomes[fake_random(COUNT_OF(outcomes))];
	enum auth_refusal refusal = (enum auth_refusal)fake_random(AUTH_TOO_WEAK + 1);
	const unsigned before = one->answers;
	bool is_failure = (outcome == AUTH_LAST_CHALLENGE ||
			   (outcome == AUTH_REFUSED && refusal == AUTH_FAILED)) &&
			  !one->has_failed;

	if (!fake_ipc.is_connected || one->tag == 0)
		return;
	say_answer(one->tag, outcome, refusal, STR("message"), STR("lisa"), STR("stamp"), "");
	assert_int_equal(one->answers - before, one->is == ASKING);
	if (one->is != ASKING)
		return;
	assert_int_equal(one->last.outcome, outcome);
	assert_int_equal(one->last.refusal, refusal);
	assert_int_equal(one->last.is_failure, is_failure);
	assert_string_equal(one->message, "message");
	one->has_failed |= is_failure;
	one->is = outcome == AUTH_ACCEPTED || outcome == AUTH_REFUSED ? NONE : WAITING;
	assert_int_equal(one->exchange.auth != NULL, one->is == WAITING);
}

static void settle(void)
{
	const unsigned heard = world.heard;
	uint32_t tag = fake_random(3);
	bool has_succeeded = fake_random(2) > 0;

	auth_settle(world.auth, tag, has_succeeded);
	assert_int_equal(world.heard - heard, fake_ipc.is_connected && tag > 0);
	if (world.heard > heard)
		assert_true(world.type == (has_succeeded ? AUTH_FORGIVE : AUTH_CANCEL) &&
			    world.tag == tag);
}

/* --- logins --- */

static void follow(struct followed *one)
{
	const unsigned heard = world.heard;

	memset(one, 0, sizeof *one);
	one->login = auth_login_new(world.auth, STR("lisa"), STR("stamp"), on_login_told, one);
	one->is_sent = fake_ipc.is_connected;
	assert_int_equal(world.heard - heard, fake_ipc.is_connected);
	one->tag = world.tag;
	if (!fake_ipc.is_connected)
		return;
	assert_int_equal(world.type, AUTH_FOLLOW);
	assert_string_equal(world.text[0], "lisa");
	assert_string_equal(world.text[1], "stamp");
}

static void ask_about(struct followed *one)
{
	const unsigned heard = world.heard, told = one->told;

	auth_login_ask(one->login);
	if (one->is_valid || !fake_ipc.is_connected) {
		assert_int_equal(one->told, told + 1);
		assert_int_equal(one->state, one->is_valid ? AUTH_LOGIN_VALID : AUTH_LOGIN_UNKNOWN);
		assert_true(one->was_answer);
		assert_int_equal(world.heard, heard);
		return;
	}
	assert_int_equal(one->told, told);
	assert_int_equal(world.heard - heard, !one->is_sent);
	one->is_asking = one->is_sent = true;
	one->until_us = os_clock_boot_us() + AUTH_LOGIN_PATIENCE_US;
}

static void tell_of(struct followed *one)
{
	enum auth_login_state state = (enum auth_login_state)fake_random(AUTH_LOGIN_UNKNOWN + 1);
	const unsigned told = one->told;

	if (!fake_ipc.is_connected || world.tag == 0 || one->tag == 0)
		return;
	say_login(one->tag, state, "");
	assert_int_equal(one->told - told, one->is_asking || state == AUTH_LOGIN_ENDED);
	if (one->told > told) {
		assert_int_equal(one->state, state);
		assert_int_equal(one->was_answer, one->is_asking);
	}
	one->is_asking = one->is_sent = false;
	one->is_valid = state == AUTH_LOGIN_VALID;
}

static void forget(struct followed *one)
{
	const unsigned heard = world.heard;

	auth_login_free(one->login);
	assert_int_equal(world.heard - heard, fake_ipc.is_connected);
	if (fake_ipc.is_connected)
		assert_true(world.type == AUTH_UNFOLLOW);
	memset(one, 0, sizeof *one);
}

static void doubt(void)
{
	if (!fake_ipc.is_connected)
		return;
	say(AUTH_DOUBT, 0, STR(""));
	for (size_t i = 0; i < LOGINS; i++)
		followed[i].is_valid = false;
}

static void do_something_with_login(struct followed *one)
{
	switch (one->login == NULL ? 0 : 1 + fake_random(6)) {
	case 0:
		follow(one);
		/* the tag is known from what was sent */
		if (!fake_ipc.is_connected) {
			connect_now();
			one->tag = 0;
		}
		break;
	case 1:
		forget(one);
		break;
	case 2:
	case 3:
		if (!one->is_asking)
			ask_about(one);
		break;
	default:
		tell_of(one);
	}
}

static void do_something(void)
{
	struct played *one = &played[fake_random(EXCHANGES)];

	switch (fake_random(14)) {
	case 0:
		if (fake_ipc.is_connected)
			lose();
		else
			connect_now();
		break;
	case 1:
		pass_time(fake_random(4) * 10 * SECOND_US);
		break;
	case 2:
		if (one->is != NONE)
			give_up(one, fake_random(2) > 0);
		break;
	case 3:
		settle();
		break;
	case 4:
		doubt();
		break;
	case 5:
	case 6:
	case 7:
		answer(one);
		break;
	case 8:
	case 9:
		if (one->is == WAITING || one->is == WAITING_LOST)
			respond(one);
		break;
	case 10:
	case 11:
		do_something_with_login(&followed[fake_random(LOGINS)]);
		break;
	default:
		if (one->is == NONE)
			begin(one);
	}
}

static void any_order(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < TURNS; turn++)
		do_something();
	assert_int_equal(fake_ipc.refused, 0);
}

static int set_up(void **state)
{
	(void)state;
	fake_begin(1);
	fake_advance(SECOND_US);
	memset(&world, 0, sizeof world);
	memset(&fake_ipc, 0, sizeof fake_ipc);
	memset(played, 0, sizeof played);
	memset(followed, 0, sizeof followed);
	world.auth = auth_new(NULL, "the path");
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	for (size_t i = 0; i < EXCHANGES; i++)
		auth_exchange_cancel(&played[i].exchange);
	for (size_t i = 0; i < LOGINS; i++)
		auth_login_free(followed[i].login);
	auth_free(world.auth);
	auth_free(NULL);
	return fake_timers() > 0 ? -1 : 0;
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
