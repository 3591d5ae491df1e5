// SPDX-License-Identifier: ISC
/* The judges of what a node says and of its reports see a fault that is planted before its eyes,
 * and objects to nothing else. */
#include "accounts.h"
#include "files.h"
#include "growth.h"
#include "judge.h"
#include "judge_scene.h"
#include "listings.h"
#include "mail.h"
#include "states.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* --- the log --- */

static uint64_t objections_after_a_while(void)
{
	scene_pass(61);
	accounts_close();
	return judge_count(JUDGE_LOG);
}

static void the_log_of_a_message_is_right(void **state)
{
	(void)state;
	scene_arrive(scene_accept());
	scene_say("deferred", " delivery=1 until=2026-01-01T00:00:00Z");
	scene_say_delivered();
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 0);
	assert_null(accounts_of(scene_node)->first_open);
}

static void two_ends_are_seen(void **state)
{
	(void)state;
	scene_arrive(scene_accept());
	scene_say_delivered();
	scene_say_delivered();
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void an_end_after_the_end_is_seen(void **state)
{
	(void)state;
	scene_arrive(scene_accept());
	scene_say_delivered();
	scene_say("message_done", "");
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void a_promise_that_the_log_does_not_know_is_seen(void **state)
{
	uint64_t message = scene_offer();

	(void)state;
	scene_say("message_queued", "");
	accounts_promised(scene_node->address, "7-a", message);
	scene_arrive(message);
	scene_say_delivered();
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void a_delivery_that_nobody_got_is_seen(void **state)
{
	(void)state;
	scene_accept();
	scene_say_delivered();
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

/* The members get it as messages of their own, in their turn. */
static void what_a_list_has_sent_on_may_wait(void **state)
{
	(void)state;
	scene_accept();
	scene_say("delivered", " delivery=1 to=user1@hop.example by=list status=2.0.0");
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 0);
}

static void a_failure_without_a_report_is_seen(void **state)
{
	(void)state;
	scene_accept();
	scene_say("failed", " delivery=1 status=5.1.1");
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void a_failure_of_what_somebody_has_is_seen(void **state)
{
	(void)state;
	scene_arrive(scene_accept());
	scene_say("failed", " delivery=1 to=user1@hop.example by=remote status=5.4.7");
	scene_say("bounced", " to=world@client.example");
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

/* Nobody has it, but the sender has the report. */
static void a_failure_that_is_reported_is_none(void **state)
{
	uint64_t message = ledger_new();
	char text[256];

	(void)state;
	ledger_add(message, "refused1@hop.example");
	scene_pass(1);
	scene_say("message_queued", "");
	scene_say("message_accepted", "");
	ledger_promise(message);
	accounts_promised(scene_node->address, "7-a", message);
	scene_say("failed", " delivery=1 to=refused1@hop.example by=remote status=5.1.1");
	snprintf(text, sizeof text,
		 "To: you\n\nFinal-Recipient: rfc822; refused1@hop.example\nStatus: 5.1.1\n\n"
		 "X-World: %llu\n",
		 (unsigned long long)message);
	ledger_deliver(CLIENT_SENDER, text, strlen(text));
	scene_say("bounced", " to=world@client.example");
	scene_say("message_done", "");
	assert_int_equal(objections_after_a_while(), 0);
}

static void an_end_without_a_word_is_seen(void **state)
{
	(void)state;
	scene_accept();
	assert_true(objections_after_a_while() > 0);
}

static void a_process_that_dies_is_seen(void **state)
{
	(void)state;
	scene_node->heard(scene_node,
			  "time=- event=process_ended program=send status=\"signal 9\"");
	assert_int_equal(judge_count(JUDGE_LOG), 0);
	scene_node->heard(scene_node,
			  "time=- event=process_ended program=send status=\"signal 11\"");
	assert_int_equal(judge_count(JUDGE_LOG), 1);
}

/* --- excuses --- */

static uint64_t unexcused(void)
{
	struct ledger_sums sums;

	scene_pass(200);
	accounts_close();
	ledger_sum(&sums);
	assert_int_equal(sums.twice, 1);
	return sums.unexcused;
}

static void a_fault_between_answer_and_record_excuses(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	scene_pass(1);
	scene_arrive(message);
	scene_pass(5);
	accounts_hurt(scene_node);
	scene_pass(5);
	scene_arrive(message);
	scene_say_delivered();
	scene_say("message_done", "");
	assert_int_equal(unexcused(), 0);
}

/* The power was cut when the message was scene_queued, and before a word of that: the scene_node
 * that gave it has not heard so, either, and gives it again. */
static void a_fault_before_the_first_word_excuses(void **state)
{
	uint64_t message = scene_offer();

	(void)state;
	scene_pass(1);
	accounts_hurt(scene_node);
	scene_pass(10);
	scene_say("message_found", "");
	ledger_promise(message);
	accounts_promised(scene_node->address, "7-a", message);
	scene_arrive(message);
	scene_pass(5);
	scene_arrive(message);
	scene_say("delivered", " delivery=1 to=user1@hop.example by=maildir status=2.0.0");
	scene_say("message_done", "");
	assert_int_equal(unexcused(), 0);
}

static void a_fault_before_the_answer_excuses_nothing(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	accounts_hurt(scene_node);
	scene_pass(5);
	scene_arrive(message);
	scene_pass(5);
	scene_arrive(message);
	scene_say_delivered();
	scene_say("message_done", "");
	assert_int_equal(unexcused(), 1);
}

static void a_fault_after_the_record_excuses_nothing(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	scene_pass(1);
	scene_arrive(message);
	scene_say_delivered();
	scene_say("message_done", "");
	scene_pass(5);
	accounts_hurt(scene_node);
	scene_pass(5);
	scene_arrive(message);
	assert_int_equal(unexcused(), 1);
}

/* One recipient waits still when the power fails: what became of the other is on the disk, once it
 * may be. */
static uint64_t unexcused_after(int64_t seconds, struct process *frozen)
{
	uint64_t message = scene_accept();

	ledger_add(message, "user2@hop.example");
	if (frozen != NULL)
		process_freeze(frozen, true);
	scene_pass(1);
	scene_arrive(message);
	scene_say_delivered();
	scene_pass(seconds);
	accounts_hurt(scene_node);
	if (frozen != NULL)
		process_freeze(frozen, false);
	scene_pass(20);
	scene_arrive(message);
	scene_say_delivered();
	scene_say("delivered", " delivery=2 to=user2@hop.example by=remote status=2.0.0");
	scene_say("message_done", "");
	return unexcused();
}

static void a_fault_before_a_record_excuses(void **state)
{
	(void)state;
	assert_int_equal(unexcused_after(1, NULL), 0);
}

static void a_fault_after_a_record_excuses_nothing(void **state)
{
	(void)state;
	assert_int_equal(unexcused_after(10, NULL), 1);
}

/* What was to record it stood still until the power failed. */
static void a_freeze_lasts_until_it_ends(void **state)
{
	static const struct world_program program = {"still", scene_wait_for_ever, NULL};
	static const char *const arguments[] = {"still", NULL};
	struct process *process = process_new(scene_node, NULL, &program, arguments, NULL);

	(void)state;
	assert_int_equal(unexcused_after(10, process), 0);
}

static void what_was_recorded_is_not_excused_with_its_message(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	ledger_add(message, "user2@hop.example");
	scene_pass(1);
	scene_arrive(message);
	scene_say_delivered();
	scene_pass(10);
	scene_say("delivered", " delivery=2 to=user2@hop.example by=remote status=2.0.0");
	scene_say("message_done", "");
	ledger_excuse_message(message);
	scene_arrive(message);
	assert_int_equal(unexcused(), 1);
}

/* --- whom a report names --- */

/* After SECONDS one that has STATUS for RECIPIENT. */
static struct ledger_sums report_late(const char *recipient, const char *status, int64_t seconds)
{
	uint64_t message = ledger_new();
	struct ledger_sums sums;
	char text[256];

	ledger_add(message, "refused1@hop.example");
	ledger_add(message, "user2@hop.example");
	ledger_promise(message);
	scene_pass(seconds);
	snprintf(text, sizeof text,
		 "To: you\n\nFinal-Recipient: rfc822; %s\nAction: failed\nStatus: %s\n\n"
		 "Status: 5.4.7\nX-World: %llu\n",
		 recipient, status, (unsigned long long)message);
	ledger_deliver(CLIENT_SENDER, text, strlen(text));
	ledger_sum(&sums);
	return sums;
}

static struct ledger_sums report(const char *recipient)
{
	return report_late(recipient, "5.1.1", 1);
}

static void a_report_is_for_those_whom_it_names(void **state)
{
	struct ledger_sums sums = report("refused1@hop.example");

	(void)state;
	assert_int_equal(sums.changed, 0);
	assert_int_equal(sums.lost, 1);
}

static void a_report_that_names_another_is_seen(void **state)
{
	(void)state;
	assert_int_equal(report("user2@hop.example").changed, 1); /* who gets it */
	assert_int_equal(report("user3@hop.example").changed, 2); /* a stranger */
}

/* Nobody is given up before his time, and then for no other reason. */
static void only_what_is_old_is_given_up(void **state)
{
	static const int64_t LIFETIME = 7 * 24 * 3600;

	(void)state;
	assert_int_equal(report_late("user2@hop.example", "5.4.7", LIFETIME).changed, 0);
	assert_int_equal(report_late("user2@hop.example", "5.4.7", LIFETIME - 1).changed, 1);
	assert_int_equal(report_late("user2@hop.example", "5.1.1", LIFETIME).changed, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(the_log_of_a_message_is_right),
		SCENE_TEST(two_ends_are_seen),
		SCENE_TEST(an_end_after_the_end_is_seen),
		SCENE_TEST(a_promise_that_the_log_does_not_know_is_seen),
		SCENE_TEST(a_delivery_that_nobody_got_is_seen),
		SCENE_TEST(what_a_list_has_sent_on_may_wait),
		SCENE_TEST(a_failure_without_a_report_is_seen),
		SCENE_TEST(a_failure_of_what_somebody_has_is_seen),
		SCENE_TEST(a_failure_that_is_reported_is_none),
		SCENE_TEST(an_end_without_a_word_is_seen),
		SCENE_TEST(a_process_that_dies_is_seen),
		SCENE_TEST(a_fault_between_answer_and_record_excuses),
		SCENE_TEST(a_fault_before_the_first_word_excuses),
		SCENE_TEST(a_fault_before_the_answer_excuses_nothing),
		SCENE_TEST(a_fault_after_the_record_excuses_nothing),
		SCENE_TEST(a_fault_before_a_record_excuses),
		SCENE_TEST(a_fault_after_a_record_excuses_nothing),
		SCENE_TEST(a_freeze_lasts_until_it_ends),
		SCENE_TEST(what_was_recorded_is_not_excused_with_its_message),
		SCENE_TEST(a_report_is_for_those_whom_it_names),
		SCENE_TEST(a_report_that_names_another_is_seen),
		SCENE_TEST(only_what_is_old_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
