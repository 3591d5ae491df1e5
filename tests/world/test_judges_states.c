// SPDX-License-Identifier: ISC
/* The judge of a queue's files sees a fault that is planted before its eyes, and objects to nothing
 * else. */
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

/* --- states --- */

static void the_life_of_a_message_is_right(void **state)
{
	char id[32];

	(void)state;
	scene_queue_text("From: a\r\nX-World: 7\r\n" SCENE_TRAILER, true);
	snprintf(id, sizeof id, "%llu-0", (unsigned long long)scene_queued);
	states_promised(0x0a000001, id, 7);
	scene_preprocess();
	scene_unlink_at("remote");
	scene_unlink_at("info");
	assert_int_equal(disk_rename(scene_node->disk, NULL, scene_path_of("mess"),
				     "/var/queue/pid/spare", false),
			 0);
	states_look_at_end();
	assert_int_equal(judge_count_all(), 0);
}

static void a_name_that_goes_too_early_is_seen(void **state)
{
	(void)state;
	scene_queue_text(SCENE_TRAILER, true);
	scene_preprocess();
	scene_unlink_at("mess");
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

static void a_name_in_another_part_is_seen(void **state)
{
	(void)state;
	scene_queue_text(SCENE_TRAILER, true);
	files_put(scene_node, "/var/queue/mess/99/", "");
	assert_int_equal(disk_link(scene_node->disk, NULL, scene_path_of("todo/arrive"),
				   "/var/queue/mess/99/1"),
			 0);
	assert_true(judge_count(JUDGE_STATES) >= 2); /* its part, and its number */
}

static void a_message_without_its_envelope_is_seen(void **state)
{
	(void)state;
	scene_queue_text("text\r\n", true);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

static void a_promise_that_is_not_durable_is_seen(void **state)
{
	char id[32];

	(void)state;
	scene_queue_text("From: a\r\nX-World: 7\r\n" SCENE_TRAILER, false);
	snprintf(id, sizeof id, "%llu-0", (unsigned long long)scene_queued);
	states_promised(0x0a000001, id, 8); /* another one has that number */
	assert_int_equal(judge_count(JUDGE_STATES), 0);
	states_promised(0x0a000001, id, 7);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

static void what_a_power_cut_tears_must_be_whole_at_the_end(void **state)
{
	(void)state;
	scene_queue_text(SCENE_TRAILER, true);
	disk_set_watch(scene_node->disk, NULL); /* as if it came back so */
	scene_unlink_at("todo/arrive");
	scene_link_to("/var/queue/control", "info");
	states_end();
	states_begin(scene_node);
	assert_int_equal(judge_count(JUDGE_STATES), 0);
	states_look_at_end();
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

static void a_failure_that_bounce_has_lost_is_seen(void **state)
{
	static const char torn[] = "fail: 3 \0\0\0\nfail: 1 x\n";
	struct disk_file *file;
	char line[128];

	(void)state;
	scene_queue_text(SCENE_TRAILER, true);
	snprintf(line, sizeof line, "time=- event=message_queued id=%llu-a",
		 (unsigned long long)scene_queued);
	scene_pass(1);
	scene_node->heard(scene_node, line);
	files_put(scene_node, scene_path_of("info"), "end:\nmapped: count=2\nfail: 1 x\n");
	files_put(scene_node, scene_path_of("bounce"), "");
	assert_int_equal(
		disk_open(scene_node->disk, NULL, scene_path_of("bounce"), OS_FILE_WRITE, &file),
		0);
	assert_int_equal(disk_write(file, torn, sizeof torn - 1, 0), 0);
	disk_close(file);
	states_check_failures(scene_node, scene_queued);
	assert_int_equal(judge_count_all(), 0);
	scene_unlink_at("bounce");
	files_put(scene_node, scene_path_of("bounce"), "fail: 2 x\n");
	states_check_failures(scene_node, scene_queued);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
	scene_unlink_at("info"); /* none is open: it may have been reported */
	files_put(scene_node, scene_path_of("info"), "end:\nmapped: count=1\nfail: 1 x\n");
	states_check_failures(scene_node, scene_queued);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(the_life_of_a_message_is_right),
		SCENE_TEST(a_name_that_goes_too_early_is_seen),
		SCENE_TEST(a_name_in_another_part_is_seen),
		SCENE_TEST(a_message_without_its_envelope_is_seen),
		SCENE_TEST(a_promise_that_is_not_durable_is_seen),
		SCENE_TEST(what_a_power_cut_tears_must_be_whole_at_the_end),
		SCENE_TEST(a_failure_that_bounce_has_lost_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
