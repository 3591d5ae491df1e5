// SPDX-License-Identifier: ISC
/* The judges of waiting and of attempts see a fault that is planted before their eyes, and object
 * to nothing else. */
#include "accounts.h"
#include "files.h"
#include "judge.h"
#include "judge_scene.h"
#include "packet_scene.h"
#include "waits.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MINUTE = 60, ONE = 1, OTHER = 2 };

static void begin_node(void)
{
	packets_hello(PACKETS_HELPER, "remote", "remote");
	packets_hello(PACKETS_RESOLVER, "resolve", "resolve");
	packets_hello(PACKETS_LOCAL, "box", "local");
}

/* Message NUMBER is there, and goes to ADDRESS. */
static void come(unsigned number, const char *address)
{
	packets_log(number, "message_queued", "");
	packets_ask(number);
	packets_resolve(number, address, "");
}

/* Nothing but that judge looks at the messages, which are in no queue. */
static uint64_t objections_after(int64_t minutes)
{
	for (; minutes > 0; minutes--) {
		scene_pass(MINUTE);
		waiting_look();
	}
	return judge_count(JUDGE_WAITING);
}

/* --- waiting --- */

static void what_is_not_mapped_is_seen(void **state)
{
	(void)state;
	begin_node();
	packets_log(ONE, "message_queued", "");
	assert_int_equal(objections_after(9), 0);
	packets_ask(ONE);
	assert_int_equal(objections_after(9), 0);
	files_put(scene_node, "/var/queue/trigger/directory", "");
	packets_ask(ONE);
	assert_int_equal(objections_after(30), 0);
	files_remove(scene_node, "/var/queue/trigger/directory");
	assert_int_equal(objections_after(9), 0);
	assert_int_equal(objections_after(3), 1);
}

static void a_message_that_is_not_tried_is_seen(void **state)
{
	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	assert_int_equal(objections_after(9), 0);
	packets_begin(ONE, "hop.example");
	packets_finish("4.2.0");
	packets_log(ONE, "deferred",
		    " delivery=1 to=user1@hop.example by=remote until=1970-01-01T00:30:00Z");
	assert_int_equal(objections_after(30), 0); /* due for nine minutes */
	assert_int_equal(objections_after(3), 1);
	packets_log(ONE, "delivered", " delivery=1 to=user1@hop.example by=remote");
	packets_log(ONE, "message_done", "");
	assert_int_equal(objections_after(30), 1);
}

/* Other mail for a host that is not there waits like that which has tried it. */
static void a_trigger_excuses_who_waits_for_it(void **state)
{
	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	packets_begin(ONE, "hop.example");
	packets_finish_until("4.4.1", "host.hop");
	files_put(scene_node, "/var/queue/trigger/host.hop", "");
	come(OTHER, "user1@hop.example");
	assert_int_equal(objections_after(30), 0);
	files_remove(scene_node, "/var/queue/trigger/host.hop");
	packets_log(0, "trigger_released", " trigger=host.hop");
	assert_int_equal(objections_after(9), 0);
	assert_int_equal(objections_after(3), 2);
}

static void a_trigger_excuses_nobody_else(void **state)
{
	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	packets_begin(ONE, "hop.example");
	packets_finish_until("4.4.1", "host.hop");
	files_put(scene_node, "/var/queue/trigger/host.hop", "");
	come(OTHER, "user1@far.example");
	assert_int_equal(objections_after(12), 1);
}

/* Of who waits for a host one tries it, again and again. */
static void a_host_that_nobody_tries_is_seen(void **state)
{
	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	files_put(scene_node, "/var/queue/trigger/host.hop", "");
	for (unsigned i = 0; i < 3; i++) {
		packets_begin(ONE, "hop.example");
		packets_finish_until("4.4.1", "host.hop");
		assert_int_equal(objections_after(35), 0);
	}
	assert_int_equal(objections_after(10), 1);
}

static void a_hold_excuses_its_message(void **state)
{
	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	come(OTHER, "user1@hop.example");
	files_put(scene_node, "/var/queue/trigger/hold.1-a", "");
	assert_int_equal(objections_after(12), 1);
	files_remove(scene_node, "/var/queue/trigger/hold.1-a");
	assert_int_equal(objections_after(8), 1);
	packets_begin(OTHER, "hop.example");
	assert_int_equal(objections_after(4), 2);
}

/* So is a start, and a signal. */
static void a_reload_excuses_nothing(void **state)
{
	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	for (unsigned i = 0; i < 3; i++) {
		accounts_moved(scene_node);
		(void)objections_after(4);
	}
	assert_int_equal(judge_count(JUDGE_WAITING), 1);
}

static void who_stands_still_delays_what_needs_him(void **state)
{
	static const struct world_program program = {"remote", scene_wait_for_ever, NULL};
	static const char *const arguments[] = {"remote", NULL};
	struct process *process = process_new(scene_node, NULL, &program, arguments, NULL);

	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	packets_log(OTHER, "message_queued", "");
	packets_ask(OTHER);
	packets_resolve_to_service(OTHER, "box");
	process_freeze(process, true);
	assert_int_equal(objections_after(12), 1); /* what is for the box */
	waits_thawed(process);
	process_freeze(process, false);
	packets_begin_at(PACKETS_LOCAL, OTHER, "");
	assert_int_equal(objections_after(9), 1);
	packets_begin_at(PACKETS_LOCAL, OTHER, "");
	assert_int_equal(objections_after(3), 2);
}

/* A power cut has taken what was known of it: it is mapped, and delivered, again. */
static void what_is_delivered_again_waits_for_nothing(void **state)
{
	(void)state;
	begin_node();
	packets_log(ONE, "message_queued", "");
	for (unsigned i = 0; i < 2; i++) {
		packets_ask(ONE);
		packets_resolve_to_service(ONE, "box");
		packets_resolve(ONE, "user1@hop.example", "");
		packets_begin_at(PACKETS_LOCAL, ONE, "");
		packets_finish("2.0.0");
		packets_log(ONE, "delivered", " delivery=2 to=user1@one.example by=box");
	}
	packets_begin(ONE, "hop.example");
	packets_finish("4.2.0");
	packets_log(ONE, "deferred",
		    " delivery=1 to=user1@hop.example by=remote until=1970-01-01T00:30:00Z");
	assert_int_equal(objections_after(30), 0);
}

static void a_pause_delays_what_is_for_its_host(void **state)
{
	(void)state;
	begin_node();
	come(ONE, "user1@hop.example");
	come(OTHER, "user1@far.example");
	packets_begin(ONE, "hop.example");
	packets_be_busy(20 * MINUTE * 1000);
	assert_int_equal(objections_after(12), 1); /* the other one */
	packets_begin(OTHER, "far.example");
	packets_finish("2.0.0");
	packets_log(OTHER, "delivered", " delivery=1 to=user1@far.example by=remote");
	packets_log(OTHER, "message_done", "");
	assert_int_equal(objections_after(16), 1);
	assert_int_equal(objections_after(6), 2);
}

/* --- attempts --- */

/* A message was deferred at an age of a minute: at PLACE, and because of TRIGGER. */
static void defer(uint64_t helper, const char *destination, const char *trigger)
{
	begin_node();
	come(ONE, "user1@hop.example");
	scene_pass(MINUTE);
	packets_begin_at(helper, ONE, destination);
	packets_finish_until("4.2.0", trigger);
}

static uint64_t objections_when_tried(uint64_t helper, const char *destination)
{
	packets_begin_at(helper, ONE, destination);
	return judge_count(JUDGE_ATTEMPTS);
}

/* At an age of 60 s: 710 s, less a tenth and an eighth. */
static void an_attempt_that_is_early_is_seen(void **state)
{
	(void)state;
	defer(PACKETS_HELPER, "hop.example", "");
	scene_pass(540);
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 1);
}

static void an_attempt_in_time_is_none(void **state)
{
	(void)state;
	defer(PACKETS_HELPER, "hop.example", "");
	scene_pass(560);
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 0);
}

/* 255 s, likewise. */
static void mailboxes_are_tried_more_often(void **state)
{
	(void)state;
	defer(PACKETS_LOCAL, "", "");
	scene_pass(205);
	assert_int_equal(objections_when_tried(PACKETS_LOCAL, ""), 0);
	packets_finish("4.2.0");
	scene_pass(100);
	assert_int_equal(objections_when_tried(PACKETS_LOCAL, ""), 1);
}

static void what_a_trigger_releases_is_not_early(void **state)
{
	(void)state;
	defer(PACKETS_HELPER, "hop.example", "host.hop");
	scene_pass(30);
	packets_log(0, "trigger_released", " trigger=host.hop");
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 0);
	packets_finish("4.2.0"); /* it has answered */
	scene_pass(30);
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 1);
}

static void an_order_excuses_one_attempt(void **state)
{
	(void)state;
	defer(PACKETS_HELPER, "hop.example", "");
	scene_pass(30);
	waits_order(scene_node, true);
	scene_pass(1);
	waits_order(scene_node, false);
	scene_pass(10);
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 0);
	packets_finish("4.2.0");
	scene_pass(30);
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 1);
}

/* A kill before its record is written; later ones excuse nothing. */
static void a_kill_excuses_what_is_not_recorded(void **state)
{
	(void)state;
	defer(PACKETS_HELPER, "hop.example", "");
	scene_pass(1);
	accounts_hurt(scene_node);
	scene_pass(10);
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 0);
	packets_finish("4.2.0");
	scene_pass(20);
	accounts_hurt(scene_node);
	assert_int_equal(objections_when_tried(PACKETS_HELPER, "hop.example"), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(what_is_not_mapped_is_seen),
		SCENE_TEST(a_message_that_is_not_tried_is_seen),
		SCENE_TEST(a_trigger_excuses_who_waits_for_it),
		SCENE_TEST(a_trigger_excuses_nobody_else),
		SCENE_TEST(a_host_that_nobody_tries_is_seen),
		SCENE_TEST(a_hold_excuses_its_message),
		SCENE_TEST(a_reload_excuses_nothing),
		SCENE_TEST(who_stands_still_delays_what_needs_him),
		SCENE_TEST(what_is_delivered_again_waits_for_nothing),
		SCENE_TEST(a_pause_delays_what_is_for_its_host),
		SCENE_TEST(an_attempt_that_is_early_is_seen),
		SCENE_TEST(an_attempt_in_time_is_none),
		SCENE_TEST(mailboxes_are_tried_more_often),
		SCENE_TEST(what_a_trigger_releases_is_not_early),
		SCENE_TEST(an_order_excuses_one_attempt),
		SCENE_TEST(a_kill_excuses_what_is_not_recorded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
