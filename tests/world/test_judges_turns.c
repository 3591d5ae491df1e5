// SPDX-License-Identifier: ISC
/* The judge of turns sees a fault that is planted before its eyes, and objects to nothing else. */
#include "accounts.h"
#include "files.h"
#include "ipc/job.h"
#include "judge.h"
#include "judge_scene.h"
#include "turns.h"
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MANAGER = 1, HELPER = 2, RETRY = 1, FIRST = 100 };

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

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(seven_of_eight_turns_are_those_of_new_mail),
		SCENE_TEST(a_retry_that_has_no_turn_is_seen),
		SCENE_TEST(who_is_not_due_is_not_passed_over),
		SCENE_TEST(a_message_with_another_job_does_not_wait),
		SCENE_TEST(what_is_hindered_does_not_wait),
		SCENE_TEST(what_may_wait_for_a_trigger_does_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
