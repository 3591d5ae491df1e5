// SPDX-License-Identifier: ISC
/* Each judge of a world sees a fault that is planted before its eyes, and objects to nothing
 * else. */
#include "accounts.h"
#include "files.h"
#include "growth.h"
#include "judge.h"
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

#define TRAILER "text\r\nenvelope\nend:\nat: 00000000000000000006\n"

static struct machine *node;

static int begin(void **state)
{
	(void)state;
	world_begin(1, NULL);
	judge_begin();
	ledger_begin();
	node = machine_new("one", 0x0a000001);
	files_begin(node);
	accounts_watch(node);
	return 0;
}

static int end(void **state)
{
	(void)state;
	states_end();
	accounts_end();
	ledger_end();
	world_end();
	return 0;
}

static void nothing(void *context)
{
	(void)context;
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
	queue_text("From: a\r\nX-World: 7\r\n" TRAILER, true);
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
	queue_text("From: a\r\nX-World: 7\r\n" TRAILER, false);
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

static void a_failure_that_bounce_has_lost_is_seen(void **state)
{
	static const char torn[] = "fail: 3 \0\0\0\nfail: 1 x\n";
	struct disk_file *file;
	char line[128];

	(void)state;
	queue_text(TRAILER, true);
	snprintf(line, sizeof line, "time=- event=message_queued id=%llu-a",
		 (unsigned long long)queued);
	kernel_at(kernel_now_us() + 1000000, nothing, NULL);
	world_run(kernel_now_us() + 1000000);
	node->heard(node, line);
	files_put(node, path_of("info"), "end:\nmapped: count=2\nfail: 1 x\n");
	files_put(node, path_of("bounce"), "");
	assert_int_equal(disk_open(node->disk, NULL, path_of("bounce"), OS_FILE_WRITE, &file), 0);
	assert_int_equal(disk_write(file, torn, sizeof torn - 1, 0), 0);
	disk_close(file);
	states_check_failures(node, queued);
	assert_int_equal(judge_count_all(), 0);
	unlink_at("bounce");
	files_put(node, path_of("bounce"), "fail: 2 x\n");
	states_check_failures(node, queued);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
	unlink_at("info"); /* none is open: it may have been reported */
	files_put(node, path_of("info"), "end:\nmapped: count=1\nfail: 1 x\n");
	states_check_failures(node, queued);
	assert_int_equal(judge_count(JUDGE_STATES), 1);
}

/* --- the log --- */

static const int64_t SECOND = 1000000;

static void pass(int64_t seconds)
{
	kernel_at(kernel_now_us() + seconds * SECOND, nothing, NULL);
	world_run(kernel_now_us() + seconds * SECOND);
}

/* The node says that EVENT came for message 7-a, with REST. */
static void say(const char *event, const char *rest)
{
	char line[256];

	snprintf(line, sizeof line, "time=- process=send[1] event=%s id=7-a%s", event, rest);
	node->heard(node, line);
}

static void say_delivered(void)
{
	say("delivered", " delivery=1 to=user1@hop.example by=remote status=2.0.0");
}

static uint64_t offer(void)
{
	uint64_t message = ledger_new();

	ledger_add(message, "user1@hop.example");
	return message;
}

/* A message of the ledger, which the node has promised and accepted: its number. */
static uint64_t accept(void)
{
	uint64_t message = offer();

	pass(1);
	say("message_queued", "");
	say("message_accepted", "");
	ledger_promise(message);
	accounts_promised(node->address, "7-a", message);
	return message;
}

static void arrive(uint64_t message)
{
	char *text;
	size_t size = ledger_text(message, &text);

	ledger_deliver("user1@hop.example", text, size - 3);
	free(text);
}

static uint64_t objections_after_a_while(void)
{
	pass(61);
	accounts_close();
	return judge_count(JUDGE_LOG);
}

static void the_log_of_a_message_is_right(void **state)
{
	(void)state;
	arrive(accept());
	say("deferred", " delivery=1 until=2026-01-01T00:00:00Z");
	say_delivered();
	say("message_done", "");
	assert_int_equal(objections_after_a_while(), 0);
	assert_null(accounts_of(node)->first_open);
}

static void two_ends_are_seen(void **state)
{
	(void)state;
	arrive(accept());
	say_delivered();
	say_delivered();
	say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void an_end_after_the_end_is_seen(void **state)
{
	(void)state;
	arrive(accept());
	say_delivered();
	say("message_done", "");
	say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void a_promise_that_the_log_does_not_know_is_seen(void **state)
{
	uint64_t message = offer();

	(void)state;
	say("message_queued", "");
	accounts_promised(node->address, "7-a", message);
	arrive(message);
	say_delivered();
	say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void a_delivery_that_nobody_got_is_seen(void **state)
{
	(void)state;
	accept();
	say_delivered();
	say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void a_failure_without_a_report_is_seen(void **state)
{
	(void)state;
	accept();
	say("failed", " delivery=1 status=5.1.1");
	say("message_done", "");
	assert_int_equal(objections_after_a_while(), 1);
}

static void an_end_without_a_word_is_seen(void **state)
{
	(void)state;
	accept();
	assert_true(objections_after_a_while() > 0);
}

static void a_process_that_dies_is_seen(void **state)
{
	(void)state;
	node->heard(node, "time=- event=process_ended program=send status=\"signal 9\"");
	assert_int_equal(judge_count(JUDGE_LOG), 0);
	node->heard(node, "time=- event=process_ended program=send status=\"signal 11\"");
	assert_int_equal(judge_count(JUDGE_LOG), 1);
}

/* --- excuses --- */

static uint64_t unexcused(void)
{
	struct ledger_sums sums;

	pass(200);
	accounts_close();
	ledger_sum(&sums);
	assert_int_equal(sums.twice, 1);
	return sums.unexcused;
}

static void a_fault_between_answer_and_record_excuses(void **state)
{
	uint64_t message = accept();

	(void)state;
	pass(1);
	arrive(message);
	pass(5);
	accounts_hurt(node);
	pass(5);
	arrive(message);
	say_delivered();
	say("message_done", "");
	assert_int_equal(unexcused(), 0);
}

/* The power was cut when the message was queued, and before a word of that: the node that gave it
 * has not heard so, either, and gives it again. */
static void a_fault_before_the_first_word_excuses(void **state)
{
	uint64_t message = offer();

	(void)state;
	pass(1);
	accounts_hurt(node);
	pass(10);
	say("message_found", "");
	ledger_promise(message);
	accounts_promised(node->address, "7-a", message);
	arrive(message);
	pass(5);
	arrive(message);
	say("delivered", " delivery=1 to=user1@hop.example by=maildir status=2.0.0");
	say("message_done", "");
	assert_int_equal(unexcused(), 0);
}

static void a_fault_before_the_answer_excuses_nothing(void **state)
{
	uint64_t message = accept();

	(void)state;
	accounts_hurt(node);
	pass(5);
	arrive(message);
	pass(5);
	arrive(message);
	say_delivered();
	say("message_done", "");
	assert_int_equal(unexcused(), 1);
}

static void a_fault_after_the_record_excuses_nothing(void **state)
{
	uint64_t message = accept();

	(void)state;
	pass(1);
	arrive(message);
	say_delivered();
	say("message_done", "");
	pass(5);
	accounts_hurt(node);
	pass(5);
	arrive(message);
	assert_int_equal(unexcused(), 1);
}

/* One recipient waits still when the power fails: what became of the other is on the disk, once it
 * may be. */
static uint64_t unexcused_after(int64_t seconds, struct process *frozen)
{
	uint64_t message = accept();

	ledger_add(message, "user2@hop.example");
	if (frozen != NULL)
		process_freeze(frozen, true);
	pass(1);
	arrive(message);
	say_delivered();
	pass(seconds);
	accounts_hurt(node);
	if (frozen != NULL)
		process_freeze(frozen, false);
	pass(20);
	arrive(message);
	say_delivered();
	say("delivered", " delivery=2 to=user2@hop.example by=remote status=2.0.0");
	say("message_done", "");
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

static int wait_for_ever(int argc, char **argv);

/* What was to record it stood still until the power failed. */
static void a_freeze_lasts_until_it_ends(void **state)
{
	static const struct world_program program = {"still", wait_for_ever, NULL};
	static const char *const arguments[] = {"still", NULL};
	struct process *process = process_new(node, NULL, &program, arguments, NULL);

	(void)state;
	assert_int_equal(unexcused_after(10, process), 0);
}

static void what_was_recorded_is_not_excused_with_its_message(void **state)
{
	uint64_t message = accept();

	(void)state;
	ledger_add(message, "user2@hop.example");
	pass(1);
	arrive(message);
	say_delivered();
	pass(10);
	say("delivered", " delivery=2 to=user2@hop.example by=remote status=2.0.0");
	say("message_done", "");
	ledger_excuse_message(message);
	arrive(message);
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
	pass(seconds);
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

/* --- waiting --- */

static void waiting_is_seen(void **state)
{
	char line[128];

	(void)state;
	queue_text(TRAILER, true);
	waiting_begin();
	snprintf(line, sizeof line, "time=- event=message_queued id=%llu-a",
		 (unsigned long long)queued);
	node->heard(node, line);
	pass(9 * 60);
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
	accounts_moved(node);
	pass(9 * 60);
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
	snprintf(line, sizeof line, "time=- event=deferred id=%llu-a until=1970-01-01T00:30:00Z",
		 (unsigned long long)queued);
	node->heard(node, line);
	snprintf(line, sizeof line, "time=- event=deferred id=%llu-a until=1970-01-01T00:19:00Z",
		 (unsigned long long)queued); /* of another of its deliveries */
	node->heard(node, line);
	pass(21 * 60);
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
	accounts_hold(node, true);
	pass(10 * 60);
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
	accounts_hold(node, false);
	pass(15 * 60);
	assert_int_equal(judge_count(JUDGE_WAITING), 1);
}

static void a_client_that_waits_is_seen(void **state)
{
	(void)state;
	pass(20 * 60);
	waiting_check_client(node->address, kernel_now_us() - 5 * 60 * SECOND, "a reply");
	assert_int_equal(judge_count(JUDGE_WAITING), 0);
	waiting_check_client(node->address, kernel_now_us() - 11 * 60 * SECOND, "a reply");
	assert_int_equal(judge_count(JUDGE_WAITING), 1);
}

/* --- growth --- */

static int wait_for_ever(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	for (int64_t i = 1; i < 1000; i++) {
		task_sleep_until(i * 60 * SECOND);
		for (unsigned k = 0; k < 100; k++)
			world_free(i % 2 == 0 ? world_malloc(1) : NULL);
		for (unsigned k = 0; i > 3 && k < 100; k++)
			(void)world_malloc(1);
	}
	return 0;
}

static void memory_that_grows_is_seen(void **state)
{
	static const struct world_program program = {"leak", wait_for_ever, NULL};
	static const char *const arguments[] = {"leak", NULL};

	(void)state;
	process_new(node, NULL, &program, arguments, NULL);
	pass(61);
	growth_note(node);
	pass(61);
	growth_compare(node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 0);
	pass(61 * 3);
	growth_compare(node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 0); /* that may be a cache */
	pass(61);
	growth_compare(node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 1);
	growth_end();
}

static void files_that_grow_are_seen(void **state)
{
	char *text = calloc(1, GROWTH_CONTROL + 2);

	(void)state;
	memset(text, 'a', GROWTH_CONTROL);
	files_put(node, "/var/queue/info/3/26", text);
	files_put(node, "/var/queue/pid/a", "");
	growth_look_at_controls(node);
	growth_look_at_end(node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 0);
	text[GROWTH_CONTROL] = 'a';
	files_put(node, "/var/queue/info/3/49", text);
	files_put(node, "/var/queue/trigger/host.a", "");
	growth_look_at_controls(node);
	growth_look_at_end(node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 2);
	ledger_excuse();
	files_put(node, "/var/queue/trigger/hold.5-a", "");
	growth_look_at_end(node);
	assert_int_equal(judge_count(JUDGE_GROWTH), 3);
	free(text);
}

/* --- commands --- */

static void list(const char *id, const char *address, const char *before)
{
	char listing[256];

	snprintf(listing, sizeof listing, "{\"id\":\"%s\",\"address\":\"%s\"}\n", id, address);
	listing_check(node, listing, before, strlen(before) + (*before != '\0'), kernel_now_us());
}

static void a_listing_that_is_wrong_is_seen(void **state)
{
	char number[32];

	(void)state;
	arrive(accept());
	list("7-a", "user1@hop.example", "");
	assert_int_equal(judge_count(JUDGE_COMMANDS), 0);
	list("7-a", "user2@hop.example", "");
	assert_int_equal(judge_count(JUDGE_COMMANDS), 1);
	say_delivered();
	say("message_done", "");
	pass(1);
	list("7-a", "user1@hop.example", "");
	assert_int_equal(judge_count(JUDGE_COMMANDS), 2);
	queue_text(TRAILER, true);
	preprocess();
	snprintf(number, sizeof number, "%llu", (unsigned long long)queued);
	list("8-a", "", number);
	assert_int_equal(judge_count(JUDGE_COMMANDS), 3);
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
		TEST(the_log_of_a_message_is_right),
		TEST(two_ends_are_seen),
		TEST(an_end_after_the_end_is_seen),
		TEST(a_promise_that_the_log_does_not_know_is_seen),
		TEST(a_delivery_that_nobody_got_is_seen),
		TEST(a_failure_without_a_report_is_seen),
		TEST(an_end_without_a_word_is_seen),
		TEST(a_process_that_dies_is_seen),
		TEST(a_fault_between_answer_and_record_excuses),
		TEST(a_fault_before_the_first_word_excuses),
		TEST(a_fault_before_the_answer_excuses_nothing),
		TEST(a_fault_after_the_record_excuses_nothing),
		TEST(a_failure_that_bounce_has_lost_is_seen),
		TEST(a_fault_before_a_record_excuses),
		TEST(a_fault_after_a_record_excuses_nothing),
		TEST(a_freeze_lasts_until_it_ends),
		TEST(what_was_recorded_is_not_excused_with_its_message),
		TEST(a_report_is_for_those_whom_it_names),
		TEST(a_report_that_names_another_is_seen),
		TEST(only_what_is_old_is_given_up),
		TEST(memory_that_grows_is_seen),
		TEST(files_that_grow_are_seen),
		TEST(a_listing_that_is_wrong_is_seen),
		TEST(waiting_is_seen),
		TEST(a_client_that_waits_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
