// SPDX-License-Identifier: ISC
/*
 * The life of processes: when each is started again, after each end and each thing that it says
 * before it.
 */
#include "fake_loop.h"
#include "heard.h"
#include "process_scene.h"
#include "test.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define MS (SECOND_US / 1000)

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

/* It runs again AFTER_US from now, and not before; 0: already. */
static void expect_start_after(int program, int64_t after_us)
{
	if (after_us > 0) {
		assert_false(is_running(program));
		fake_advance(after_us - 1);
		assert_false(is_running(program));
		fake_advance(1);
	}
	assert_true(is_running(program));
}

static void leave(int program)
{
	process_scene_leave(process_scene_of(program));
}

/* --- starts --- */

static void each_process_is_started_once(void **state)
{
	(void)state;
	assert_int_equal(scene.next_pid - SCENE_FIRST_PID, 11);
	assert_int_equal(scene.supervisor.process_count, 11 + 11);
	for (size_t i = 0; i < 11; i++)
		assert_int_equal(scene.supervisor.processes[i].pid, SCENE_FIRST_PID + i);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(scene.supervisor.processes[8 + i].number, i);
	process_scene_end();
	fake_begin(1);
	process_scene_begin();
	process_scene_check("start manager; set up manager; start intake; set up intake; start "
			    "helper; set up helper; start wanted; set up wanted; start decode; set "
			    "up decode; start asker; set up asker; start directory; set up "
			    "directory; start queue; set up queue; start worker-file; set up "
			    "worker; start worker-file; set up worker; start worker-file; set up "
			    "worker; ");
	assert_non_null(strstr(heard_take(), "process_started program=manager pid=100\n"));
}

/* What cannot be started is tried again after ten seconds, and leaves nothing open. */
static void a_start_that_fails_is_tried_again(void **state)
{
	int open = scene.open;

	(void)state;
	leave(SCENE_MANAGER);
	scene.start_error = -EAGAIN;
	(void)heard_take();
	fake_advance(100 * MS);
	assert_false(is_running(SCENE_MANAGER));
	assert_non_null(strstr(heard_take(), "process_error program=manager error="));
	scene.start_error = 0;
	expect_start_after(SCENE_MANAGER, 10 * SECOND_US);
	assert_int_equal(scene.open, open);
}

/* One that can have no connections is killed, so that it is started again. */
static void a_process_without_connections_is_killed(void **state)
{
	(void)state;
	leave(SCENE_MANAGER);
	process_scene_forget();
	scene.connect_error = -EMFILE;
	fake_advance(100 * MS);
	process_scene_check("start manager; kill 11 by 9; ");
	assert_non_null(strstr(heard_take(), "process_error program=manager error="));
}

/* --- ends --- */

/* Soon after its start it waits twice as long each time, and as at first once it was healthy. */
static void who_ends_soon_waits_longer_each_time(void **state)
{
	static const int64_t delays[] = {100, 200, 400, 800, 1600, 3200, 6400, 10000, 10000, 10000};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(delays); i++) {
		fake_pass(10 * SECOND_US); /* not longer: it is not healthy */
		leave(SCENE_QUEUE);
		expect_start_after(SCENE_QUEUE, delays[i] * MS);
	}
	fake_pass(10 * SECOND_US + 1);
	leave(SCENE_QUEUE);
	expect_start_after(SCENE_QUEUE, 100 * MS);
	leave(SCENE_QUEUE);
	expect_start_after(SCENE_QUEUE, 200 * MS);
}

static void an_end_is_logged_and_cleans_up(void **state)
{
	struct process *process = process_scene_of(SCENE_QUEUE);

	(void)state;
	process->pending = 5;
	process_scene_hear(process, CHILD_READY, "");
	assert_true(process->is_ready);
	(void)heard_take();
	process_scene_forget();
	supervisor_process_ended(process, 9);
	process_scene_check("no row of queue; judge queue 9; ");
	assert_string_equal(heard_take(), "process_ended program=queue pid=107 status=status 9\n");
	assert_int_equal(process->pid, 0);
	assert_int_equal(process->pending, 0);
	assert_false(process->is_ready);
	assert_null(process->control);
}

/* An expendable one that was ready is started again at once, but not more often than each tenth of
 * a second; one that never was, like all. */
static void what_strangers_kill_is_there_again_at_once(void **state)
{
	(void)state;
	process_scene_hear(process_scene_of(SCENE_DECODE), CHILD_READY, "");
	fake_pass(100 * MS);
	leave(SCENE_DECODE);
	expect_start_after(SCENE_DECODE, 0);
	for (size_t i = 0; i < 5; i++) {
		process_scene_hear(process_scene_of(SCENE_DECODE), CHILD_READY, "");
		fake_pass(30 * MS);
		leave(SCENE_DECODE);
		expect_start_after(SCENE_DECODE, 70 * MS);
	}
	leave(SCENE_DECODE);
	expect_start_after(SCENE_DECODE, 100 * MS);
	leave(SCENE_DECODE);
	expect_start_after(SCENE_DECODE, 200 * MS);
}

/* --- what processes say --- */

static void what_a_process_says_is_passed_on(void **state)
{
	struct process *process = process_scene_of(SCENE_HELPER);

	(void)state;
	process_scene_hear(process, CHILD_WAITS, "a key");
	process_scene_hear(process, CHILD_FAILED, "no user");
	process_scene_hear(process, CHILD_FULL, "");
	process_scene_hear(process, CHILD_SAID, "EHLO");
	process_scene_check("helper waits: a key; give up: no user; full; helper said EHLO; ");
	process_scene_hear(process, CHILD_READY, "");
	process_scene_check("ready; ");
	assert_int_equal(process->waits.length, 5); /* it works, but not wholly */
	process_scene_hear(process, CHILD_AGAIN, "");
	fake_advance(SECOND_US - 1);
	process_scene_check("");
	fake_advance(1);
	process_scene_check("set up helper; ");
	leave(SCENE_HELPER);
	fake_advance(100 * MS);
	process_scene_hear(process, CHILD_READY, "");
	assert_int_equal(process->waits.length, 0); /* what the former one lacked is here */
}

static void deliveries_that_are_waited_for_are_counted(void **state)
{
	struct process *process = process_scene_of(SCENE_HELPER);
	const struct ipc_message message = {.type = CHILD_PENDING, .body = STR("\0\0\0\7")};

	(void)state;
	scene.hear(process, &message);
	assert_true(process->pending == 7 || process->pending == 7u << 24);
}

/* Only who asks it, by its socket, and only what is expendable and ready. */
static void who_does_not_answer_is_killed(void **state)
{
	struct process *asker = process_scene_of(SCENE_ASKER);

	(void)state;
	process_scene_hear(asker, CHILD_REPLACE, "decode");
	process_scene_check(""); /* it has not begun yet */
	process_scene_hear(process_scene_of(SCENE_DECODE), CHILD_READY, "");
	process_scene_hear(process_scene_of(SCENE_QUEUE), CHILD_READY, "");
	process_scene_forget();
	(void)heard_take();
	process_scene_hear(process_scene_of(SCENE_HELPER), CHILD_REPLACE, "decode");
	process_scene_hear(asker, CHILD_REPLACE, "queue");
	process_scene_hear(asker, CHILD_REPLACE, "manager");
	process_scene_hear(asker, CHILD_REPLACE, "decodedecodedecode");
	process_scene_hear(asker, CHILD_REPLACE, "");
	process_scene_check("");
	process_scene_hear(asker, CHILD_REPLACE, "decode");
	process_scene_check("kill 4 by 9; ");
	assert_string_equal(heard_take(), "process_silent program=decode pid=104 by=asker\n");
}

/* --- renewals --- */

/* What exists once ends first, and is then there at once if it was healthy. */
static void a_renewed_process_is_started_when_it_has_ended(void **state)
{
	(void)state;
	fake_pass(10 * SECOND_US + 1);
	process_scene_hear(process_scene_of(SCENE_QUEUE), CHILD_RENEW, "");
	process_scene_check("");
	(void)heard_take();
	leave(SCENE_QUEUE);
	assert_true(is_running(SCENE_QUEUE));
	assert_non_null(strstr(heard_take(), "process_stopped program=queue pid=107"));
	process_scene_hear(process_scene_of(SCENE_QUEUE), CHILD_RENEW, "");
	leave(SCENE_QUEUE);
	expect_start_after(SCENE_QUEUE, 100 * MS);
	leave(SCENE_QUEUE);
	expect_start_after(SCENE_QUEUE, 200 * MS);
}

/* A helper's successor runs beside it, in a place that is used again and again. */
static void a_helper_has_its_successor_at_once(void **state)
{
	size_t count = scene.supervisor.process_count;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct process *old = process_scene_of(SCENE_HELPER);
		struct process *successor;

		fake_pass(10 * SECOND_US + 1);
		process_scene_forget();
		process_scene_hear(old, CHILD_RENEW, "");
		process_scene_check("row of helper; start helper; set up helper; ");
		successor = process_scene_of(SCENE_HELPER);
		assert_ptr_not_equal(successor, old);
		assert_true(old->is_retired && !old->is_wanted && old->pid != 0);
		assert_true(successor->is_wanted && !successor->is_retired);
		assert_int_equal(scene.supervisor.process_count, count + 1);
		process_scene_hear(old, CHILD_RENEW, ""); /* it has said so */
		process_scene_leave(old);
		fake_advance(20 * SECOND_US);
		assert_int_equal(old->pid, 0);
		assert_ptr_equal(process_scene_of(SCENE_HELPER), successor);
	}
}

/* One that asks for it soon after its start is delayed like one that has ended. */
static void a_hasty_renewal_is_delayed(void **state)
{
	struct process *old = process_scene_of(SCENE_HELPER);

	(void)state;
	old->delay_us = 400 * MS;
	process_scene_hear(old, CHILD_RENEW, "");
	expect_start_after(SCENE_HELPER, 400 * MS);
	assert_int_equal(process_scene_of(SCENE_HELPER)->delay_us, 800 * MS);
}

static void nothing_is_renewed_in_a_stop(void **state)
{
	size_t count = scene.supervisor.process_count;

	(void)state;
	scene.supervisor.is_stopping = true;
	process_scene_hear(process_scene_of(SCENE_HELPER), CHILD_RENEW, "");
	process_scene_check("");
	assert_int_equal(scene.supervisor.process_count, count);
}

/* --- reloads --- */

static void a_reload_starts_and_stops_what_it_names(void **state)
{
	(void)state;
	scene.is_wanted = false;
	supervisor_choose_processes(&scene.supervisor);
	process_scene_check("stop wanted; ");
	supervisor_choose_processes(&scene.supervisor); /* once */
	process_scene_check("");
	(void)heard_take();
	leave(SCENE_WANTED);
	assert_non_null(strstr(heard_take(), "process_stopped program=wanted"));
	fake_advance(20 * SECOND_US);
	assert_false(is_running(SCENE_WANTED));
	scene.is_wanted = true;
	supervisor_choose_processes(&scene.supervisor);
	assert_true(is_running(SCENE_WANTED));
	scene.is_wanted = false;
	supervisor_choose_processes(&scene.supervisor);
	scene.is_wanted = true; /* wanted again before it has ended */
	supervisor_choose_processes(&scene.supervisor);
	leave(SCENE_WANTED);
	assert_true(is_running(SCENE_WANTED));
	leave(SCENE_WANTED);
	scene.is_wanted = false; /* while it waits for its start */
	supervisor_choose_processes(&scene.supervisor);
	fake_advance(20 * SECOND_US);
	assert_false(is_running(SCENE_WANTED));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_process_is_started_once),
		TEST(a_start_that_fails_is_tried_again),
		TEST(a_process_without_connections_is_killed),
		TEST(who_ends_soon_waits_longer_each_time),
		TEST(an_end_is_logged_and_cleans_up),
		TEST(what_strangers_kill_is_there_again_at_once),
		TEST(what_a_process_says_is_passed_on),
		TEST(deliveries_that_are_waited_for_are_counted),
		TEST(who_does_not_answer_is_killed),
		TEST(a_renewed_process_is_started_when_it_has_ended),
		TEST(a_helper_has_its_successor_at_once),
		TEST(a_hasty_renewal_is_delayed),
		TEST(nothing_is_renewed_in_a_stop),
		TEST(a_reload_starts_and_stops_what_it_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
