// SPDX-License-Identifier: ISC
/* The judges of mail that is filed once: nothing excuses a second copy, nothing that is filed is
 * reported as failed, decoders delay nothing for long, and the record knows what is filed. */
#include "accounts.h"
#include "files.h"
#include "judge.h"
#include "judge_scene.h"
#include "kernel.h"
#include "mail.h"
#include "packet_scene.h"
#include "recorded.h"
#include "waits.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define FILED "user1@" MAIL_ONCE "one.example"
#define OTHER "user2@one.example"
#define WEEK  (8 * 24 * 3600 * SCENE_SECOND)

/* The number of a message for RECIPIENT, which is promised. */
static uint64_t promise(const char *recipient)
{
	uint64_t number = ledger_new();

	ledger_add(number, recipient);
	ledger_promise(number);
	return number;
}

static void deliver(uint64_t number, const char *place)
{
	char *text;
	size_t size = ledger_text(number, &text) - strlen(".\r\n");

	assert_int_equal(ledger_deliver(place, text, size), number);
	free(text);
}

/* The sender is told that RECIPIENT gets nothing. */
static void report(uint64_t number, const char *recipient, const char *status)
{
	char text[512];
	int length = snprintf(text, sizeof text,
			      "Subject: failure\n\nOriginal-Envelope-Id: %llu\n\n"
			      "Final-Recipient: rfc822; %s\nAction: failed\nStatus: %s\n\n",
			      (unsigned long long)number, recipient, status);

	assert_int_equal(ledger_deliver(CLIENT_SENDER, text, (size_t)length), number);
}

static struct ledger_sums sum(void)
{
	struct ledger_sums sums;

	ledger_sum(&sums);
	return sums;
}

static void nothing_excuses_a_second_filed_copy(void **state)
{
	uint64_t filed = promise(FILED);
	uint64_t other = promise(OTHER);

	(void)state;
	ledger_excuse();
	ledger_excuse_message(filed);
	ledger_excuse_recipient(filed, FILED);
	ledger_excuse_message(other);
	deliver(filed, FILED);
	deliver(other, OTHER);
	deliver(other, OTHER);
	assert_int_equal(sum().twice, 1);
	assert_int_equal(sum().unexcused, 0);
	deliver(filed, FILED);
	assert_int_equal(sum().twice, 2);
	assert_int_equal(sum().unexcused, 1);
	assert_int_equal(sum().changed, 0);
}

/* A power cut takes a copy of which the record does not say that it is filed. */
static void what_is_gone_is_filed_again(void **state)
{
	uint64_t filed = promise(FILED);

	(void)state;
	deliver(filed, FILED);
	ledger_take_back(filed, FILED);
	assert_false(ledger_is_done());
	assert_int_equal(sum().lost, 1);
	deliver(filed, FILED);
	assert_true(ledger_is_done());
	assert_int_equal(sum().twice, 0);
}

static void a_report_about_who_is_refused_nowhere_is_seen(void **state)
{
	uint64_t filed = promise(HOP_REFUSED FILED);
	uint64_t other = promise(HOP_REFUSED "1@hop.example");

	(void)state;
	report(other, HOP_REFUSED "1@hop.example", "5.1.1");
	assert_int_equal(sum().changed, 0);
	report(filed, HOP_REFUSED FILED, "5.1.1");
	assert_int_equal(sum().changed, 1);
}

/* Mail that has been tried for a week is reported; but not if it is there. */
static void what_is_filed_and_reported_is_seen(void **state)
{
	uint64_t lost = promise(FILED);
	uint64_t filed = promise(FILED);
	uint64_t other = promise(OTHER);

	(void)state;
	deliver(filed, FILED);
	deliver(other, OTHER);
	scene_pass(WEEK / SCENE_SECOND);
	report(lost, FILED, "5.4.7");
	report(other, OTHER, "5.4.7");
	assert_int_equal(sum().changed, 0);
	report(filed, FILED, "5.4.7");
	assert_int_equal(sum().changed, 1);
}

/* --- decoders --- */

/* A message is filed after SECONDS, in which WHAT stands still (or NULL). */
static uint64_t objections_after(int64_t seconds, const char *what)
{
	static const char *const arguments[] = {"program", NULL};
	struct world_program program = {what, scene_wait_for_ever, NULL};
	struct process *process = NULL;

	packets_hello(PACKETS_LOCAL, "once", "mailbox");
	packets_log(1, "message_queued", "");
	packets_begin_at(PACKETS_LOCAL, 1, "");
	if (what != NULL)
		process = process_new(scene_node, NULL, &program, arguments, NULL);
	if (process != NULL)
		process_freeze(process, true);
	scene_pass(seconds);
	packets_finish("2.0.0");
	if (process != NULL)
		process_end(process, 9);
	return judge_count(JUDGE_WAITING);
}

static void what_is_filed_late_is_seen(void **state)
{
	(void)state;
	assert_int_equal(objections_after(WAITS_FILING_US / SCENE_SECOND - 1, NULL), 0);
	assert_int_equal(objections_after(WAITS_FILING_US / SCENE_SECOND + 1, "directory"), 0);
	assert_int_equal(objections_after(WAITS_FILING_US / SCENE_SECOND + 1, NULL), 1);
}

static void decoders_that_stand_still_excuse_nothing(void **state)
{
	(void)state;
	assert_int_equal(objections_after(WAITS_FILING_US / SCENE_SECOND + 1, "decode"), 1);
}

static void a_fault_meanwhile_excuses_what_is_filed_late(void **state)
{
	(void)state;
	packets_hello(PACKETS_LOCAL, "once", "mailbox");
	packets_log(1, "message_queued", "");
	packets_begin_at(PACKETS_LOCAL, 1, "");
	scene_pass(WAITS_FILING_US / SCENE_SECOND);
	accounts_hurt(scene_node);
	scene_pass(1);
	packets_finish("2.0.0");
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
}

/* --- the record --- */

static void what_is_filed_and_not_recorded_is_seen(void **state)
{
	(void)state;
	deliver(promise(OTHER), OTHER);
	recorded_check_all();
	assert_int_equal(judge_count(JUDGE_RECORD), 0);
	deliver(promise(FILED), FILED);
	recorded_check_all();
	assert_int_equal(judge_count(JUDGE_RECORD), 1);
}

static void record(uint64_t number, const char *rest)
{
	char line[256];

	snprintf(line, sizeof line, "%llu@world.example> " FILED " %s\n",
		 (unsigned long long)number, rest);
	recorded_check(scene_node, line);
}

static void what_is_recorded_wrongly_is_seen(void **state)
{
	uint64_t filed = promise(FILED);
	uint64_t undecoded = promise(FILED);
	uint64_t other = promise(FILED);

	(void)state;
	deliver(filed, FILED);
	deliver(undecoded, FILED);
	record(filed, "filed 2 ");
	record(undecoded, "filed 0 it takes too long to decode");
	recorded_check_all();
	assert_int_equal(judge_count(JUDGE_RECORD), 0);
	record(filed, "filed 2 "); /* a second time */
	assert_int_equal(judge_count(JUDGE_RECORD), 1);
	record(other, "filed 2 "); /* it is not there */
	assert_int_equal(judge_count(JUDGE_RECORD), 2);
	record(other, "filing 2 "); /* all is done */
	assert_int_equal(judge_count(JUDGE_RECORD), 3);
	deliver(other, FILED);
	record(other, "filed 1 "); /* somebody is missing, and nobody knows why */
	assert_int_equal(judge_count(JUDGE_RECORD), 4);
	recorded_check(scene_node, "\n");
	assert_int_equal(judge_count(JUDGE_RECORD), 5);
}

/* A file in the sender's folder. */
static void send_copy(uint64_t number, const char *name)
{
	char path[128];
	char text[64];

	snprintf(path, sizeof path, "/var/mail/client.example/world/.Sent/cur/%s", name);
	snprintf(text, sizeof text, "Subject: sent\nX-World: %llu\n\n", (unsigned long long)number);
	files_put(scene_node, path, text);
}

static uint64_t objections_when_sent(uint64_t number)
{
	char line[256];

	snprintf(line, sizeof line, "%llu@world.example> " CLIENT_SENDER " filed 2 \n",
		 (unsigned long long)number);
	recorded_check(scene_node, line);
	return judge_count(JUDGE_RECORD);
}

static void what_is_filed_for_the_sender_is_recorded_once(void **state)
{
	(void)state;
	assert_int_equal(objections_when_sent(3), 1); /* it is not there */
	send_copy(3, "one");
	assert_int_equal(objections_when_sent(3), 1);
	recorded_check(scene_node, "");
	assert_int_equal(judge_count(JUDGE_RECORD), 2); /* it is not recorded */
	send_copy(3, "two");
	assert_int_equal(objections_when_sent(3), 4);
}

static void what_is_given_up_is_not_there(void **state)
{
	static const char line[] = "4@world.example> " CLIENT_SENDER " filing 2 \n";

	(void)state;
	recorded_check(scene_node, line);
	assert_int_equal(judge_count(JUDGE_RECORD), 1);
	scene_node->heard(scene_node,
			  "time=- event=sent_given_up id=7-a message_id=<5@world.example>");
	recorded_check(scene_node, line);
	assert_int_equal(judge_count(JUDGE_RECORD), 2);
	scene_node->heard(scene_node,
			  "time=- event=sent_given_up id=7-a message_id=<4@world.example>");
	recorded_check(scene_node, line);
	assert_int_equal(judge_count(JUDGE_RECORD), 2);
	recorded_end();
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(nothing_excuses_a_second_filed_copy),
		SCENE_TEST(what_is_gone_is_filed_again),
		SCENE_TEST(a_report_about_who_is_refused_nowhere_is_seen),
		SCENE_TEST(what_is_filed_and_reported_is_seen),
		SCENE_TEST(what_is_filed_late_is_seen),
		SCENE_TEST(decoders_that_stand_still_excuse_nothing),
		SCENE_TEST(a_fault_meanwhile_excuses_what_is_filed_late),
		SCENE_TEST(what_is_filed_and_not_recorded_is_seen),
		SCENE_TEST(what_is_recorded_wrongly_is_seen),
		SCENE_TEST(what_is_filed_for_the_sender_is_recorded_once),
		SCENE_TEST(what_is_given_up_is_not_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
