// SPDX-License-Identifier: ISC
/* What worlds have found, each played on purpose: the programs of a node in a simulated world. */
#include "command.h"
#include "files.h"
#include "kernel.h"
#include "mail.h"
#include "node.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const int64_t SECOND = 1000000;
static const int64_t HOUR = 3600 * INT64_C(1000000); /* clients break off, and come again later */

enum { WORLDS = 50 }; /* where something is left to chance */

static struct {
	struct machine *node;
	int status; /* of the last command */
	FILE *file;
	char *log;
	size_t size;
} scene;

#define SETTINGS                                      \
	"hostname = \"mx.one.example\"\n"             \
	"queue = \"/var/queue\"\n"                    \
	"split = 23\n"                                \
	"run = \"/run/stagepost\"\n"                  \
	"client_names = no\n"                         \
	"dane = no\n"                                 \
	"relay_from = { \"10.0.0.2/32\" }\n"          \
	"smtproutes = { \"hop.example:10.0.0.3\" }\n" \
	"listen smtp { address = { \"10.0.0.1:25\" } }\n"
#define STORE "/var/lib/directory.sqlite"

static void begin_world_with(uint64_t seed, const char *settings)
{
	scene.file = open_memstream(&scene.log, &scene.size);
	assert_non_null(scene.file);
	world_begin(seed, scene.file);
	ledger_begin();
	node_add_programs();
	scene.node = node_new("one", 0x0a000001, settings);
	node_start(scene.node);
}

static void begin_world(uint64_t seed)
{
	begin_world_with(seed, SETTINGS);
}

static void end_world(void)
{
	world_end();
	ledger_end();
	fclose(scene.file);
	free(scene.log);
}

static int begin(void **state)
{
	(void)state;
	begin_world(1);
	return 0;
}

static int end(void **state)
{
	(void)state;
	end_world();
	return 0;
}

static bool has_logged(const char *text)
{
	fflush(scene.file);
	return strstr(scene.log, text) != NULL;
}

/* Lives until the log has TEXT, for a minute at most. */
static void wait_for(const char *text)
{
	const int64_t until_us = kernel_now_us() + 60 * SECOND;
	bool is_there = has_logged(text);

	while (!is_there && kernel_now_us() < until_us) {
		world_run(kernel_now_us() + SECOND / 10);
		is_there = has_logged(text);
	}
	if (!is_there)
		print_error("%s", scene.log);
	assert_true(is_there);
}

static void note_end(void *context, int status, const char *output)
{
	(void)context;
	(void)output;
	scene.status = status;
}

static void signal_supervisor(int number)
{
	struct process *supervisor = node_supervisor(scene.node);

	assert_non_null(supervisor);
	process_signal(supervisor, number);
	world_run(kernel_now_us() + SECOND / 10);
}

static void node_starts_and_stops(void **state)
{
	(void)state;
	wait_for("event=serve_ready");
	signal_supervisor(SIGTERM);
	wait_for("event=serve_stopped");
	world_run(kernel_now_us() + SECOND);
	assert_null(process_first());
}

/* A helper that stood still finds the end and two configurations at once. What it has freed at the
 * end it must not configure. */
static void hurried_helper_takes_no_configuration(void **state)
{
	struct process *helper;

	(void)state;
	wait_for("event=serve_ready");
	process_freeze(node_process(scene.node, "smtpd"), true); /* the others' turn is later */
	helper = node_process(scene.node, "remote");
	process_freeze(helper, true);
	signal_supervisor(SIGTERM);
	signal_supervisor(SIGTERM);
	wait_for("event=serve_hurried");
	signal_supervisor(SIGHUP);
	signal_supervisor(SIGHUP);
	process_freeze(helper, false);
	wait_for("program=remote pid=");
	wait_for("event=process_stopped program=remote");
	wait_for("event=serve_stopped");
	assert_null(strstr(scene.log, "signal 6"));
	assert_null(strstr(scene.log, "signal 11"));
}

/* Lives until the log has TEXT, and not a moment longer. */
static void stop_at(const char *text)
{
	if (has_logged(text))
		return;
	world_stop_at(text);
	world_run(kernel_now_us() + HOUR);
	world_stop_at(NULL);
	assert_true(has_logged(text));
}

/* A message waits for a host's trigger, which is released at once; then that host is there. True:
 * the trigger was released before the failed attempt was recorded. */
static bool release_at_once(void)
{
	static const char *const domains[] = {"hop.example", NULL};
	static const char *const release[] = {"trigger", "release", "host.10.0.0.3", NULL};
	struct client client = {
		.address = 0x0a000001, .count = 1, .pause_us = SECOND, .domains = domains};
	struct hop hop = {0};
	bool is_before;

	wait_for("event=serve_ready");
	client_start(machine_new("client", 0x0a000002), &client);
	stop_at("event=trigger_set trigger=host.10.0.0.3");
	hop_start(machine_new("hop", 0x0a000003), &hop);
	command_run(scene.node, "stagepost", release, note_end, NULL);
	stop_at("event=trigger_released");
	is_before = !has_logged("event=message_preprocessed");
	assert_int_equal(scene.status, 0);
	wait_for("event=message_done"); /* delivered or refused, long before it was due */
	return is_before;
}

/* Its trigger is released between the failed attempt and the record of it: it does not wait. Which
 * of both comes first is left to chance, so there are many worlds. */
static void trigger_is_released_before_the_record(void **state)
{
	unsigned before = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= WORLDS; seed++) {
		begin_world(seed);
		before += release_at_once();
		end_world();
	}
	print_message("released before the record in %u of %u worlds\n", before, WORLDS);
	assert_true(before > 0);
}

static uint64_t count_turns(void)
{
	uint64_t turns = 0;

	for (struct process *process = process_first(); process != NULL; process = process->next)
		turns += process->turns;
	return turns;
}

/* A laptop may sleep: somebody looks at something three times a second, in the mean. */
static void idle_node_wakes_seldom(void **state)
{
	uint64_t before;

	(void)state;
	begin_world_with(1, SETTINGS "directory { path = \"" STORE "\" }\n");
	wait_for("event=serve_ready");
	world_run(kernel_now_us() + 600 * SECOND); /* no writer's commit is waited for any more */
	before = count_turns();
	world_run(kernel_now_us() + HOUR);
	assert_in_range(count_turns() - before, 1, 3 * 3600 + 600);
	end_world();
}

/* Also when its file has been quiet for long. */
static void lost_directory_is_noticed_at_once(void **state)
{
	static const char *const put[] = {"directory", "put", "anna@one.example", "kind=mailbox",
					  NULL};

	(void)state;
	begin_world_with(1, SETTINGS "directory { path = \"" STORE "\" }\n");
	wait_for("event=serve_ready");
	command_run(scene.node, "stagepost", put, note_end, NULL);
	wait_for("event=directory_changed");
	world_run(kernel_now_us() + 600 * SECOND);
	assert_false(has_logged("event=store_held"));
	files_remove(scene.node, STORE);
	world_run(kernel_now_us() + SECOND / 10);
	assert_true(has_logged("event=store_held"));
	end_world();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(node_starts_and_stops, begin, end),
		cmocka_unit_test_setup_teardown(hurried_helper_takes_no_configuration, begin, end),
		cmocka_unit_test(trigger_is_released_before_the_record),
		cmocka_unit_test(idle_node_wakes_seldom),
		cmocka_unit_test(lost_directory_is_noticed_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
