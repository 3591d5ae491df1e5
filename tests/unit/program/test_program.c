// SPDX-License-Identifier: ISC
/*
 * The main() of a program as a process, with a supervisor that is played: it is given its
 * configuration, users, tokens and sockets, and says that it is ready; a reload leaves it there, a
 * stop ends it. What it does not accept ends it with a status of its own.
 *
 * Each program is linked into this with another name for its main().
 */
#include "program_scene.h"
#include "test.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static bool scene_needs_places; /* it cannot begin where its directories cannot be */

static void it_begins_reloads_and_ends(void **state)
{
	(void)state;
	program_scene_begin();
	program_scene_set_up("info", NULL);
	program_scene_wait();
	program_scene_set_up("error", NULL);
	program_scene_send(CHILD_STOP, STR(""), -1);
	assert_int_equal(program_scene_end(), 0);
	assert_string_equal(scene.said, "");
}

/* It says so by its status, and is no burden to those that can. */
static void without_its_places_it_does_not_begin(void **state)
{
	(void)state;
	program_scene_begin();
	program_scene_set_up("error", "/proc/nowhere");
	if (!scene_needs_places) {
		program_scene_wait();
		program_scene_send(CHILD_STOP, STR(""), -1);
	}
	assert_int_equal(program_scene_end(), scene_needs_places ? 1 : 0);
}

static void a_signal_ends_it(void **state)
{
	(void)state;
	program_scene_begin();
	program_scene_set_up("error", NULL);
	program_scene_wait();
	kill(scene.pid, SIGTERM);
	assert_int_equal(program_scene_end(), 0);
}

/* Nothing is left of a node whose supervisor has died. */
static void it_ends_with_its_supervisor(void **state)
{
	(void)state;
	program_scene_begin();
	program_scene_set_up("error", NULL);
	program_scene_wait();
	ipc_channel_close(scene.channel);
	scene.channel = NULL;
	scene.is_lost = true;
	assert_int_equal(program_scene_end(), 0);
}

static void a_stop_before_the_start_is_one(void **state)
{
	(void)state;
	program_scene_begin();
	program_scene_send(CHILD_STOP, STR(""), -1);
	assert_int_equal(program_scene_end(), 0);
}

/* What a supervisor of another version might send. */
static void what_is_not_understood_ends_it(void **state)
{
	static const struct {
		enum child_message type;
		const char *body;
	} cases[] = {
		{(enum child_message)99, ""},
		{CHILD_USERS, "x"},
		{CHILD_TOKENS, "x"},
		{CHILD_DRAIN, ""},
		{CHILD_ROWS, "x"},
		{CHILD_TRANSCRIPT, "x"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		program_scene_begin();
		program_scene_send(cases[i].type, str_from(cases[i].body), -1);
		assert_int_equal(program_scene_end(), 1);
	}
	program_scene_begin();
	program_scene_configure(STR("hostname = ??\n"));
	assert_int_equal(program_scene_end(), 1);
}

/* A configuration without its file is asked for again. */
static void what_is_lacking_is_asked_for_again(void **state)
{
	char wanted[20];

	(void)state;
	program_scene_begin();
	program_scene_send(CHILD_CONFIG, STR("test.conf"), -1);
	program_scene_send(CHILD_START, STR(""), -1);
	while (scene.said[0] == '\0' && !scene.is_lost && !scene.is_late)
		os_loop_run(scene.loop);
	snprintf(wanted, sizeof wanted, "%d ; ", CHILD_AGAIN);
	assert_string_equal(scene.said, wanted);
	program_scene_send(CHILD_STOP, STR(""), -1);
	assert_int_equal(program_scene_end(), 0);
}

static void it_is_not_started_by_hand(void **state)
{
	int status;
	pid_t pid;

	(void)state;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);

		dup2(nowhere, STDERR_FILENO);
		program_scene_run(nowhere, NULL);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 2);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_begins_reloads_and_ends),
		cmocka_unit_test(without_its_places_it_does_not_begin),
		cmocka_unit_test(a_signal_ends_it),
		cmocka_unit_test(it_ends_with_its_supervisor),
		cmocka_unit_test(a_stop_before_the_start_is_one),
		cmocka_unit_test(what_is_not_understood_ends_it),
		cmocka_unit_test(what_is_lacking_is_asked_for_again),
		cmocka_unit_test(it_is_not_started_by_hand),
	};

	assert_true(argc >= 2);
	scene_program = argv[1];
	for (int i = 2; i < argc; i++) {
		scene_waits |= strcmp(argv[i], "waits-for-queue") == 0;
		scene_needs_places |= strcmp(argv[i], "needs-places") == 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
