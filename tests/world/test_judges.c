// SPDX-License-Identifier: ISC
/* Each judge of a world sees a fault that is planted before its eyes, and objects to nothing
 * else. */
#include "files.h"
#include "judge.h"
#include "states.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TRAILER "text\r\nenvelope\nend:\nat: 00000000000000000006\n"

static struct machine *node;

static int begin(void **state)
{
	(void)state;
	world_begin(1, NULL);
	judge_begin();
	node = machine_new("one", 0x0a000001);
	files_begin(node);
	return 0;
}

static int end(void **state)
{
	(void)state;
	states_end();
	world_end();
	return 0;
}

/* --- states --- */

static uint64_t queued; /* the number of the message */

static const char *path_of(const char *place)
{
	static char paths[4][128];
	static unsigned next;
	char *path = paths[next++ % 4];

	snprintf(path, sizeof paths[0], "/var/queue/%s/%llu/%llu", place,
		 (unsigned long long)(queued % STATES_SPLIT), (unsigned long long)queued);
	return path;
}

static void link_to(const char *from, const char *place)
{
	assert_int_equal(disk_link(node->disk, NULL, from, path_of(place)), 0);
}

static void unlink_at(const char *place)
{
	assert_int_equal(disk_unlink(node->disk, NULL, path_of(place)), 0);
}

/* A message at S4 with TEXT, durable when IS_DURABLE. */
static void queue_text(const char *text, bool is_durable)
{
	static const char *const places[] = {"todo/arrive", "intd",   "mess",  "info",
					     "local/box",   "remote", "bounce"};
	char folder[128];

	states_begin(node);
	files_put(node, "/var/queue/pid/spare", text);
	queued = files_inode(node, "/var/queue/pid/spare");
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
		snprintf(folder, sizeof folder, "%s/", path_of(places[i]));
		*strrchr(folder, '/') = '\0';
		strrchr(folder, '/')[1] = '\0';
		files_put(node, folder, "");
	}
	files_put(node, "/var/queue/control", "control");
	assert_int_equal(disk_rename(node->disk, NULL, "/var/queue/pid/spare",
				     path_of("todo/arrive"), false),
			 0);
	if (is_durable)
		assert_int_equal(disk_sync_all(node->disk), 0);
}

static void preprocess(void)
{
	link_to(path_of("todo/arrive"), "mess");
	link_to("/var/queue/control", "info");
	link_to("/var/queue/control", "remote");
	unlink_at("todo/arrive");
}

static void the_life_of_a_message_is_right(void **state)
{
	char id[32];

	(void)state;
	queue_text("X-World: 7\r\n" TRAILER, true);
	snprintf(id, sizeof id, "%llu-0", (unsigned long long)queued);
	states_promised(0x0a000001, id, 7);
	preprocess();
	unlink_at("remote");
	unlink_at("info");
	assert_int_equal(
		disk_rename(node->disk, NULL, path_of("mess"), "/var/queue/pid/spare", false), 0);
	states_look_at_end();
	assert_int_equal(judge_count_all(), 0);
}

static void a_name_that_goes_too_early_is_seen(void **state)
{
	(void)state;
	queue_text(TRAILER, true);
	preprocess();
	unlink_at("mess");
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

static void a_name_in_another_part_is_seen(void **state)
{
	(void)state;
	queue_text(TRAILER, true);
	files_put(node, "/var/queue/mess/99/", "");
	assert_int_equal(
		disk_link(node->disk, NULL, path_of("todo/arrive"), "/var/queue/mess/99/1"), 0);
	assert_true(judge_count(JUDGE_STATES) >= 2); /* its part, and its number */
}

static void a_message_without_its_envelope_is_seen(void **state)
{
	(void)state;
	queue_text("text\r\n", true);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

static void a_promise_that_is_not_durable_is_seen(void **state)
{
	char id[32];

	(void)state;
	queue_text("X-World: 7\r\n" TRAILER, false);
	snprintf(id, sizeof id, "%llu-0", (unsigned long long)queued);
	states_promised(0x0a000001, id, 8); /* another one has that number */
	assert_int_equal(judge_count(JUDGE_STATES), 0);
	states_promised(0x0a000001, id, 7);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

static void what_a_power_cut_tears_must_be_whole_at_the_end(void **state)
{
	(void)state;
	queue_text(TRAILER, true);
	disk_set_watch(node->disk, NULL); /* as if it came back so */
	unlink_at("todo/arrive");
	link_to("/var/queue/control", "info");
	states_end();
	states_begin(node);
	assert_int_equal(judge_count(JUDGE_STATES), 0);
	states_look_at_end();
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_life_of_a_message_is_right),
		TEST(a_name_that_goes_too_early_is_seen),
		TEST(a_name_in_another_part_is_seen),
		TEST(a_message_without_its_envelope_is_seen),
		TEST(a_promise_that_is_not_durable_is_seen),
		TEST(what_a_power_cut_tears_must_be_whole_at_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
