// SPDX-License-Identifier: ISC
/*
 * Whom a reply holds up. Every reply that large providers are known to give (provider_replies.txt)
 * is said to one message at every command, over a new connection and over one that has carried
 * mail, with its code and as 421, beside other mail to the same server: the message gets it, and
 * nobody else waits, unless it came where it concerns the host (smtp/client/scope.h).
 */
#include "attempt_scene.h"
#include "base/timestamp.h"
#include "fake_loop.h"
#include "test.h"
#include "unit/config/config_outcome.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPLIES_MAX = 400, OTHERS = 5 };

#define US "hostname = \"us.test\"\n"

static const char *replies_file;

static struct reply {
	unsigned code;
	char said[160]; /* "421 4.7.0 Try again later" */
} replies[REPLIES_MAX];
static size_t reply_count;

/* --- the server --- */

enum place { CONNECTION, EHLO, STARTTLS, MAIL, RCPT, DATA, END, PLACES };

static const char *const verbs[PLACES] = {"", "EHLO", "STARTTLS", "MAIL", "RCPT", "DATA", "."};

static struct {
	enum place place;
	const char *said;
	const char *sender; /* who is told so; NULL: everybody */
	unsigned times;     /* how often at most */
} plan;

static const char *say_as_planned(struct peer *peer, struct str line)
{
	bool is_there =
		plan.place == CONNECTION
			? line.length == 0
			: line.length > 0 && str_starts_with(line, str_from(verbs[plan.place]));
	bool is_meant = plan.sender == NULL || strcmp(plan.sender, peer->sender) == 0;

	if (plan.times > 0 && is_there && (plan.place < MAIL || is_meant)) {
		plan.times--;
		return plan.said;
	}
	return plan.place == STARTTLS && str_starts_with(line, STR("EHLO"))
		       ? "250-x\r\n250 STARTTLS"
		       : NULL;
}

/* --- the world --- */

static void begin(const char *settings)
{
	fake_begin(1);
	memset(&scene, 0, sizeof scene);
	scene.config = config_of(settings);
	remote_client_init(&scene.client, NULL);
	remote_client_configure(&scene.client, scene.config, 300 * SECOND_US);
	scene.client.shape = shape_new();
	shape_configure(scene.client.shape, scene.config);
	scene.server.host = "server.test";
	assert_true(os_socket_address_parse("192.0.2.1", 25, &scene.server.address));
	scene.answer = say_as_planned;
	plan.times = 0;
}

static void end(void)
{
	remote_client_clear(&scene.client);
	shape_free(scene.client.shape);
	config_free(scene.config);
	assert_int_equal(fake_timers(), 0);
}

static size_t run_one(const char *key)
{
	size_t number = scene_start(key);

	scene_play();
	return number;
}

static bool is_taken(size_t number)
{
	return strcmp(scene.reports[number], "2.0.0") == 0;
}

static void check_taken(size_t number)
{
	assert_string_equal(scene.reports[number], "2.0.0");
}

/* --- every reply, everywhere --- */

/* "." begins other lines of the message as well, which is "x". */
static void play_reply(const char *said, enum place place, bool is_reused)
{
	/* opening, or a new session that ends before it has answered anything: the host's */
	bool is_of_host = place < MAIL || (place == MAIL && strncmp(said, "421", 3) == 0);
	size_t bad;

	begin(US);
	scene.level = place == STARTTLS ? CONFIG_TLS_MAY : CONFIG_TLS_NONE;
	if (is_reused)
		check_taken(run_one("key"));
	bad = scene.started;
	plan.place = place;
	plan.said = said;
	plan.sender = bad == 0 ? "s0@us.test" : "s1@us.test";
	plan.times = 3;
	run_one("key");
	plan.times = 0;
	if (!scene.is_finished[bad] || scene.reports[bad][0] == '\0' ||
	    (strcmp(scene.reports[bad], "busy") == 0 && !is_of_host))
		fail_msg("%s at %s, %d: \"%s\"", said, verbs[place], is_reused, scene.reports[bad]);
	for (size_t i = 0; i < OTHERS; i++) {
		size_t other = run_one(i == 0 ? "key" : "another");

		if (!is_taken(other) && !is_of_host)
			fail_msg("%s at %s, %d: holds up others: \"%s\"", said, verbs[place],
				 is_reused, scene.reports[other]);
	}
	end();
}

static void every_reply_holds_up_nobody_else(void **state)
{
	char as_421[160];

	(void)state;
	for (size_t i = 0; i < reply_count; i++) {
		const char *rest = replies[i].said + 4;

		snprintf(as_421, sizeof as_421, "421 %s%s", *rest == '5' ? "4" : "",
			 *rest == '5' ? rest + 1 : rest);
		for (int place = 0; place < PLACES; place++)
			for (int is_reused = place < MAIL ? 0 : 1; is_reused >= 0; is_reused--) {
				play_reply(replies[i].said, (enum place)place, is_reused);
				play_reply(as_421, (enum place)place, is_reused);
			}
	}
}

/* --- whom it concerns --- */

static void complain(enum place place, const char *said, const char *sender)
{
	plan.place = place;
	plan.said = said;
	plan.sender = sender;
	plan.times = 1000;
}

/* The message waits by its own schedule, each time, and the rest is taken as fast as ever. */
static void a_suspicious_message_is_no_probe(void **state)
{
	(void)state;
	begin(US);
	complain(END, "421 4.7.0 This message is suspicious", "s0@us.test");
	run_one("key");
	assert_string_equal(scene.reports[0], "4.7.0");
	for (size_t i = 0; i < 16; i++)
		check_taken(run_one("key"));
	end();
}

/* A sender whose sessions end at MAIL: the host may mean others, too, until it takes their mail. */
static void a_sender_is_known_when_others_are_taken(void **state)
{
	(void)state;
	begin(US);
	complain(MAIL, "421 4.7.0 You send too much, try again later", "s0@us.test");
	run_one("key");
	assert_string_equal(scene.reports[0], "busy");
	assert_int_equal(scene.busy_flags[0], IPC_JOB_BUSY_LAST);
	fake_advance(2 * MINUTE_US);
	check_taken(run_one("key"));
	fake_advance(2 * MINUTE_US);
	scene.started = 0;
	memset(scene.reports, 0, sizeof scene.reports);
	run_one("key");
	assert_string_equal(scene.reports[0], "4.7.0");
	check_taken(run_one("key"));
	end();
}

/* Two such messages with others between them are two such messages. */
static void what_is_taken_in_between_shows_that(void **state)
{
	size_t last;

	(void)state;
	begin(US);
	complain(END, "421 4.7.0 This message is suspicious", "s0@us.test");
	run_one("key");
	check_taken(run_one("key"));
	plan.sender = "s2@us.test";
	last = run_one("key");
	assert_string_equal(scene.reports[last], "4.7.0");
	check_taken(run_one("key"));
	end();
}

/* Different senders, nothing taken: it is the host. Who was told so last is tried last. */
static void what_all_are_told_is_of_the_host(void **state)
{
	static const enum place places[] = {MAIL, RCPT, DATA, END};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(places); i++) {
		size_t second;

		begin(US);
		complain(places[i], "450 4.7.1 Rate limit exceeded", NULL);
		run_one("key");
		assert_string_equal(scene.reports[0], "4.7.1");
		second = run_one("key");
		assert_string_equal(scene.reports[second], "busy");
		assert_int_equal(scene.busy_flags[second], IPC_JOB_BUSY_LAST);
		assert_int_equal(scene.said[IPC_JOB_SAID_SLOWER], 1);
		plan.times = 0;
		assert_string_equal(scene.reports[run_one("key")], "busy");
		assert_int_equal(scene.busy_flags[2], 0);
		fake_advance(2 * MINUTE_US);
		check_taken(run_one("key"));
		end();
	}
}

/* The same thing, said of something else, or in other words. */
static void what_others_are_told_differently_is_not(void **state)
{
	(void)state;
	begin(US);
	complain(MAIL, "450 4.7.1 Rate limit exceeded", NULL);
	run_one("key");
	complain(RCPT, "450 4.7.1 Rate limit exceeded", NULL);
	assert_string_equal(scene.reports[run_one("key")], "4.7.1");
	complain(MAIL, "451 4.7.1 Rate limit exceeded", NULL);
	assert_string_equal(scene.reports[run_one("key")], "4.7.1");
	plan.times = 0;
	check_taken(run_one("key"));
	end();
}

static void what_was_said_long_ago_is_forgotten(void **state)
{
	(void)state;
	begin(US);
	complain(END, "421 4.7.0 This message is suspicious", NULL);
	run_one("key");
	fake_advance(5 * MINUTE_US);
	assert_string_equal(scene.reports[run_one("key")], "4.7.0");
	end();
}

/* Greylisting, a full mailbox, a server that is broken: nobody is sent less for it. */
static void other_words_slow_nobody_down(void **state)
{
	(void)state;
	begin(US);
	complain(RCPT, "451 4.7.1 Greylisted, rate limit of strangers", NULL);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(scene.reports[run_one("key")], "4.7.1");
	complain(MAIL, "451 4.3.0 Temporary lookup failure", NULL);
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(scene.reports[run_one("key")], "4.3.0");
	plan.times = 0;
	check_taken(run_one("key"));
	end();
}

/* --- sessions that have served enough --- */

static enum place limited;
static unsigned limit; /* messages of a connection */
static const char *enough;

static const char *take_some(struct peer *peer, struct str line)
{
	bool is_there = line.length > 0 && str_starts_with(line, str_from(verbs[limited]));

	return is_there && peer->messages >= limit ? enough : NULL;
}

static void serve(enum place place, unsigned most, const char *said)
{
	limited = place;
	limit = most;
	enough = said;
	scene.answer = take_some;
}

/* All arrive, and once the number is known nothing is refused. */
static void a_new_session_is_asked_at_once(void **state)
{
	static const char *const words[] = {
		"452 4.4.5 Maximum number of messages per session exceeded",
		"452 4.5.3 Error: Too many messages sent",
		"550 5.7.1 enough",
		"554 5.7.1 enough",
		"503 5.5.1 enough",
		"451 4.7.1 rate limit of this session",
		"421 4.7.0 Too many messages in one connection"};
	static const enum place places[] = {MAIL, RCPT, DATA};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(words) * COUNT_OF(places); i++) {
		begin(US);
		serve(places[i % COUNT_OF(places)], 4, words[i / COUNT_OF(places)]);
		for (size_t sent = 0; sent < 22; sent++)
			check_taken(run_one("key"));
		assert_int_equal(scene.peer_count, 6);
		assert_int_equal(scene.said[IPC_JOB_SAID_MESSAGES],
				 scene.said[IPC_JOB_SAID_RENEWED]);
		end();
	}
}

/* It is what the new session answers that counts. */
static void its_answer_counts(void **state)
{
	(void)state;
	begin(US);
	check_taken(run_one("key"));
	complain(MAIL, "550 5.7.1 not you", "s1@us.test");
	assert_string_equal(scene.reports[run_one("key")], "5.7.1");
	assert_int_equal(scene.peer_count, 2);
	check_taken(run_one("key"));
	check_taken(run_one("key"));
	assert_int_equal(scene.peer_count, 2); /* nothing was learnt from that */
	end();
}

static unsigned refused;

static const char *count_refused(struct peer *peer, struct str line)
{
	const char *said = take_some(peer, line);

	refused += said != NULL;
	return said;
}

static void the_number_is_learnt_for_an_hour(void **state)
{
	(void)state;
	begin(US);
	serve(MAIL, 3, "452 4.4.5 enough");
	scene.answer = count_refused;
	refused = 0;
	for (size_t i = 0; i < 20; i++)
		check_taken(run_one("key"));
	assert_int_equal(refused, 1);
	fake_advance(61 * MINUTE_US);
	for (size_t i = 0; i < 10; i++)
		check_taken(run_one("key"));
	assert_int_equal(refused, 2);
	end();
}

static void the_setting_says_how_many(void **state)
{
	(void)state;
	begin(US "destination \"*\" { session_messages = 3 }\n");
	for (size_t i = 0; i < 10; i++)
		check_taken(run_one("key"));
	assert_int_equal(scene.peer_count, 4);
	end();
}

/* --- too many recipients --- */

static unsigned in_transaction;

static const char *take_two(struct peer *peer, struct str line)
{
	(void)peer;
	if (str_starts_with(line, STR("MAIL")))
		in_transaction = 0;
	if (!str_starts_with(line, STR("RCPT")) || in_transaction++ < 2)
		return NULL;
	refused++;
	return enough;
}

static void the_rest_goes_in_another_transaction(void **state)
{
	static const char *const words[] = {"452 4.5.3 Too many recipients",
					    "552 5.5.3 Too many",
					    "550 5.5.3 Too many",
					    "554 5.5.3 Too many",
					    "452 Too many",
					    "552 Too many"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		begin(US);
		scene.answer = take_two;
		scene.recipients = 7;
		enough = words[i];
		refused = 0;
		check_taken(run_one("key"));
		assert_int_equal(scene.peers[0].messages, 4);
		assert_int_equal(refused, 5); /* then it is known */
		assert_int_equal(scene.said[IPC_JOB_SAID_RECIPIENTS], 1);
		check_taken(run_one("key"));
		assert_int_equal(scene.peers[0].messages, 8);
		assert_int_equal(refused, 5);
		assert_int_equal(scene.peer_count, 1);
		end();
	}
}

/* --- the table --- */

static void read_replies(void)
{
	FILE *file = fopen(replies_file, "r");
	char line[256], status[16], text[160];

	assert_non_null(file);
	while (fgets(line, sizeof line, file) != NULL) {
		struct reply *reply = &replies[reply_count];

		if (line[0] == '#')
			continue;
		assert_true(reply_count < REPLIES_MAX);
		assert_int_equal(sscanf(line, "%*s %u %15s %139[^\n]", &reply->code, status, text),
				 3);
		snprintf(reply->said, sizeof reply->said, "%u %s%s%s", reply->code,
			 *status == '-' ? "" : status, *status == '-' ? "" : " ", text);
		reply_count++;
	}
	fclose(file);
	assert_true(reply_count > 100);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_reply_holds_up_nobody_else),
		cmocka_unit_test(a_suspicious_message_is_no_probe),
		cmocka_unit_test(a_sender_is_known_when_others_are_taken),
		cmocka_unit_test(what_is_taken_in_between_shows_that),
		cmocka_unit_test(what_all_are_told_is_of_the_host),
		cmocka_unit_test(what_others_are_told_differently_is_not),
		cmocka_unit_test(what_was_said_long_ago_is_forgotten),
		cmocka_unit_test(other_words_slow_nobody_down),
		cmocka_unit_test(a_new_session_is_asked_at_once),
		cmocka_unit_test(its_answer_counts),
		cmocka_unit_test(the_number_is_learnt_for_an_hour),
		cmocka_unit_test(the_setting_says_how_many),
		cmocka_unit_test(the_rest_goes_in_another_transaction),
	};

	replies_file = argc > 1 ? argv[1] : "tests/common/provider_replies.txt";
	read_replies();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
