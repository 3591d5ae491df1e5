// SPDX-License-Identifier: ISC
/* Requests to Dovecot against a model: any order of requests, answers, cancellations and lost
 * connections, while time passes. */
#include "dovecot_scene.h"

enum { TURNS = 3000 };

static void lose_connection(void)
{
	fake_peer_close(world.socket);
	play();
	assert_int_equal(world.socket, -1);
	for (size_t i = 0; i < REQUESTS; i++) {
		struct played *one = &played[i];

		if (one->is == BEGUN || one->is == SPEAKS)
			one->is = TO_FAIL;
		if (one->is == SENT) {
			one->is = WAITS;
			one->until_us = os_clock_monotonic_us() + DOVECOT_PATIENCE_US;
		}
	}
}

static void expire_requests(void)
{
	int64_t now_us = os_clock_monotonic_us();

	for (size_t i = 0; i < REQUESTS; i++)
		if (played[i].is == WAITS && played[i].until_us <= now_us)
			played[i].is = TO_FAIL;
}

/* What waits is asked for in its order. */
static void reconnect(void)
{
	greet();
	expire_requests();
	for (uint32_t id = 1;; id++) {
		struct played *next = NULL;

		for (size_t i = 0; i < REQUESTS; i++)
			if (played[i].is == WAITS && played[i].id >= id &&
			    (next == NULL || played[i].id < next->id))
				next = &played[i];
		if (next == NULL)
			break;
		expect_begun(next);
		next->is = SENT;
		id = next->id;
	}
	expect_line("");
}

/* The next attempt to connect is the model's to choose. */
static void pass_time(int64_t us)
{
	world.connect_errors = -ECONNREFUSED;
	fake_advance(us);
	world.connect_errors = 0;
	expire_requests();
}

static void check_end_of_turn(void)
{
	unsigned before[REQUESTS];

	for (size_t i = 0; i < REQUESTS; i++)
		before[i] = played[i].answers;
	end_turn();
	for (size_t i = 0; i < REQUESTS; i++) {
		bool fails = played[i].is == TO_FAIL;

		if (played[i].answers - before[i] != fails)
			fail_msg("request %u: %u answers, state %d", played[i].id,
				 played[i].answers - before[i], (int)played[i].is);
		if (!fails)
			continue;
		assert_int_equal(played[i].outcome, DOVECOT_LATER);
		assert_null(played[i].request.dovecot);
		played[i].is = NOT_ASKED;
	}
}

static void answer_request(struct played *one)
{
	static const struct {
		const char *line, *message, *user;
		enum dovecot_outcome outcome;
	} answers[] = {
		{"CONT\t%u\tbW9yZQ==\n", "more", "", DOVECOT_CHALLENGE},
		{"OK\t%u\tuser=lisa\tresp=bGFzdA==\n", "last", "lisa", DOVECOT_RIGHT},
		{"OK\t%u\tuser=lisa\tnologin\n", "", "lisa", DOVECOT_WRONG},
		{"OK\t%u\tuser=lisa\tnologin\tproxy\n", "", "lisa", DOVECOT_RIGHT},
		{"FAIL\t%u\tuser=lisa\n", "", "lisa", DOVECOT_WRONG},
		{"FAIL\t%u\ttemp\n", "", "", DOVECOT_LATER},
	};
	size_t which = fake_random(COUNT_OF(answers));
	unsigned before = one->answers;
	char line[100];

	snprintf(line, sizeof line, answers[which].line, one->id);
	say(line);
	assert_int_equal(one->answers, before + 1);
	assert_int_equal(one->outcome, answers[which].outcome);
	assert_string_equal(one->message, answers[which].message);
	assert_string_equal(one->user, answers[which].user);
	one->is = which == 0 ? SPEAKS : NOT_ASKED;
	assert_int_equal(one->request.dovecot != NULL, which == 0);
}

static void cancel_request(struct played *one)
{
	bool is_told = one->is == SENT || one->is == BEGUN || one->is == SPEAKS;
	char line[40];

	dovecot_cancel(&one->request);
	snprintf(line, sizeof line, "CANCEL\t%u", one->id);
	expect_line(is_told ? line : "");
	one->is = NOT_ASKED;
}

static void respond_request(struct played *one)
{
	char line[60];

	dovecot_respond(&one->request, STR("yes"));
	snprintf(line, sizeof line, "CONT\t%u\teWVz", one->id);
	expect_line(line);
	one->is = BEGUN;
}

static void do_something(struct played *one)
{
	switch (fake_random(12)) {
	case 0:
		if (world.is_greeted)
			lose_connection();
		else
			reconnect();
		break;
	case 1:
		if (one->is != NOT_ASKED)
			cancel_request(one);
		break;
	case 2:
		pass_time(fake_random(8) * SECOND_US);
		break;
	case 3:
	case 4:
	case 5:
		if (one->is == SENT || one->is == BEGUN)
			answer_request(one);
		break;
	case 6:
	case 7:
		if (one->is == SPEAKS)
			respond_request(one);
		break;
	default:
		if (one->is != NOT_ASKED)
			break;
		begin(one);
		if (one->is == SENT)
			expect_begun(one);
	}
	check_end_of_turn();
}

static void any_order_of_requests(void **state)
{
	(void)state;
	open_dovecot();
	reconnect();
	for (unsigned turn = 0; turn < TURNS; turn++)
		do_something(&played[fake_random(REQUESTS)]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOVECOT_TEST(any_order_of_requests),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
