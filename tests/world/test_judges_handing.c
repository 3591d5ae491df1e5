// SPDX-License-Identifier: ISC
/* The judges of mail that a node hands over to another one: it comes once, whatever befalls the
 * node, but for what the log says of doubt; it is not forgotten while it waits; and it keeps its
 * origin. */
#include "accounts.h"
#include "base/buffer.h"
#include "files.h"
#include "ipc/job.h"
#include "ipc/pack.h"
#include "judge.h"
#include "judge_scene.h"
#include "kernel.h"
#include "mail.h"
#include "origins.h"
#include "packet_scene.h"
#include "waits.h"
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { HELPER = 77, MINUTE = 60 };

#define TRIGGER "/var/queue/trigger/nodes.core"

static int begin(void **state)
{
	accounts_hand_over(true);
	return scene_begin(state);
}

static int end(void **state)
{
	accounts_hand_over(false);
	origins_begin();
	return scene_end(state);
}

/* --- a second copy --- */

static void say_handed(void)
{
	scene_say("delivered", " delivery=1 to=user1@hop.example by=remote status=2.0.0 "
			       "text=\"node mx.two.example has it\"");
	scene_say("message_done", "");
}

static void doubt(unsigned seconds)
{
	char line[128];

	snprintf(line, sizeof line,
		 "time=- process=handover[1] event=node_doubt node=mx.two.example seconds=%u",
		 seconds);
	scene_node->heard(scene_node, line);
}

static uint64_t unexcused_of(uint64_t message)
{
	struct ledger_sums sums;

	scene_arrive(message);
	scene_arrive(message);
	scene_pass(2 * MINUTE);
	accounts_close();
	ledger_sum(&sums);
	return sums.unexcused;
}

static void no_fault_excuses_what_was_handed_over(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	accounts_hurt(scene_node);
	say_handed();
	accounts_hurt(scene_node);
	assert_int_equal(unexcused_of(message), 1);
}

static void a_doubt_does(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	scene_pass(MINUTE + 1);
	doubt(MINUTE);
	say_handed();
	assert_int_equal(unexcused_of(message), 0);
}

static void a_doubt_about_older_mail_does_not(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	scene_pass(MINUTE / 2);
	doubt(MINUTE);
	say_handed();
	assert_int_equal(unexcused_of(message), 1);
}

static void a_fault_excuses_what_was_tried_here_before(void **state)
{
	uint64_t message = scene_accept();

	(void)state;
	packets_begin_at(HELPER, 7, "hop.example");
	accounts_hurt(scene_node);
	say_handed();
	assert_int_equal(unexcused_of(message), 0);
}

/* A message that comes back may have its old number, and so its old id. */
static void what_comes_back_is_another_message_of_its_node(void **state)
{
	(void)state;
	(void)scene_accept();
	say_handed();
	scene_say("message_queued", "");
	say_handed();
	assert_int_equal(judge_count(JUDGE_LOG), 0);
	say_handed();
	assert_int_not_equal(judge_count(JUDGE_LOG), 0);
}

/* --- waiting --- */

static void hand_over(const char *text)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u64(&body, 7);
	pack_u64(&body, 0xa);
	pack_u64(&body, 0); /* size */
	pack_u32(&body, 0); /* flags */
	pack_str(&body, STR("core"));
	pack_str(&body, STR("7-a"));
	pack_str(&body, str_from(text));
	pack_u32(&body, 1); /* deliveries */
	pack_u32(&body, 1); /* number */
	packets_say("send", PACKETS_MANAGER, HELPER, IPC_JOB_HAND, 1, &body);
}

static void finish_until(const char *status, const char *trigger)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, 1); /* delivery */
	pack_u32(&body, 0); /* flags */
	pack_str(&body, str_from(status));
	pack_str(&body, STR("text"));
	pack_str(&body, str_from(trigger));
	packets_say("handover", HELPER, PACKETS_MANAGER, IPC_JOB_FINISH, 1, &body);
}

static uint64_t objections_after(unsigned minutes)
{
	for (unsigned i = 0; i < minutes; i++) {
		scene_pass(MINUTE);
		waiting_look();
	}
	return judge_count(JUDGE_WAITING);
}

static void what_waits_for_nodes_is_not_forgotten(void **state)
{
	(void)state;
	(void)scene_accept();
	waiting_look();
	hand_over("stagepost 2\nstage: arrive\nend:\n");
	files_put(scene_node, TRIGGER, "");
	finish_until("4.4.1", "nodes.core");
	assert_int_equal(objections_after(30), 0);
	files_remove(scene_node, TRIGGER);
	assert_int_equal(objections_after(9), 0);
	assert_int_equal(objections_after(3), 1);
}

static void each_place_of_a_package_is_tried_with_it(void **state)
{
	(void)state;
	(void)scene_accept();
	packets_resolve(7, "user1@hop.example", "");
	waiting_look();
	assert_int_equal(objections_after(8), 0);
	hand_over("stagepost 2\nend:\nmap: 1 remote 1 <user1@hop.example>\n");
	assert_int_equal(objections_after(8), 0);
	assert_int_equal(objections_after(4), 1);
}

/* --- origins --- */

static struct machine *other;

static void meet_other(const char *text)
{
	other = machine_new("two", 0x0a000004);
	files_begin(other);
	origins_begin();
	origins_add(scene_node, "mx.one.example");
	origins_add(other, "mx.two.example");
	/* whatever number the file has, the package is named after 0, whose part is 0 */
	files_put(other, "/var/queue/mess/0/0", text);
}

static uint64_t objections_to(const char *text)
{
	files_put(scene_node, "/var/queue/todo/arrive/1/1", text);
	origins_check(scene_node, "/var/queue/todo/arrive/1/1");
	files_remove(scene_node, "/var/queue/todo/arrive/1/1");
	return judge_count(JUDGE_STATES);
}

static void an_origin_is_the_first_node(void **state)
{
	(void)state;
	meet_other("text\r\nid: 0-a\nend:\n");
	assert_int_equal(objections_to("text\r\nhanded: mx.two.example/0-a.3\n"
				       "origin: mx.two.example/0-a\nend:\n"),
			 0);
	assert_int_equal(origins_checked(), 1);
	assert_int_equal(objections_to("text\r\nhanded: mx.two.example/0-a.3\n"
				       "origin: mx.three.example/9-a\nend:\n"),
			 1);
}

static void an_origin_is_kept(void **state)
{
	(void)state;
	meet_other(
		"text\r\nid: 0-a\nhanded: mx.six.example/9-a\norigin: mx.six.example/9-a\nend:\n");
	assert_int_equal(objections_to("text\r\nhanded: mx.two.example/0-a\n"
				       "origin: mx.six.example/9-a\nend:\n"),
			 0);
	assert_int_equal(objections_to("text\r\nhanded: mx.two.example/0-a\n"
				       "origin: mx.two.example/0-a\nend:\n"),
			 1);
}

#define HANDING_TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		HANDING_TEST(no_fault_excuses_what_was_handed_over),
		HANDING_TEST(a_doubt_does),
		HANDING_TEST(a_doubt_about_older_mail_does_not),
		HANDING_TEST(a_fault_excuses_what_was_tried_here_before),
		HANDING_TEST(what_comes_back_is_another_message_of_its_node),
		HANDING_TEST(what_waits_for_nodes_is_not_forgotten),
		HANDING_TEST(each_place_of_a_package_is_tried_with_it),
		HANDING_TEST(an_origin_is_the_first_node),
		HANDING_TEST(an_origin_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
