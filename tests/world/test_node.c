// SPDX-License-Identifier: ISC
/* What worlds have found, each played on purpose: the programs of a node in a simulated world. */
#include "kernel.h"
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
	node_add_programs();
	scene.node = node_new("one", 0x0a000001,
			      "hostname = \"mx.one.example\"\n"
			      "queue = \"/var/queue\"\n"
			      "run = \"/run/stagepost\"\n"
			      "listen smtp { address = { \"10.0.0.1:25\" } }\n");
	node_start(scene.node);
	return 0;
}

static int end(void **state)
{
	(void)state;
	world_end();
	fclose(scene.file);
	free(scene.log);
	return 0;
}

/* Lives until the log has TEXT, for a minute at most. */
static void wait_for(const char *text)
{
	const int64_t until_us = kernel_now_us() + 60 * SECOND;
	bool is_there = false;

	while (!is_there && kernel_now_us() < until_us) {
		world_run(kernel_now_us() + SECOND / 10);
		fflush(scene.file);
		is_there = strstr(scene.log, text) != NULL;
	}
	if (!is_there)
		print_error("%s", scene.log);
	assert_true(is_there);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(node_starts_and_stops, begin, end),
		cmocka_unit_test_setup_teardown(hurried_helper_takes_no_configuration, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
