// SPDX-License-Identifier: ISC
/* The judge of turns sees a fault that is planted before its eyes, and objects to nothing else. */
#include "accounts.h"
#include "files.h"
#include "ipc/job.h"
#include "judge.h"
#include "judge_scene.h"
#include "queue/control/control.h"
#include "turns.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MANAGER = 1, HELPER = 2, RESOLVER = 3, RETRY = 1, NEW = 2, FIRST = 100 };

/* Nothing is known of more destinations in these scenes. */
enum { PASSED_MAX = 2 * TURNS_ROUNDS };

static uint32_t last_tag;

static void hear(unsigned number, const char *event, const char *rest)
{
	char line[256];

	snprintf(line, sizeof line, "time=- process=send[1] event=%s id=%u-a%s", event, number,
		 rest);
	scene_node->heard(scene_node, line);
}

static void say(const char *name, uint64_t from, uint64_t to, uint16_t type, uint32_t tag,
		const struct buffer *body)
{
	const struct world_program program = {name, scene_wait_for_ever, NULL};
	const struct process process = {.machine = scene_node, .program = &program};
	struct buffer packet CLEANUP(buffer_clear) = {0};

	pack_u32(&packet, IPC_VERSION | (uint32_t)type << 16);
	pack_u32(&packet, tag);
	buffer_append_str(&packet, buffer_view(body));
	scene_node->packet(&process, from, to, buffer_view(&packet).data,
			   buffer_view(&packet).length);
}

/* A helper gets message NUMBER for DESTINATION. */
static void begin(unsigned number, const char *destination)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, number);
	pack_u64(&body, 0xa);
	pack_str(&body, STR("sender@client.example"));
	pack_u64(&body, 0);       /* size */
	pack_u32(&body, 0);       /* needs */
	pack_u64(&body, 0);       /* deadline */
	pack_u32(&body, 0);       /* ret */
	pack_str(&body, STR("")); /* envid */
	pack_str(&body, str_from(destination));
	say("send", MANAGER, HELPER, IPC_JOB_START, ++last_tag, &body);
}

/* Message NUMBER goes to ADDRESS; or its recipient has STATUS. */
static void resolve(unsigned number, const char *address, const char *status)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, number);
	pack_u32(&body, 1); /* question */
	pack_u32(&body, 0); /* flags */
	pack_u64(&body, 0); /* version */
	pack_u32(&body, 1); /* count */
	pack_u32(&body, 1); /* recipient */
	pack_u32(&body, QUEUE_ROUTE_REMOTE);
	pack_str(&body, STR("")); /* service */
	pack_str(&body, STR("")); /* server */
	pack_str(&body, str_from(address));
	pack_str(&body, str_from(status));
	pack_str(&body, STR("")); /* text */
	say("resolve", RESOLVER, MANAGER, IPC_JOB_RESOLVED, 0, &body);
}

/* The helper has done the last job. */
static void finish(const char *status)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, 1);
	pack_u32(&body, 0);
	pack_str(&body, str_from(status));
	say("remote", HELPER, MANAGER, IPC_JOB_FINISH, last_tag, &body);
}

/* So many messages that have never been tried have a job each for DESTINATION. */
static void pass(unsigned count, const char *destination)
{
	static unsigned number = FIRST;

	for (; count > 0; count--) {
		hear(++number, "message_queued", "");
		begin(number, destination);
		finish("2.0.0");
	}
}

/* Message RETRY was deferred, and is due at minute 5 of the world; now it is that minute, and some
 * seconds. */
static void wait_for_retry(int64_t seconds)
{
	scene_pass(100);
	hear(RETRY, "message_queued", "");
	begin(RETRY, "hop.example");
	hear(RETRY, "deferred",
	     " delivery=1 to=user1@hop.example by=remote status=4.2.0 "
	     "until=1970-01-01T00:05:00Z");
	finish("2.0.0"); /* of another recipient there */
	scene_pass(200 + seconds);
}

static void seven_of_eight_turns_are_those_of_new_mail(void **state)
{
	(void)state;
	wait_for_retry(11);
	for (unsigned i = 0; i < 10; i++) {
		pass(7, "hop.example");
		begin(RETRY, "hop.example");
		hear(RETRY, "deferred",
		     " delivery=1 to=user1@hop.example by=remote status=4.2.0 "
		     "until=1970-01-01T00:05:00Z");
		finish("4.2.0");
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
	begin(RETRY, "slow.example");
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
	hear(RETRY, "trigger_set", " trigger=host.hop.example");
	pass(TURNS_MAX, "hop.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* Message NEW, which nothing hinders, waits for hop.example, which has answered at once before. */
static void wait_for_first(int64_t seconds)
{
	scene_pass(100);
	pass(1, "hop.example");
	hear(NEW, "message_queued", "");
	resolve(NEW, "user1@hop.example", "");
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
	begin(NEW, "hop.example");
	finish("2.0.0");
	pass(PASSED_MAX, "far.example");
	resolve(NEW, "user2@hop.example", ""); /* it is mapped again */
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
	hear(FIRST, "message_queued", "");
	begin(FIRST, "hop.example");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* The log says later which message that is. */
static void a_job_of_a_message_that_is_not_known_is_one(void **state)
{
	(void)state;
	wait_for_first(11);
	begin(FIRST, "hop.example");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

static void a_destination_that_is_slow_is_not_passed_over(void **state)
{
	(void)state;
	wait_for_first(11);
	hear(FIRST, "message_queued", "");
	begin(FIRST, "hop.example");
	scene_pass(2);
	finish("2.0.0");
	pass(PASSED_MAX, "far.example");
	assert_int_equal(judge_count(JUDGE_TURNS), 0);
}

/* Its helper says so. */
static void a_destination_that_has_a_pause_is_not_passed_over(void **state)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	(void)state;
	wait_for_first(11);
	hear(FIRST, "message_queued", "");
	begin(FIRST, "hop.example");
	pack_u32(&body, 60000); /* milliseconds */
	pack_u32(&body, 0);     /* flags */
	pack_str(&body, STR("throttled"));
	say("remote", HELPER, MANAGER, IPC_JOB_BUSY, last_tag, &body);
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
	resolve(NEW, "user2@hop.example", "4.4.3");
	pass(PASSED_MAX, "far.example");
	resolve(NEW, "user1@hop.example", "");
	hear(NEW, "trigger_released", " trigger=host.hop.example");
	scene_pass(11);
	pass(PASSED_MAX, "far.example");
	resolve(NEW, "user1@hop.example", "");
	hear(NEW, "failed", " delivery=1 to=user1@hop.example by=remote status=5.4.7");
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
	hear(FIRST, "message_queued", "");
	begin(FIRST, "hop.example");
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
