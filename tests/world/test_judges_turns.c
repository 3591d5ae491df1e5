// SPDX-License-Identifier: ISC
/* The judge of turns sees a fault that is planted before its eyes, and objects to nothing else. */
#include "accounts.h"
#include "files.h"
#include "judge.h"
#include "judge_scene.h"
#include "packet_scene.h"
#include "turns.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { RETRY = 1, NEW = 2, FIRST = 100 };

/* Nothing is known of more destinations in these scenes. */
enum { PASSED_MAX = 2 * TURNS_ROUNDS };

/* So many messages that have never been tried have a job each for DESTINATION. */
static void pass(unsigned count, const char *destination)
{
	static unsigned number = FIRST;

	for (; count > 0; count--) {
		packets_log(++number, "message_queued", "");
		packets_begin(number, destination);
		packets_finish("2.0.0");
	}
}

/* Message RETRY was deferred, and is due at minute 5 of the world; now it is that minute, and some
 * seconds. */
static void wait_for_retry(int64_t seconds)
{
	scene_pass(100);
	packets_log(RETRY, "message_queued", "");
	packets_begin(RETRY, "hop.example");
	packets_log(RETRY, "deferred",
		    " delivery=1 to=user1@hop.example by=remote status=4.2.0 "
		    "until=1970-01-01T00:05:00Z");
	packets_finish("2.0.0"); /* of another recipient there */
	scene_pass(200 + seconds);
}

static void seven_of_eight_turns_are_those_of_new_mail(void **state)
{
	(void)state;
	wait_for_retry(11);
	for (unsigned i = 0; i < 10; i++) {
		pass(7, "hop.example");
		packets_begin(RETRY, "hop.example");
		packets_log(RETRY, "deferred",
			    " delivery=1 to=user1@hop.example by=remote status=4.2.0 "
			    "until=1970-01-01T00:05:00Z");
		packets_finish("4.2.0");
		scene_pass(11);
	}
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void a_retry_that_has_no_turn_is_seen(void **state)
{
	(void)state;
	wait_for_retry(11);
	pass(TURNS_MAX - 1, "hop.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
	pass(1, "hop.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 1);
}

static void who_is_not_due_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_retry(9);
	pass(TURNS_MAX, "hop.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void a_message_with_another_job_does_not_wait(void **state)
{
	(void)state;
	wait_for_retry(11);
	packets_begin(RETRY, "slow.example");
	pass(TURNS_MAX, "hop.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void what_is_hindered_does_not_wait(void **state)
{
	(void)state;
	wait_for_retry(11);
	accounts_moved(scene_node);
	pass(TURNS_MAX, "hop.example");
	scene_pass(61);
	accounts_hold(scene_node, true);
	scene_pass(61);
	pass(TURNS_MAX, "hop.example");
	accounts_hold(scene_node, false);
	scene_pass(61);
	files_put(scene_node, "/var/queue/trigger/host.hop.example", "");
	pass(TURNS_MAX, "hop.example");
	scene_node->wall_offset_us += SCENE_SECOND;
	files_empty(scene_node, "/var/queue/trigger");
	pass(TURNS_MAX, "hop.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void what_may_wait_for_a_trigger_does_not_count(void **state)
{
	(void)state;
	wait_for_retry(11);
	packets_log(RETRY, "trigger_set", " trigger=host.hop.example");
	pass(TURNS_MAX, "hop.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* Message NEW, which nothing hinders, waits for hop.example, which has answered at once before. */
static void wait_for_first(int64_t seconds)
{
	scene_pass(100);
	pass(1, "hop.example");
	packets_log(NEW, "message_queued", "");
	packets_resolve(NEW, "user1@hop.example", "");
	scene_pass(seconds);
}

/* With a burst for far.example, too. */
static void each_destination_has_its_turn(void **state)
{
	(void)state;
	wait_for_first(11);
	for (unsigned i = 0; i < 10; i++) {
		pass(PASSED_MAX - 1, "far.example");
		pass(1, "hop.example");
	}
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void a_burst_that_has_all_turns_is_seen(void **state)
{
	(void)state;
	wait_for_first(11);
	pass(PASSED_MAX - 1, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
	pass(1, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 1);
}

static void who_has_had_a_turn_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(11);
	packets_begin(NEW, "hop.example");
	packets_finish("2.0.0");
	pass(PASSED_MAX, "far.example");
	packets_resolve(NEW, "user2@hop.example", ""); /* it is mapped again */
	scene_pass(11);
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void who_has_just_come_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(9);
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* Nor are services among the others. */
static void a_destination_that_has_a_job_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(11);
	pass(PASSED_MAX, "");
	pass(PASSED_MAX, "10.0.0.1:24");
	packets_log(FIRST, "message_queued", "");
	packets_begin(FIRST, "hop.example");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* The log says later which message that is. */
static void a_job_of_a_message_that_is_not_known_is_one(void **state)
{
	(void)state;
	wait_for_first(11);
	packets_begin(FIRST, "hop.example");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void a_destination_that_is_slow_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(11);
	packets_log(FIRST, "message_queued", "");
	packets_begin(FIRST, "hop.example");
	scene_pass(2);
	packets_finish("2.0.0");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* Its helper says so. */
static void a_destination_that_has_a_pause_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(11);
	packets_log(FIRST, "message_queued", "");
	packets_begin(FIRST, "hop.example");
	packets_be_busy(60000);
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
	scene_pass(61);
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 1);
}

static void who_is_hindered_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(11);
	packets_resolve(NEW, "user2@hop.example", "4.4.3");
	pass(PASSED_MAX, "far.example");
	packets_resolve(NEW, "user1@hop.example", "");
	packets_log(NEW, "trigger_released", " trigger=host.hop.example");
	scene_pass(11);
	pass(PASSED_MAX, "far.example");
	packets_resolve(NEW, "user1@hop.example", "");
	packets_log(NEW, "failed", " delivery=1 to=user1@hop.example by=remote status=5.4.7");
	scene_pass(11);
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* Nobody knows when they are mapped again. */
static void who_waited_before_a_delay_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(11);
	accounts_moved(scene_node);
	scene_pass(61);
	pass(1, "hop.example");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* Where jobs were when something delayed mail, as many may still be as there may be. */
static void what_was_in_flight_may_be_still(void **state)
{
	(void)state;
	scene_pass(100);
	packets_log(FIRST, "message_queued", "");
	packets_begin(FIRST, "hop.example");
	accounts_moved(scene_node);
	scene_pass(61);
	wait_for_first(11);
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
	scene_pass(600);
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 1);
}

/* Another message has its number now. */
static void who_is_gone_without_a_word_does_not_wait(void **state)
{
	(void)state;
	wait_for_first(11);
	scene_node->heard(scene_node, "time=- process=send[1] event=message_queued id=2-b");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(seven_of_eight_turns_are_those_of_new_mail),
		SCENE_TEST(a_retry_that_has_no_turn_is_seen),
		SCENE_TEST(who_is_not_due_is_not_passed_over),
		SCENE_TEST(a_message_with_another_job_does_not_wait),
		SCENE_TEST(what_is_hindered_does_not_wait),
		SCENE_TEST(what_may_wait_for_a_trigger_does_not_count),
		SCENE_TEST(each_destination_has_its_turn),
		SCENE_TEST(a_burst_that_has_all_turns_is_seen),
		SCENE_TEST(who_has_had_a_turn_is_not_passed_over),
		SCENE_TEST(who_has_just_come_is_not_passed_over),
		SCENE_TEST(a_destination_that_has_a_job_is_not_passed_over),
		SCENE_TEST(a_job_of_a_message_that_is_not_known_is_one),
		SCENE_TEST(a_destination_that_is_slow_is_not_passed_over),
		SCENE_TEST(a_destination_that_has_a_pause_is_not_passed_over),
		SCENE_TEST(who_is_hindered_is_not_passed_over),
		SCENE_TEST(who_waited_before_a_delay_is_not_passed_over),
		SCENE_TEST(what_was_in_flight_may_be_still),
		SCENE_TEST(who_is_gone_without_a_word_does_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
