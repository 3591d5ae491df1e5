// SPDX-License-Identifier: ISC
/* How processes are stopped: in which order, what is waited for, and for how long. */
#include "fake_loop.h"
#include "heard.h"
#include "process_scene.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

static int begin(void **state)
{
	(void)state;
	fake_begin(1);
	process_scene_begin();
	process_scene_forget();
	(void)heard_take();
	return 0;
}

static int end(void **state)
{
	(void)state;
	process_scene_end();
	return 0;
}

static bool is_running(int program)
{
	return process_scene_of(program) != NULL;
}

static void leave(int program)
{
	process_scene_leave(process_scene_of(program));
}

static void leave_all_in_turn(const char *const *turns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		process_scene_check(turns[i]);
		for (size_t k = 0; k < scene.supervisor.process_count; k++) {
			struct process *process = &scene.supervisor.processes[k];
			char name[40];

			snprintf(name, sizeof name, "stop %s; ", process->program->name);
			if (process->pid == 0 || strstr(turns[i], name) == NULL)
				continue;
			process_scene_leave(process);
			process_scene_forget();
			supervisor_stop_next(&scene.supervisor);
		}
	}
}

static void a_stop_goes_in_turns(void **state)
{
	static const char *const turns[] = {
		("notify STOPPING=1\nSTATUS=Finishing what is in flight; stop intake; stop wanted; "
		 "stop worker; stop worker; stop worker; "),
		"stop manager; ",
		"stop helper; stop asker; ",
		"stop decode; stop directory; ",
		"stop queue; ",
	};

	(void)state;
	(void)heard_take();
	supervisor_stop(&scene.supervisor);
	assert_string_equal(heard_take(), "serve_stopping\n");
	assert_true(scene.supervisor.is_stopping);
	leave_all_in_turn(turns, COUNT_OF(turns));
	process_scene_check("end; ");
	assert_true(supervisor_has_stopped(&scene.supervisor));
	assert_int_equal(fake_timers(), 0);
}

static void when_all_have_stopped(struct supervisor *supervisor)
{
	assert_ptr_equal(supervisor, &scene.supervisor);
	snprintf(scene.said + strlen(scene.said), sizeof scene.said - strlen(scene.said),
		 "stopped; ");
}

/* Mail is taken until the deliveries have ended. */
static void before_an_upgrade_the_intake_is_last(void **state)
{
	static const char *const turns[] = {
		"notify STATUS=Upgrading: finishing what is in flight; stop manager; ",
		"stop helper; stop asker; ",
		"stop intake; stop wanted; stop worker; stop worker; stop worker; ",
		"stop decode; stop directory; ",
		"stop queue; ",
	};

	(void)state;
	scene.supervisor.upgrade.state = UPGRADE_STOPPING;
	supervisor_stop_for_successor(&scene.supervisor, when_all_have_stopped);
	leave_all_in_turn(turns, COUNT_OF(turns));
	process_scene_check("stopped; ");
}

/* Who waits for a start is not started any more. */
static void nothing_is_started_in_a_stop(void **state)
{
	(void)state;
	leave(SCENE_QUEUE);
	supervisor_stop(&scene.supervisor);
	leave(SCENE_MANAGER);
	process_scene_forget();
	fake_advance(29 * SECOND_US);
	assert_false(is_running(SCENE_QUEUE) || is_running(SCENE_MANAGER));
	process_scene_check("");
}

static void what_a_stop_waits_for_is_logged_less_and_less(void **state)
{
	static const unsigned seconds[] = {2, 6, 14, 30, 62};

	(void)state;
	scene.config.stop_timeout = 100;
	process_scene_of(SCENE_HELPER)->pending = 3;
	supervisor_stop(&scene.supervisor);
	(void)heard_take();
	for (size_t i = 0, now = 0; i < COUNT_OF(seconds); i++) {
		char line[100];

		fake_advance((seconds[i] - (int64_t)now) * SECOND_US - 1);
		assert_string_equal(heard_take(), "");
		fake_advance(1);
		snprintf(line, sizeof line,
			 "serve_waiting program=helper deliveries=3 seconds=%u\n",
			 100 - seconds[i]);
		assert_string_equal(heard_take(), line);
		now = seconds[i];
	}
}

/* Of deliveries, and a minute more; a second signal hurries them, for twenty seconds. */
static void a_stop_has_an_end(void **state)
{
	(void)state;
	supervisor_stop(&scene.supervisor);
	process_scene_forget();
	fake_advance(90 * SECOND_US - 1);
	process_scene_check("");
	fake_advance(1);
	process_scene_check("kill 0 by 9; kill 1 by 9; kill 2 by 9; kill 3 by 9; kill 4 by 9; kill "
			    "5 by 9; kill 6 by 9; kill 7 by 9; kill 8 by 9; kill 9 by 9; kill 10 "
			    "by 9; ");
}

static void a_second_signal_hurries(void **state)
{
	(void)state;
	supervisor_stop(&scene.supervisor);
	process_scene_forget();
	(void)heard_take();
	supervisor_stop(&scene.supervisor);
	assert_string_equal(heard_take(), "serve_hurried\n");
	process_scene_check("hurry manager; hurry intake; hurry helper; hurry wanted; hurry "
			    "decode; hurry asker; hurry directory; hurry queue; hurry worker; "
			    "hurry worker; hurry worker; ");
	fake_advance(20 * SECOND_US - 1);
	process_scene_check("");
	fake_advance(1);
	assert_non_null(strstr(scene.said, "kill 10 by 9; "));
}

/* Why nothing can start is in the status already. */
static void a_failed_start_is_not_told_as_a_stop(void **state)
{
	(void)state;
	buffer_append_string(&scene.supervisor.failure, "no user");
	supervisor_stop(&scene.supervisor);
	assert_null(strstr(scene.said, "notify"));
	buffer_clear(&scene.supervisor.failure);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stop_goes_in_turns),
		TEST(before_an_upgrade_the_intake_is_last),
		TEST(nothing_is_started_in_a_stop),
		TEST(what_a_stop_waits_for_is_logged_less_and_less),
		TEST(a_stop_has_an_end),
		TEST(a_second_signal_hurries),
		TEST(a_failed_start_is_not_told_as_a_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
