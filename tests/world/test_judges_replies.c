// SPDX-License-Identifier: ISC
/* The judge of replies sees a host that is throttled for what it has said of one message, or
 * without its words, and objects to nothing else. */
#include "judge.h"
#include "judge_scene.h"
#include "kernel.h"
#include "mail.h"
#include "replies.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HOST = 0x0a000003 };

#define BUSY       "421 4.7.0 Too many concurrent connections\r\n"
#define SUSPICIOUS "421 4.7.0 This message is suspicious\r\n"

/* The log says that it is throttled, with these words. */
static uint64_t objections_when_throttled(const char *text)
{
	char line[256];

	snprintf(line, sizeof line, "time=- event=host_throttled host=10.0.0.3 port=25%s%s%s",
		 text[0] != '\0' ? " text=\"" : "", text, text[0] != '\0' ? "\"" : "");
	scene_node->heard(scene_node, line);
	return judge_count(JUDGE_REPLIES);
}

static void a_host_that_says_so_may_be_throttled(void **state)
{
	(void)state;
	replies_begin();
	scene_pass(1);
	replies_note(HOST, REPLIES_GREETING, "", BUSY);
	assert_int_equal(
		objections_when_throttled("mx said: 421 4.7.0 Too many concurrent connections"), 0);
	scene_pass(601);
	assert_int_equal(
		objections_when_throttled("mx said: 421 4.7.0 Too many concurrent connections"), 2);
}

/* As the log quotes them. */
static void words_may_have_quotation_marks(void **state)
{
	(void)state;
	replies_begin();
	scene_pass(1);
	replies_note(HOST, REPLIES_EHLO, "", "451 4.7.1 Ratelimit \"to\" exceeded\r\n");
	assert_int_equal(
		objections_when_throttled("mx said: 451 4.7.1 Ratelimit \\\"to\\\" exceeded"), 0);
	assert_int_equal(objections_when_throttled("mx said: 451 4.7.1 Ratelimit \\\"to"), 1);
}

static void a_throttle_without_words_is_seen(void **state)
{
	(void)state;
	replies_begin();
	scene_pass(1);
	replies_note(HOST, REPLIES_EHLO, "", BUSY);
	assert_int_equal(objections_when_throttled(""), 1);
	assert_int_equal(objections_when_throttled("it gets too much"), 2);
}

static void a_throttle_for_one_message_is_seen(void **state)
{
	(void)state;
	replies_begin();
	scene_pass(1);
	replies_note(HOST, REPLIES_TEXT, "a@client.example", SUSPICIOUS);
	replies_note(HOST, REPLIES_TEXT, "a@client.example", SUSPICIOUS);
	assert_int_equal(objections_when_throttled("421 4.7.0 This message is suspicious"), 1);
	replies_taken(HOST);
	replies_note(HOST, REPLIES_TEXT, "b@client.example", SUSPICIOUS);
	assert_int_equal(objections_when_throttled("421 4.7.0 This message is suspicious"), 2);
	replies_note(HOST, REPLIES_TEXT, "c@client.example", SUSPICIOUS);
	assert_int_equal(objections_when_throttled("421 4.7.0 This message is suspicious"), 2);
}

static void who_ends_a_session_at_mail_may_be_throttled(void **state)
{
	(void)state;
	replies_begin();
	scene_pass(1);
	replies_note(HOST, REPLIES_MAIL, "a@client.example", "451 4.7.0 Too many connections\r\n");
	assert_int_equal(objections_when_throttled("451 4.7.0 Too many connections"), 1);
	replies_note(HOST, REPLIES_MAIL, "a@client.example", BUSY);
	assert_int_equal(objections_when_throttled("421 4.7.0 Too many concurrent connections"), 1);
}

/* A message has up to a thousand recipients, who may all be refused before the log says why. */
static void words_are_known_among_many(void **state)
{
	(void)state;
	replies_begin();
	scene_pass(1);
	replies_note(HOST, REPLIES_GREETING, "", BUSY);
	for (unsigned i = 0; i < 1000; i++)
		replies_note(HOST, REPLIES_RCPT, "a@client.example", "450 greylisted\r\n");
	assert_int_equal(
		objections_when_throttled("mx said: 421 4.7.0 Too many concurrent connections"), 0);
}

/* What a node says nobody notes: one that stops ends its sessions, and may be throttled for that.
 */
static void a_node_that_stops_may_be_throttled(void **state)
{
	(void)state;
	replies_begin();
	assert_int_equal(objections_when_throttled(
				 "mx.one.example[10.0.0.1] said: 421 4.3.2 Service is stopping"),
			 0);
	assert_int_equal(
		objections_when_throttled("mx.one.example[10.0.0.1] said: 451 4.3.0 Not now"), 1);
}

/* Their words are what a session and a transaction may have had. */
static void sessions_have_enough(void **state)
{
	const struct replies_count few = {1, 1};
	const struct replies_count many = {REPLIES_MESSAGES, REPLIES_RECIPIENTS};
	unsigned refused = 0;

	(void)state;
	replies_begin();
	for (unsigned i = 0; i < 100; i++) {
		assert_non_null(replies_choose(REPLIES_MAIL, many));
		assert_non_null(
			strstr(replies_choose(REPLIES_RCPT, many), "Too many recipients\r\n"));
		refused += replies_choose(REPLIES_RCPT, few) != NULL;
	}
	assert_in_range(refused, 0, 20);
}

/* The published ones that are for now, with their enhanced status if they have one. */
static void what_is_published_is_said(void **state)
{
	const struct replies_count few = {1, 1};
	bool has_status = false;
	bool has_none = false;

	(void)state;
	replies_begin();
	while (!has_status || !has_none) {
		const char *reply = replies_choose(REPLIES_TEXT, few);

		if (reply == NULL)
			continue;
		assert_int_equal(reply[0], '4');
		has_status |= strstr(reply, "421 4.7.0 This message is suspicious") == reply;
		has_none |= strstr(reply, " - ") == NULL && reply[5] != '.';
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(a_host_that_says_so_may_be_throttled),
		SCENE_TEST(words_may_have_quotation_marks),
		SCENE_TEST(a_throttle_without_words_is_seen),
		SCENE_TEST(a_throttle_for_one_message_is_seen),
		SCENE_TEST(who_ends_a_session_at_mail_may_be_throttled),
		SCENE_TEST(words_are_known_among_many),
		SCENE_TEST(a_node_that_stops_may_be_throttled),
		SCENE_TEST(sessions_have_enough),
		SCENE_TEST(what_is_published_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
