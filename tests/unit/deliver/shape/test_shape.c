// SPDX-License-Identifier: ISC
/* For whom the numbers of a destination are, and what they hold back. The clock is the test's. */
#include "base/timestamp.h"
#include "chance.h"
#include "deliver/shape/shape.h"
#include "log/event.h"
#include "unit/config/config_outcome.h"
#include <stdio.h>

static const struct mail_verdict enough = {MAIL_WAIT, "4.7.0", "enough"};

static struct {
	struct shape *shape;
	struct config *config;
	int64_t now_us;
	struct shape_wait wait;
} world;

static void begin(const char *text)
{
	struct buffer whole CLEANUP(buffer_clear) = {0};

	log_open("test", LOG_ERROR_LEVEL + 1);
	buffer_append_format(&whole, "%s%s", HOST, text);
	buffer_append_byte(&whole, '\0');
	world.config = config_of(buffer_data(&whole));
	world.shape = shape_new();
	world.now_us = HOUR_US;
	shape_configure(world.shape, world.config);
}

static void end(void)
{
	shape_free(world.shape);
	config_free(world.config);
}

static bool enter(const char *domain, const char *host, size_t recipients, struct shape_hold *hold)
{
	const struct shape_subject subject = {str_from(domain), str_from(host), 25};

	return shape_enter(world.shape, &subject, recipients, world.now_us, hold, &world.wait);
}

static bool next(struct shape_hold *hold, const char *domain, size_t recipients)
{
	return shape_next(world.shape, hold, str_from(domain), recipients, world.now_us,
			  &world.wait);
}

/* A session with one message that is over at once. */
static bool send_one(const char *domain, const char *host)
{
	struct shape_hold hold;

	if (!enter(domain, host, 1, &hold))
		return false;
	shape_ended(&hold, world.now_us);
	shape_leave(&hold, world.now_us);
	return true;
}

static unsigned send_all(const char *domain, const char *host)
{
	unsigned count = 0;

	while (count < 1000 && send_one(domain, host))
		count++;
	return count;
}

static void the_first_section_counts(void **state)
{
	(void)state;
	begin("destination \"example.org\" { messages = 1 }\n"
	      "destination \".example.org\" { messages = 2 }\n"
	      "destination \"mx:mx.example.net\" { messages = 3 }\n"
	      "destination \"mx:*.example.net\" { messages = 4 }\n"
	      "destination \"free.example\" { }\n"
	      "destination \"*\" { messages = 5 }\n");
	assert_int_equal(send_all("example.org", "mx.example.net"), 1);
	assert_int_equal(send_all("Sub.Example.ORG", "mx.example.net"), 2);
	assert_int_equal(send_all("a.example", "MX.example.net"), 3);
	assert_int_equal(send_all("b.example", "other.example.net"), 4);
	assert_int_equal(send_all("c.example", "example.net"), 5);
	assert_int_equal(send_all("xexample.org", "mxexample.net"), 5);
	assert_int_equal(send_all("free.example", "mx"), 1000);
	end();
}

static void numbers_are_per_bearer(void **state)
{
	static const struct {
		const char *per;
		const char *domain;
		const char *host;
		unsigned more; /* after those for one.example by a.mx.example.co.uk */
	} cases[] = {
		{"domain", "one.example", "b.other.example", 0},
		{"domain", "two.example", "a.mx.example.co.uk", 3},
		{"host", "two.example", "a.mx.example.co.uk", 0},
		{"host", "one.example", "b.mx.example.co.uk", 3},
		{"owner", "two.example", "b.mx.example.co.uk", 0},
		{"owner", "two.example", "example.co.uk", 0},
		{"owner", "one.example", "other.co.uk", 3},
		{"owner", "one.example", "192.0.2.1", 3},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		char text[100];

		snprintf(text, sizeof text, "destination \"*\" { per = %s messages = 3 }\n",
			 cases[i].per);
		begin(text);
		assert_int_equal(send_all("one.example", "a.mx.example.co.uk"), 3);
		assert_int_equal(send_all(cases[i].domain, cases[i].host), cases[i].more);
		end();
	}
}

/* And the longest wait is said. */
static void each_number_holds_back(void **state)
{
	struct shape_hold hold;

	(void)state;
	begin("destination \"*\" { sessions = 2 messages = 5 recipients = 100 interval = 10s }\n");
	assert_true(enter("a.example", "mx", 10, &hold));
	shape_ended(&hold, world.now_us);
	assert_true(next(&hold, "a.example", 10));
	shape_ended(&hold, world.now_us);
	assert_true(next(&hold, "a.example", 10));
	shape_ended(&hold, world.now_us);
	assert_false(next(&hold, "a.example", 71));
	assert_string_equal(world.wait.reason, "a.example: 100 recipients in 10s");
	assert_in_range(world.wait.us, 10 * SECOND_US, 11 * SECOND_US);
	shape_leave(&hold, world.now_us);
	world.now_us += SECOND_US;
	assert_true(enter("a.example", "mx", 10, &hold));
	shape_leave(&hold, world.now_us);
	assert_false(enter("a.example", "mx", 1, &hold));
	assert_string_equal(world.wait.reason, "a.example: 2 sessions in 10s");
	world.now_us += world.wait.us;
	assert_false(enter("a.example", "mx", 1000, &hold));
	world.now_us += world.wait.us;
	assert_true(enter("a.example", "mx", 1000, &hold)); /* more than ever may: alone */
	shape_ended(&hold, world.now_us);
	assert_false(next(&hold, "a.example", 1));
	shape_leave(&hold, world.now_us);
	end();
}

static void places_are_given_back(void **state)
{
	struct shape_hold holds[3];

	(void)state;
	begin("destination \"*\" { per = owner concurrency = 2 }\n");
	assert_true(enter("a.example", "mx.example.net", 1, &holds[0]));
	assert_true(enter("b.example", "mx2.example.net", 1, &holds[1]));
	assert_false(enter("c.example", "mx.example.net", 1, &holds[2]));
	assert_ptr_equal(world.wait.place, holds[0].place);
	assert_true(enter("c.example", "mx.example.com", 1, &holds[2]));
	shape_leave(&holds[2], world.now_us);
	shape_leave(&holds[2], world.now_us); /* nothing is left */
	shape_leave(&holds[0], world.now_us);
	assert_true(enter("c.example", "mx.example.net", 1, &holds[0]));
	assert_false(enter("c.example", "mx.example.net", 1, &holds[2]));
	shape_leave(&holds[0], world.now_us);
	shape_leave(&holds[1], world.now_us);
	end();
}

static void messages_of_a_session_are_apart(void **state)
{
	struct shape_hold hold;

	(void)state;
	begin("destination \"*\" { delay = 3s }\n");
	assert_true(enter("a.example", "mx", 1, &hold));
	world.now_us += SECOND_US;
	shape_ended(&hold, world.now_us);
	world.now_us += SECOND_US;
	assert_false(next(&hold, "a.example", 1));
	assert_int_equal(world.wait.us, 2 * SECOND_US);
	assert_true(world.wait.is_delay);
	assert_string_equal(world.wait.reason, "mx: a delay between messages");
	world.now_us += 2 * SECOND_US;
	assert_true(next(&hold, "a.example", 1));
	shape_leave(&hold, world.now_us);
	end();
}

/* One server, for all domains; others are not slower, and without any section, too. */
static void a_server_is_slowed_down_for(void **state)
{
	const struct shape_subject other_port = {STR("a.example"), STR("mx.example.net"), 26};
	struct shape_hold hold;
	struct shape_hold beside;
	struct shape_wait wait;

	(void)state;
	begin("");
	assert_true(enter("a.example", "mx.example.net", 1, &hold));
	for (unsigned i = 1; i < 60; i++) {
		shape_ended(&hold, world.now_us);
		assert_true(next(&hold, "a.example", 1));
	}
	shape_ended(&hold, world.now_us);
	shape_slow(&hold,
		   &(struct shape_complaint){.began_us = world.now_us, .said.verdict = &enough},
		   world.now_us, &wait);
	assert_int_equal(wait.us, 2 * SECOND_US); /* 60 in a minute: 30 */
	assert_string_equal(wait.reason,
			    "mx.example.net says that it gets too much: a message in 2s; enough");
	assert_false(next(&hold, "a.example", 1));
	assert_false(send_one("b.example", "MX.Example.net"));
	assert_true(send_one("a.example", "mx2.example.net"));
	assert_true(shape_enter(world.shape, &other_port, 1, world.now_us, &beside, &world.wait));
	shape_leave(&beside, world.now_us);
	world.now_us += 2 * SECOND_US;
	assert_true(send_one("b.example", "mx.example.net"));
	assert_false(next(&hold, "a.example", 1));
	shape_leave(&hold, world.now_us);
	world.now_us += 30 * MINUTE_US;
	assert_int_equal(send_all("b.example", "mx.example.net"), 1000);
	end();
}

/* Whenever between its begin and its end the server sees it. */
static void what_is_under_way_counts(void **state)
{
	struct shape_hold holds[2];

	(void)state;
	begin("destination \"*\" { messages = 2 recipients = 9 sessions = 2 interval = 10s }\n");
	assert_true(enter("a.example", "mx", 3, &holds[0]));
	assert_true(enter("a.example", "mx", 3, &holds[1]));
	world.now_us += MINUTE_US;
	shape_ended(&holds[0], world.now_us);
	assert_false(next(&holds[0], "a.example", 1));
	assert_in_range(world.wait.us, 10 * SECOND_US, 11 * SECOND_US); /* at least */
	world.now_us += 9 * SECOND_US;
	shape_ended(&holds[1], world.now_us);
	assert_false(next(&holds[1], "a.example", 1));
	world.now_us += 2 * SECOND_US;
	assert_true(next(&holds[1], "a.example", 3));
	assert_false(next(&holds[0], "a.example", 1));
	shape_unsent(&holds[1]);
	assert_false(next(&holds[0], "a.example", 7));
	assert_string_equal(world.wait.reason, "a.example: 9 recipients in 10s");
	assert_true(next(&holds[0], "a.example", 6));
	shape_leave(&holds[0], world.now_us); /* it may have been sent */
	assert_false(next(&holds[1], "a.example", 1));
	shape_leave(&holds[1], world.now_us);
	end();
	begin("destination \"*\" { recipients = 9 interval = 10s }\n");
	assert_true(enter("a.example", "mx", 6, &holds[0]));
	assert_false(enter("a.example", "mx", 4, &holds[1]));
	assert_true(enter("a.example", "mx", 3, &holds[1]));
	shape_leave(&holds[0], world.now_us);
	shape_leave(&holds[1], world.now_us);
	end();
}

static void a_connection_counts_if_it_was_begun(void **state)
{
	struct shape_hold hold;

	(void)state;
	begin("destination \"*\" { sessions = 1 interval = 10s }\n");
	assert_true(enter("a.example", "mx", 1, &hold));
	shape_cancel(&hold);
	assert_true(enter("a.example", "mx", 1, &hold));
	world.now_us += MINUTE_US;
	shape_unsent(&hold);
	assert_false(send_one("a.example", "mx"));
	shape_leave(&hold, world.now_us);
	assert_false(send_one("a.example", "mx"));
	world.now_us += 11 * SECOND_US;
	assert_true(send_one("a.example", "mx"));
	end();
}

enum { MESSAGES = 3000, SESSIONS = 8 };

/* Messages that take any time, over several sessions: in no interval can the server have seen more
 * than the limit, wherever between begin and end it saw them. */
static void no_interval_can_have_more(void **state)
{
	static int64_t ends[MESSAGES];
	struct shape_hold holds[SESSIONS] = {0};
	size_t carried[SESSIONS] = {0};
	size_t count = 0;

	(void)state;
	begin("destination \"*\" { messages = 20 interval = 10s }\n");
	while (count < MESSAGES) {
		size_t i = (size_t)chance(SESSIONS);
		unsigned within = 1;

		world.now_us += (int64_t)chance(3) * (int64_t)chance(SECOND_US);
		if (holds[i].bearer != NULL) {
			shape_ended(&holds[i], world.now_us);
			ends[carried[i]] = world.now_us;
			continue;
		}
		if (holds[i].server != NULL && chance(5) == 0)
			shape_leave(&holds[i], world.now_us);
		if (holds[i].server == NULL ? !enter("a.example", "mx", 1, &holds[i])
					    : !next(&holds[i], "a.example", 1))
			continue;
		for (size_t j = 0; j < count; j++)
			within += ends[j] == 0 || ends[j] > world.now_us - 10 * SECOND_US;
		assert_in_range(within, 1, 20);
		carried[i] = count++;
	}
	for (size_t i = 0; i < SESSIONS; i++)
		shape_leave(&holds[i], world.now_us);
	end();
}

static void refuse(struct shape_hold *hold)
{
	const struct shape_complaint complaint = {
		.began_us = world.now_us, .is_connection = true, .said.verdict = &enough};

	shape_ended(hold, world.now_us);
	shape_slow(hold, &complaint, world.now_us, &world.wait);
	shape_leave(hold, world.now_us);
}

/* As many as it takes, for all domains; a connection that it refuses alone is mail that it does. */
static void a_server_gets_fewer_connections(void **state)
{
	struct shape_hold holds[5];

	(void)state;
	begin("");
	for (size_t i = 0; i < COUNT_OF(holds); i++)
		assert_true(enter("a.example", "mx", 1, &holds[i]));
	refuse(&holds[4]);
	assert_string_equal(
		world.wait.reason,
		"mx says that it has too many connections: 4 connections at once; enough");
	refuse(&holds[3]);
	assert_false(enter("b.example", "mx", 1, &holds[3]));
	assert_ptr_equal(world.wait.place, holds[0].server);
	assert_true(enter("b.example", "mx2", 1, &holds[3]));
	assert_true(next(&holds[0], "a.example", 1));
	shape_leave(&holds[2], world.now_us);
	assert_true(enter("b.example", "mx", 1, &holds[2]));
	world.now_us += MINUTE_US; /* three, and half of that */
	assert_true(enter("b.example", "mx", 1, &holds[4]));
	shape_leave(&holds[3], world.now_us);
	assert_false(enter("b.example", "mx", 1, &holds[3]));
	for (size_t i = 0; i < COUNT_OF(holds); i++)
		shape_leave(&holds[i], world.now_us);
	world.now_us += 10 * MINUTE_US;
	assert_true(enter("a.example", "mx", 1, &holds[0]));
	refuse(&holds[0]);
	assert_string_equal(world.wait.reason,
			    "mx says that it gets too much: a message in 60s; enough");
	end();
}

/* Who is on the way to a server, and to none other, must turn back when it wants nothing for a
 * time; not when it gets too much. */
static void a_server_wants_nothing_for_a_time(void **state)
{
	struct shape_complaint complaint = {.began_us = world.now_us, .said.verdict = &enough};
	struct shape_hold holds[3];
	struct shape_hold nowhere = {0};

	(void)state;
	begin("");
	for (size_t i = 0; i < COUNT_OF(holds); i++)
		assert_true(enter("a.example", i < 2 ? "mx" : "mx2", 1, &holds[i]));
	shape_slow(&holds[0], &complaint, world.now_us, &world.wait);
	assert_false(shape_is_paused(&holds[1], world.now_us, &world.wait));
	complaint.wait_us = 5 * MINUTE_US;
	shape_slow(&holds[0], &complaint, world.now_us, &world.wait);
	assert_true(shape_is_paused(&holds[1], world.now_us, &world.wait));
	assert_int_equal(world.wait.us, 5 * MINUTE_US);
	assert_non_null(strstr(world.wait.reason, "mx says that it gets too much"));
	assert_false(shape_is_paused(&holds[2], world.now_us, &world.wait));
	assert_false(shape_is_paused(&nowhere, world.now_us, &world.wait));
	assert_false(shape_is_paused(&holds[1], world.now_us + 5 * MINUTE_US, &world.wait));
	for (size_t i = 0; i < COUNT_OF(holds); i++)
		shape_leave(&holds[i], world.now_us);
	end();
}

/* What is used is kept, and counts after a reload, too. */
static void what_is_counted_stays(void **state)
{
	struct shape_hold hold;
	struct config *before;

	(void)state;
	begin("destination \"*\" { concurrency = 1 messages = 1 }\n");
	assert_true(enter("kept.example", "mx", 1, &hold));
	for (unsigned i = 0; i < 20000; i++) {
		char domain[32];

		snprintf(domain, sizeof domain, "d%u.example", i);
		assert_true(send_one(domain, domain));
	}
	before = world.config;
	world.config = config_of(HOST "destination \"*\" { concurrency = 2 messages = 2 }\n");
	shape_configure(world.shape, world.config);
	config_free(before);
	shape_ended(&hold, world.now_us);
	assert_true(next(&hold, "kept.example", 1));
	shape_ended(&hold, world.now_us);
	assert_false(next(&hold, "kept.example", 1));
	shape_leave(&hold, world.now_us);
	end();
}

/* Another sender, of another recipient, if one was named. */
static void others_are_told_the_same(void **state)
{
	const struct shape_told told = {1, 2, 3};
	const struct shape_told same_sender = {1, 2, 4};
	const struct shape_told same_recipient = {1, 5, 3};
	const struct shape_told other = {1, 5, 4};
	struct shape_alike alike = {0};

	(void)state;
	assert_int_equal(shape_alike_refused(&alike, &told, 0), SHAPE_TOLD_ONE);
	assert_int_equal(shape_alike_refused(&alike, &same_sender, 0), SHAPE_TOLD_ONE);
	alike.count = 0;
	assert_int_equal(shape_alike_refused(&alike, &told, 0), SHAPE_TOLD_ONE);
	assert_int_equal(shape_alike_refused(&alike, &same_recipient, 0), SHAPE_TOLD_ONE);
	alike.count = 0;
	assert_int_equal(shape_alike_refused(&alike, &told, 0), SHAPE_TOLD_ONE);
	assert_int_equal(shape_alike_refused(&alike, &other, 0), SHAPE_TOLD_OTHERS);
	shape_alike_taken(&alike);
	assert_int_equal(shape_alike_refused(&alike, &told, 0), SHAPE_TOLD_ONLY);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(others_are_told_the_same),
		cmocka_unit_test(the_first_section_counts),
		cmocka_unit_test(numbers_are_per_bearer),
		cmocka_unit_test(each_number_holds_back),
		cmocka_unit_test(places_are_given_back),
		cmocka_unit_test(messages_of_a_session_are_apart),
		cmocka_unit_test(a_server_is_slowed_down_for),
		cmocka_unit_test(what_is_under_way_counts),
		cmocka_unit_test(a_connection_counts_if_it_was_begun),
		cmocka_unit_test(no_interval_can_have_more),
		cmocka_unit_test(a_server_gets_fewer_connections),
		cmocka_unit_test(a_server_wants_nothing_for_a_time),
		cmocka_unit_test(what_is_counted_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
