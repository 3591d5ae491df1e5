// SPDX-License-Identifier: ISC
/* What worlds have found, each played on purpose: the programs of a node in a simulated world. */
#include "command.h"
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

static struct {
	struct machine *node;
	int status; /* of the last command */
	FILE *file;
	char *log;
	size_t size;
} scene;

static int begin(void **state)
{
	(void)state;
	scene.file = open_memstream(&scene.log, &scene.size);
	assert_non_null(scene.file);
	world_begin(1, scene.file);
	ledger_begin();
	node_add_programs();
	scene.node = node_new("one", 0x0a000001,
			      "hostname = \"mx.one.example\"\n"
			      "queue = \"/var/queue\"\n"
			      "run = \"/run/stagepost\"\n"
			      "client_names = no\n"
			      "dane = no\n"
			      "relay_from = { \"10.0.0.2/32\" }\n"
			      "smtproutes = { \"hop.example:10.0.0.3\" }\n"
			      "listen smtp { address = { \"10.0.0.1:25\" } }\n");
	node_start(scene.node);
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_end();
	ledger_end();
	fclose(scene.file);
	free(scene.log);
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

/* Its trigger is released between the failed attempt and the record of it: it does not wait. */
static void trigger_is_released_before_the_record(void **state)
{
	static const char *const domains[] = {"hop.example", NULL};
	static const char *const release[] = {"trigger", "release", "host.10.0.0.3", NULL};
	struct client client = {
		.address = 0x0a000001, .count = 1, .pause_us = SECOND, .domains = domains};
	struct hop hop = {0};

	(void)state;
	wait_for("event=serve_ready");
	client_start(machine_new("client", 0x0a000002), &client);
	world_stop_at("event=deferred");
	world_run(kernel_now_us() + 60 * SECOND);
	world_stop_at(NULL);
	wait_for("event=trigger_set trigger=host.10.0.0.3");
	assert_false(has_logged("event=message_preprocessed"));
	hop_start(machine_new("hop", 0x0a000003), &hop);
	command_run(scene.node, "stagepost", release, note_end, NULL);
	wait_for("event=trigger_released");
	assert_int_equal(scene.status, 0);
	wait_for("event=delivered");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(node_starts_and_stops, begin, end),
		cmocka_unit_test_setup_teardown(hurried_helper_takes_no_configuration, begin, end),
		cmocka_unit_test_setup_teardown(trigger_is_released_before_the_record, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
