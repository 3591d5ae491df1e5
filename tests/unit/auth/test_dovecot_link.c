// SPDX-License-Identifier: ISC
/* The connection to Dovecot: how it is made again, what ends it, what is said by it, and how much.
 */
#include "dovecot_scene.h"

enum { FIRST_DELAY_MS = 50, LONGEST_DELAY_MS = 2000 };

static void failures_are_logged_once_and_waited_for_longer(void **state)
{
	int64_t delay_us = FIRST_DELAY_MS * 1000;
	char line[200];

	(void)state;
	world.connect_errors = -ECONNREFUSED;
	open_dovecot();
	for (unsigned i = 1; i <= 9; i++) {
		fake_play_timer();
		assert_int_equal(world.attempts, i);
		snprintf(line, sizeof line,
			 "AUTH_SERVICE_LOST path=/run/dovecot operation=connect error=%s\n",
			 log_error_text(-ECONNREFUSED));
		check_log(i == 1 ? line : "");
		fake_pass(delay_us - 1);
		fake_advance(0);
		assert_int_equal(world.attempts, i);
		fake_pass(1);
		delay_us = delay_us * 2 > LONGEST_DELAY_MS * 1000 ? LONGEST_DELAY_MS * 1000
								  : delay_us * 2;
	}
	world.connect_errors = 0;
	world.error = -ECONNRESET; /* it fails at its end */
	fake_play_timer();
	play();
	assert_int_equal(world.socket, -1);
	world.error = 0;
	greet();
	assert_int_equal(world.changed, 1);
	/* and begins anew after a success */
	fake_peer_close(world.socket);
	play();
	snprintf(line, sizeof line, "AUTH_SERVICE_LOST path=/run/dovecot operation=read error=%s\n",
		 log_error_text(-ECONNRESET));
	check_log(line);
	fake_pass(FIRST_DELAY_MS * 1000 - 1);
	fake_advance(0);
	assert_int_equal(world.socket, -1);
	fake_advance(1);
	assert_int_not_equal(world.socket, -1);
}

static void what_it_can_is_known_until_it_says_otherwise(void **state)
{
	const struct dovecot_mechanism *known;
	size_t count;

	(void)state;
	open_dovecot();
	assert_string_equal(dovecot_path(world.dovecot), "/run/dovecot");
	(void)dovecot_mechanisms(world.dovecot, &count);
	assert_int_equal(count, 0);
	greet();
	known = dovecot_mechanisms(world.dovecot, &count);
	assert_int_equal(count, 1);
	assert_string_equal(known[0].name, "PLAIN");
	fake_peer_close(world.socket);
	play();
	(void)dovecot_mechanisms(world.dovecot, &count);
	assert_int_equal(count, 1);
	fake_play_timer();
	play();
	say("MECH\t1234567890123456789012345678901\nMECH\t12345678901234567890123456789012\n");
	for (unsigned i = 0; i < AUTH_MECHANISMS_MAX; i++)
		say("MECH\tX\n");
	(void)dovecot_mechanisms(world.dovecot, &count);
	assert_int_equal(count, 1); /* the greeting is not over */
	say("DONE\n");
	known = dovecot_mechanisms(world.dovecot, &count);
	assert_int_equal(count, AUTH_MECHANISMS_MAX);
	assert_string_equal(known[0].name, "1234567890123456789012345678901");
	assert_string_equal(known[1].name, "X");
	assert_int_equal(world.changed, 2);
}

static void what_is_no_line_ends_the_connection(void **state)
{
	static char long_line[DOVECOT_LINE_MAX + 1];
	static const char *const wrong[] = {"VERSION\t2\t0\n", "VERSION\tx\t0\n", "OK\tx\n",
					    "CONT\t1\n"};
	static const char *const ignored[] = {"VERSION\t1\t9\n", "NEW\tx\n", "\n",
					      "OK\t9999\tuser=a\n"};

	(void)state;
	memset(long_line, 'x', sizeof long_line);
	open_dovecot();
	greet();
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		for (size_t k = 0; k < COUNT_OF(ignored); k++)
			say(ignored[k]);
		assert_int_not_equal(world.socket, -1);
		say(wrong[i]);
		assert_int_equal(world.socket, -1);
		greet();
	}
	long_line[DOVECOT_LINE_MAX - 1] = '\0';
	say(long_line);
	assert_int_not_equal(world.socket, -1);
	say("\n");
	assert_int_not_equal(world.socket, -1);
	say(long_line);
	say("x");
	assert_int_equal(world.socket, -1);
}

static void all_that_is_known_is_said(void **state)
{
	struct dovecot_ask ask = {.mechanism = STR("EXTERNAL"),
				  .service = STR("smtp"),
				  .has_certificate = true,
				  .certificate_name = STR("a\tb")};

	(void)state;
	open_dovecot();
	greet();
	assert_int_equal(inet_pton(AF_INET6, "::ffff:192.0.2.7", &ask.client), 1);
	played[0].request.answered = on_answered;
	played[0].request.context = &played[0];
	dovecot_begin(world.dovecot, &ask, &played[0].request);
	expect_line("AUTH\t1\tEXTERNAL\tservice=smtp\tsecured\tfinal-resp-ok\tno-penalty\t"
		    "rip=192.0.2.7\tvalid-client-cert\tcert_username=a\001tb");
}

/* With the line's end. */
static void lines_have_a_longest(void **state)
{
	static char text[DOVECOT_SENT_MAX];
	size_t spare = strlen("CONT\t1\t\n");

	(void)state;
	open_dovecot();
	greet();
	begin(&played[0]);
	expect_begun(&played[0]);
	say("CONT\t1\t\n");
	/* three bytes are four in base64 */
	assert_int_equal((DOVECOT_SENT_MAX - spare) % 4, 0);
	dovecot_respond(&played[0].request, str_slice(text, (DOVECOT_SENT_MAX - spare) / 4 * 3));
	end_turn();
	assert_int_equal(played[0].answers, 1);
	play();
	hear();
	assert_int_equal(world.heard.length, DOVECOT_SENT_MAX);
	say("CONT\t1\t\n");
	dovecot_respond(&played[0].request,
			str_slice(text, (DOVECOT_SENT_MAX - spare) / 4 * 3 + 1));
	end_turn();
	assert_int_equal(played[0].answers, 3);
	assert_int_equal(played[0].outcome, DOVECOT_LATER);
}

static void so_many_requests_wait(void **state)
{
	struct dovecot_request *requests = calloc(DOVECOT_REQUESTS_MAX + 1, sizeof *requests);
	struct dovecot_ask ask = {.mechanism = STR("PLAIN"), .service = STR("smtp")};
	struct played last = {.answers = 0};

	(void)state;
	assert_non_null(requests);
	open_dovecot();
	for (size_t i = 0; i <= DOVECOT_REQUESTS_MAX; i++) {
		requests[i].answered = on_answered;
		requests[i].context = &last;
		dovecot_begin(world.dovecot, &ask, &requests[i]);
		end_turn();
		assert_int_equal(last.answers, i == DOVECOT_REQUESTS_MAX);
	}
	for (size_t i = 0; i < DOVECOT_REQUESTS_MAX; i++)
		dovecot_cancel(&requests[i]);
	free(requests);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOVECOT_TEST(failures_are_logged_once_and_waited_for_longer),
		DOVECOT_TEST(what_it_can_is_known_until_it_says_otherwise),
		DOVECOT_TEST(what_is_no_line_ends_the_connection),
		DOVECOT_TEST(all_that_is_known_is_said),
		DOVECOT_TEST(lines_have_a_longest),
		DOVECOT_TEST(so_many_requests_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
