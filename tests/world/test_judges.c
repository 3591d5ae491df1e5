// SPDX-License-Identifier: ISC
/* The judges of waiting, growth and commands see a fault that is planted before its eyes, and
 * objects to nothing else. */
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

/* --- waiting --- */

static void a_client_that_waits_is_seen(void **state)
{
	(void)state;
	scene_pass(20 * 60);
	waiting_check_client(scene_node->address, kernel_now_us() - 5 * 60 * SCENE_SECOND,
			     "a reply");
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
	waiting_check_client(scene_node->address, kernel_now_us() - 11 * 60 * SCENE_SECOND,
			     "a reply");
	assert_int_equal(judge_count(JUDGE_WAITING), 1);
}

/* --- growth --- */

static void memory_that_grows_is_seen(void **state)
{
	static const struct world_program program = {"leak", scene_wait_for_ever, NULL};
	static const char *const arguments[] = {"leak", NULL};

	(void)state;
	process_new(scene_node, NULL, &program, arguments, NULL);
	scene_pass(61);
	growth_note(scene_node);
	scene_pass(61);
	growth_compare(scene_node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 0);
	scene_pass(61 * 3);
	growth_compare(scene_node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 0); /* that may be a cache */
	scene_pass(61);
	growth_compare(scene_node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 1);
	growth_end();
}

static void files_that_grow_are_seen(void **state)
{
	char *text = calloc(1, GROWTH_CONTROL + 2);

	(void)state;
	memset(text, 'a', GROWTH_CONTROL);
	files_put(scene_node, "/var/queue/info/3/26", text);
	files_put(scene_node, "/var/queue/pid/a", "");
	growth_look_at_controls(scene_node);
	growth_look_at_end(scene_node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 0);
	text[GROWTH_CONTROL] = 'a';
	files_put(scene_node, "/var/queue/info/3/49", text);
	files_put(scene_node, "/var/queue/trigger/host.a", "");
	growth_look_at_controls(scene_node);
	growth_look_at_end(scene_node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 2);
	ledger_excuse();
	files_put(scene_node, "/var/queue/trigger/hold.5-a", "");
	growth_look_at_end(scene_node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 3);
	free(text);
}

/* --- commands --- */

static void list(const char *id, const char *address, const char *before)
{
	char listing[256];

	snprintf(listing, sizeof listing, "{\"id\":\"%s\",\"address\":\"%s\"}\n", id, address);
	listing_check(scene_node, listing, before, strlen(before) + (*before != '\0'),
		      kernel_now_us());
}

static void a_listing_that_is_wrong_is_seen(void **state)
{
	char number[32];

	(void)state;
	scene_arrive(scene_accept());
	list("7-a", "user1@hop.example", "");
	assert_int_equal(judge_count(JUDGE_COMMANDS), 0);
	list("7-a", "user2@hop.example", "");
	assert_int_equal(judge_count(JUDGE_COMMANDS), 1);
	scene_say_delivered();
	scene_say("message_done", "");
	scene_pass(1);
	list("7-a", "user1@hop.example", "");
	assert_int_equal(judge_count(JUDGE_COMMANDS), 2);
	scene_queue_text(SCENE_TRAILER, true);
	scene_preprocess();
	snprintf(number, sizeof number, "%llu", (unsigned long long)scene_queued);
	list("8-a", "", number);
	assert_int_equal(judge_count(JUDGE_COMMANDS), 3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		SCENE_TEST(memory_that_grows_is_seen),
		SCENE_TEST(files_that_grow_are_seen),
		SCENE_TEST(a_listing_that_is_wrong_is_seen),
		SCENE_TEST(a_client_that_waits_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
