// SPDX-License-Identifier: ISC
/* The judges of what a disk has changed: they excuse that of its own message alone, demand that it
 * is told, and see a fault that is planted before their eyes. */
#include "accounts.h"
#include "damages.h"
#include "disk.h"
#include "judge.h"
#include "judge_scene.h"
#include "listings.h"
#include "mail.h"
#include "states.h"
#include "turns.h"
#include "waits.h"
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LOST " from=world@client.example to=user1@hop.example path=damaged/info_7_7"

static struct ledger_sums sums(void)
{
	struct ledger_sums all;

	ledger_sum(&all);
	return all;
}

/* The sender is told that message NUMBER failed, of which nothing but its birth is known if
 * HAS_TEXT is false. */
static void report(uint64_t number, bool has_text, const char *to)
{
	char text[512];
	int length = snprintf(text, sizeof text,
			      "Message-ID: <9.a.1234.bounce@mx.one.example>\n\n"
			      "Final-Recipient: rfc822; user1@hop.example\nStatus: 5.3.0\n\n");

	if (has_text)
		length += snprintf(text + length, sizeof text - (size_t)length, "X-World: %llu\n",
				   (unsigned long long)number);
	ledger_deliver(to, text, (size_t)length);
}

static void what_is_whole_and_called_damaged_is_seen(void **state)
{
	static const char *const events[] = {"data_damaged",    "records_damaged",
					     "message_damaged", "message_rebuilt",
					     "message_lost",    "message_litter"};
	uint64_t message = scene_accept();

	(void)state;
	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
		scene_say(events[i], "");
		assert_int_equal(judge_count(JUDGE_DAMAGE), i + 1);
	}
	damages_add(scene_node, 7, "7-a", message, DAMAGE_DATA);
	for (size_t i = 0; i < sizeof events / sizeof events[0]; i++)
		scene_say(events[i], "");
	assert_int_equal(judge_count(JUDGE_DAMAGE), sizeof events / sizeof events[0]);
	scene_node->heard(scene_node, "time=- event=message_damaged number=8 line=3");
	scene_node->heard(scene_node, "time=- event=message_damaged path=mess/3/26");
	assert_int_equal(judge_count(JUDGE_DAMAGE), sizeof events / sizeof events[0] + 2);
}

static void what_a_repair_says_is_judged_too(void **state)
{
	static const char whole[] =
		"{\"damage\":{\"path\":\"mess/8/8\",\"part\":\"data\"}}\n"
		"{\"set_aside\":\"info/8/8\",\"reason\":\"there is no message of that number\"}\n"
		"{\"lost\":8,\"path\":\"damaged/todo_arrive_8_8\"}\n"
		"{\"sum\":{\"renumbered\":0,\"set_aside\":2,\"damage\":1}}\n";
	uint64_t message = scene_accept();

	(void)state;
	damages_add(scene_node, 7, "7-a", message, DAMAGE_NAME);
	damages_hear_repair(scene_node, "{\"damage\":{\"path\":\"mess/7/7\",\"part\":\"data\"}}\n");
	assert_false(damages_excuse_loss(message));
	damages_hear_repair(scene_node, "{\"set_aside\":\"local/box/7/7\",\"reason\":\"\"}\n");
	assert_true(damages_excuse_loss(message));
	assert_int_equal(judge_count(JUDGE_DAMAGE), 0);
	damages_hear_repair(scene_node, whole);
	assert_int_equal(judge_count(JUDGE_DAMAGE), 3);
	scene_node->boots++; /* what a power cut brings back has no message either */
	damages_hear_repair(scene_node, whole);
	assert_int_equal(judge_count(JUDGE_DAMAGE), 5);
}

static void what_goes_silently_is_seen(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	damages_add(scene_node, 7, "7-a", message, DAMAGE_NAME);
	assert_int_equal(sums().lost, 1);
	assert_false(ledger_is_done());
	scene_say("data_damaged", ""); /* it is held, not gone */
	assert_int_equal(sums().lost, 1);
	scene_say("message_lost", LOST);
	assert_int_equal(sums().lost, 0);
	assert_true(ledger_is_done());
}

static void another_message_is_not_excused(void **state)
{
	uint64_t message = scene_accept();
	uint64_t other = scene_offer();

	(void)state;
	ledger_promise(other);
	damages_add(scene_node, 7, "7-a", message, DAMAGE_RECORDS);
	scene_say("message_lost", LOST);
	assert_int_equal(sums().lost, 1);
	report(other, true, CLIENT_SENDER);
	assert_int_equal(sums().changed, 1);
}

static void the_sender_is_told_once_the_log_is(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	damages_add(scene_node, 7, "7-a", message, DAMAGE_DATA);
	scene_say("data_damaged", "");
	report(message, true, CLIENT_SENDER);
	assert_int_equal(sums().changed, 0);
	assert_int_equal(sums().lost, 0);
}

static void a_report_without_a_word_in_the_log_is_seen(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	damages_add(scene_node, 7, "7-a", message, DAMAGE_DATA);
	report(message, true, CLIENT_SENDER);
	assert_int_equal(sums().changed, 1);
}

/* Of what stands for it there is only the birth; of a damaged report the postmaster hears. */
static void a_report_without_a_text_is_known_by_its_birth(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	report(message, false, CLIENT_SENDER);
	assert_int_equal(sums().changed, 1); /* of nobody's message */
	damages_add(scene_node, 7, "7-a", message, DAMAGE_NAME);
	scene_say("message_lost", LOST);
	report(message, false, CLIENT_SENDER);
	assert_int_equal(sums().changed, 1);
	assert_true(ledger_has(message, "user1@hop.example"));
	report(message, false, "postmaster@one.example");
	assert_int_equal(sums().changed, 1);
}

static void a_damaged_text_is_seen(void **state)
{
	uint64_t message = scene_accept();
	char *text;
	size_t size = ledger_text(message, &text);

	(void)state;
	damages_add(scene_node, 7, "7-a", message, DAMAGE_DATA | DAMAGE_RECORDS);
	scene_say("data_damaged", "");
	text[size - 8] ^= 1;
	ledger_deliver("user1@hop.example", text, size - 3);
	assert_int_equal(sums().changed, 1);
	free(text);
}

static void a_second_copy_needs_a_lost_record(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	scene_arrive(message);
	scene_arrive(message);
	damages_add(scene_node, 7, "7-a", message, DAMAGE_DATA);
	assert_int_equal(sums().unexcused, 1);
	damages_add(scene_node, 7, "7-a", message, DAMAGE_RECORDS);
	assert_int_equal(sums().unexcused, 0);
}

/* Those of the same birth are told apart by their numbers. */
static void damages_have_a_message_each(void **state)
{
	uint64_t all, told;

	(void)state;
	damages_add(scene_node, 7, "7-a", 1, DAMAGE_DATA);
	damages_add(scene_node, 8, "8-a", 2, DAMAGE_DATA);
	damages_add(scene_node, 8, "8-a", 2, DAMAGE_NAME);
	assert_int_equal(damages_of_id(scene_node, "7-a")->message, 1);
	assert_int_equal(damages_of_id(scene_node, "8-a")->message, 2);
	assert_null(damages_of_id(scene_node, "8-b"));
	assert_int_equal(damages_reported("Message-ID: <7.a.f.bounce@x>", false), 1);
	assert_int_equal(damages_reported("Message-ID: <9.a.f.bounce@x>", false), UINT64_MAX);
	assert_int_not_equal(damages_reported("Message-ID: <9.a.f.bounce@x>", true), UINT64_MAX);
	assert_int_equal(damages_reported("Message-ID: <7.b.f.bounce@x>", true), UINT64_MAX);
	scene_say("data_damaged", "");
	damages_count(&all, &told);
	assert_int_equal(all, 2);
	assert_int_equal(told, 1);
	scene_node->heard(scene_node, "time=- event=queue_cleaned path=mess/8/8");
	assert_false(damages_excuse_loss(2));
	scene_node->heard(scene_node, "time=- event=queue_cleaned path=todo/arrive/8/8");
	assert_true(damages_excuse_loss(2));
}

/* --- others are judged as ever --- */

static void wait_for_an_hour(bool is_damaged)
{
	uint64_t message = scene_accept();

	if (is_damaged)
		damages_add(scene_node, 7, "7-a", message, DAMAGE_NAME);
	for (unsigned minute = 0; minute < 60; minute++) {
		scene_pass(60);
		waiting_look();
	}
}

static void who_waits_is_excused_if_it_is_he(void **state)
{
	(void)state;
	wait_for_an_hour(true);
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
}

static void who_waits_and_is_whole_is_seen(void **state)
{
	(void)state;
	damages_add(scene_node, 8, "8-b", 1, DAMAGE_NAME);
	wait_for_an_hour(false);
	assert_true(judge_count(JUDGE_WAITING) > 0);
}

/* A name that is lost makes no state of the table; but only of its own message. */
static void states_are_watched_again_once_they_are_right(void **state)
{
	(void)state;
	scene_queue_text(SCENE_TRAILER, true);
	scene_preprocess();
	assert_int_equal(disk_sync_all(scene_node->disk), 0);
	states_damaged(scene_node, scene_queued);
	assert_int_equal(disk_rot_name(scene_node->disk, scene_path_of("info")), 0);
	assert_int_equal(judge_count(JUDGE_STATES), 0);
	scene_link_to(scene_path_of("remote"), "info");
	scene_unlink_at("info");
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(what_is_whole_and_called_damaged_is_seen),
		SCENE_TEST(what_a_repair_says_is_judged_too),
		SCENE_TEST(what_goes_silently_is_seen),
		SCENE_TEST(another_message_is_not_excused),
		SCENE_TEST(the_sender_is_told_once_the_log_is),
		SCENE_TEST(a_report_without_a_word_in_the_log_is_seen),
		SCENE_TEST(a_report_without_a_text_is_known_by_its_birth),
		SCENE_TEST(a_damaged_text_is_seen),
		SCENE_TEST(a_second_copy_needs_a_lost_record),
		SCENE_TEST(damages_have_a_message_each),
		SCENE_TEST(who_waits_is_excused_if_it_is_he),
		SCENE_TEST(who_waits_and_is_whole_is_seen),
		SCENE_TEST(states_are_watched_again_once_they_are_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
