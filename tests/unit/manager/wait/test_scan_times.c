// SPDX-License-Identifier: ISC
/* When a scan begins, how long it goes on at a time, and when it ends. */
#include "os/clock.h"
#include "scan_scene.h"
#include "test.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* --- scans --- */

static void new_mail_is_looked_for_alone(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	scan_scene_make_waiting(21, HOUR_US);
	scan_scene_look(scene, true);
	assert_int_equal(scene->found_count, 1);
	assert_int_equal(scene->wholes, 0);
	assert_false(scan_scene_is_asleep(scene, 21));
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 1);
	assert_int_equal(scene->wholes, 1);
	assert_true(scan_scene_is_asleep(scene, 21));
	scan_scene_free(scene);
}

/* Requests that come while a scan runs are one scan at its end, of all that any of them wants. */
static void one_asked_for_meanwhile_comes_later(void **state)
{
	static const struct {
		bool first;
		unsigned requests;
		bool only_new[2];
		unsigned scans, wholes;
	} cases[] = {
		{false, 0, {false, false}, 1, 1}, {false, 1, {true, false}, 2, 1},
		{false, 1, {false, false}, 2, 2}, {false, 2, {true, true}, 2, 1},
		{false, 2, {true, false}, 2, 2},  {false, 2, {false, true}, 2, 2},
		{true, 0, {false, false}, 1, 0},  {true, 1, {true, false}, 2, 0},
		{true, 1, {false, false}, 2, 1},  {true, 2, {true, false}, 2, 1},
		{true, 2, {false, true}, 2, 1},   {true, 2, {true, true}, 2, 0},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scan_scene *scene = scan_scene_new();

		scan_scene_make_queued(11);
		scene->requests = cases[i].requests;
		scene->only_new[0] = cases[i].only_new[0];
		scene->only_new[1] = cases[i].only_new[1];
		scan_scene_look(scene, cases[i].first);
		assert_int_equal(scene->found_count, cases[i].scans);
		assert_int_equal(scene->wholes, cases[i].wholes);
		scan_scene_free(scene);
	}
}

/* What was asked for long ago is no reason for another one. */
static void requests_are_forgotten_when_they_are_carried_out(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	scene->requests = 1;
	scan_scene_look(scene, true); /* and a whole one */
	assert_int_equal(scene->wholes, 1);
	scene->only_new[0] = true;
	scan_scene_look(scene, true);
	assert_int_equal(scene->found_count, 2);
	assert_int_equal(scene->wholes, 0);
	scene->requests = 0;
	scan_scene_look(scene, true);
	assert_int_equal(scene->found_count, 1);
	scan_scene_free(scene);
}

/* The loop is left to others; with new mail for longer. */
static void a_scan_leaves_time_to_others(void **state)
{
	int64_t took_us[2];

	(void)state;
	for (unsigned is_busy = 0; is_busy < 2; is_busy++) {
		struct scan_scene *scene = scan_scene_new();
		int64_t begin_us = os_clock_monotonic_us();

		for (uint64_t number = 1; number <= 100; number++)
			scan_scene_make_queued(number);
		scene->costs_us = 1000;
		if (is_busy)
			wake_new_mail(scene->wake);
		scan_begin(scene->scan, true);
		assert_in_range(scene->found_count, 1, 20);
		while (scene->found_count < 100)
			fake_play_timer();
		took_us[is_busy] = os_clock_monotonic_us() - begin_us;
		fake_advance(SECOND_US);
		assert_int_equal(scene->found_count, 100);
		scan_scene_free(scene);
	}
	assert_in_range(took_us[0], 100000, 110000);
	assert_in_range(took_us[1], 150000, 1000000);
}

static void nothing_is_looked_for_after_the_end(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	for (uint64_t number = 1; number <= 100; number++)
		scan_scene_make_queued(number);
	scene->costs_us = 1000;
	scan_begin(scene->scan, false);
	assert_in_range(scene->found_count, 1, 20);
	scene->found_count = 0;
	scan_stop(scene->scan);
	assert_int_equal(fake_timers(), 0);
	scan_begin(scene->scan, false);
	fake_advance(3 * HOUR_US);
	assert_int_equal(scene->found_count, 0);
	assert_int_equal(scene->wholes, 0);
	assert_int_equal(scene->wanted_all, 0);
	scan_scene_free(scene);
}

static void none_begins_after_the_end(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	scan_stop(scene->scan);
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 0);
	assert_int_equal(scene->wholes, 0);
	scan_scene_free(scene);
}

/* --- when --- */

static void it_is_time_now_and_then(void **state)
{
	struct scan_times other = scene_times;
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	fake_advance(HOUR_US - 1);
	assert_int_equal(scene->wanted_all, 0);
	fake_advance(1);
	assert_int_equal(scene->wanted_all, 1);
	fake_advance(2 * HOUR_US);
	assert_int_equal(scene->wanted_all, 3);
	other.lifetime_us = DAY_US; /* that changes nothing */
	fake_advance(HOUR_US / 2);
	scan_configure(scene->scan, other);
	assert_int_equal(scene->wanted_all, 3);
	fake_advance(HOUR_US / 2);
	assert_int_equal(scene->wanted_all, 4);
	assert_int_equal(scene->wanted_new, 0);
	scan_scene_free(scene);
}

/* What was left to the next scan may be due before it. */
static void another_pace_begins_with_a_scan(void **state)
{
	struct scan_times other = scene_times;
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	other.rescan_us = DAY_US;
	fake_advance(HOUR_US / 2);
	scan_configure(scene->scan, other);
	assert_int_equal(scene->wanted_all, 1);
	fake_advance(DAY_US - 1);
	assert_int_equal(scene->wanted_all, 1);
	fake_advance(1);
	assert_int_equal(scene->wanted_all, 2);
	other.rescan_us = MINUTE_US;
	scan_configure(scene->scan, other);
	fake_advance(MINUTE_US);
	assert_int_equal(scene->wanted_all, 4);
	scan_scene_free(scene);
}

static const int64_t LOOK_US = SECOND_US; /* of scan_scene_look() */

/* The directory of message NUMBER is none meanwhile. */
static void spoil_directory(uint64_t number, bool is_spoilt)
{
	int queue = queue_store_directory(scene_store);
	char path[QUEUE_PATH_SIZE];
	int file;

	queue_store_path(scene_store, QUEUE_TODO, "arrive", number, path);
	*strrchr(path, '/') = '\0';
	if (!is_spoilt) {
		assert_int_equal(unlinkat(queue, path, 0), 0);
		assert_int_equal(renameat(queue, "aside", queue, path), 0);
		return;
	}
	assert_int_equal(renameat(queue, path, queue, "aside"), 0);
	file = openat(queue, path, O_CREAT | O_WRONLY, 0600);
	assert_true(file >= 0);
	assert_int_equal(close(file), 0);
}

/* Soon, and then less and less often, as long as it fails. */
static void what_could_not_be_read_is_looked_at_again(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	spoil_directory(11, true);
	scan_scene_look(scene, true);
	assert_int_equal(scene->found_count, 0);
	for (unsigned times = 0; times < 3; times++) {
		fake_advance((2 * SECOND_US << times) - LOOK_US - 1);
		assert_int_equal(scene->wanted_all, times);
		fake_advance(1);
		assert_int_equal(scene->wanted_all, times + 1);
		scan_scene_look(scene, false);
	}
	assert_int_equal(scene->found_count, 0);
	spoil_directory(11, false);
	fake_advance(16 * SECOND_US - LOOK_US);
	assert_int_equal(scene->wanted_all, 4);
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 1);
	fake_advance(HOUR_US / 2);
	assert_int_equal(scene->wanted_all, 4);
	spoil_directory(11, true);
	scan_scene_look(scene, true);
	fake_advance(2 * SECOND_US - LOOK_US);
	assert_int_equal(scene->wanted_all, 5);
	spoil_directory(11, false);
	scan_scene_free(scene);
}

/* A message that is in info/ may be in todo/, too: it is nobody's before that can be read. */
static void what_may_be_in_todo_is_not_taken_from_info(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	scan_scene_make_waiting(11, HOUR_US / 2);
	scan_scene_make_waiting(12, HOUR_US / 2);
	spoil_directory(11, true);
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 0);
	assert_false(scan_scene_is_asleep(scene, 11));
	assert_false(scan_scene_is_asleep(scene, 12));
	spoil_directory(11, false);
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 1);
	assert_int_equal(scene->found[0].number, 11);
	assert_false(scan_scene_is_asleep(scene, 11));
	assert_true(scan_scene_is_asleep(scene, 12));
	scan_scene_free(scene);
}

/* The answer of "queue" comes when the scan is over, or during the next. */
static void what_queue_could_not_read_is_asked_about_again(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	scan_scene_look(scene, true);
	for (unsigned times = 0; times < 3; times++) {
		scan_repeat(scene->scan);
		scan_repeat(scene->scan);
		fake_advance((2 * SECOND_US << times) - 1);
		assert_int_equal(scene->wanted_all, times);
		fake_advance(1);
		assert_int_equal(scene->wanted_all, times + 1);
		scan_scene_look(scene, false);
		assert_int_equal(scene->found_count, 1);
	}
	scan_scene_look(scene, false); /* nobody complains of these two */
	scan_scene_look(scene, false);
	scan_repeat(scene->scan);
	fake_advance(2 * SECOND_US);
	assert_int_equal(scene->wanted_all, 4);
	scan_stop(scene->scan);
	scan_repeat(scene->scan);
	fake_advance(HOUR_US);
	assert_int_equal(scene->wanted_all, 4);
	scan_scene_free(scene);
}

/* Also where a scan that is wanted begins, and is over, before others get their turn. */
static void short_scans_are_repeated_as_soon(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	spoil_directory(11, true);
	scene->obeys = true;
	scan_begin(scene->scan, true);
	for (unsigned times = 0; times < 3; times++) {
		fake_advance((2 * SECOND_US << times) - 1);
		assert_int_equal(scene->wanted_all, times);
		fake_advance(1);
		assert_int_equal(scene->wanted_all, times + 1);
	}
	spoil_directory(11, false);
	fake_advance(16 * SECOND_US);
	assert_int_equal(scene->wanted_all, 4);
	assert_int_equal(scene->found_count, 1);
	fake_advance(HOUR_US - 1);
	assert_int_equal(scene->wanted_all, 4);
	fake_advance(1);
	assert_int_equal(scene->wanted_all, 5);
	scan_scene_free(scene);
}

/* Who has not closed the pipe yet has pulled once. */
static void a_pull_is_heard_once(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	int pipe =
		openat(queue_store_directory(scene_store), "lock/trigger", O_WRONLY | O_NONBLOCK);

	(void)state;
	assert_true(pipe >= 0);
	assert_int_equal(write(pipe, "", 1), 1);
	assert_true(fake_play_file());
	assert_false(fake_play_file());
	assert_int_equal(write(pipe, "", 1), 1);
	assert_true(fake_play_file());
	assert_false(fake_play_file());
	assert_int_equal(close(pipe), 0);
	while (fake_play_file())
		assert_in_range(scene->wanted_new, 2, 3);
	scan_scene_free(scene);
}

/* Pulled while the scan is being asked for: that is another one. */
static void each_pull_is_heard(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	assert_false(fake_play_file());
	queue_store_pull_trigger(scene_store);
	assert_true(fake_play_file());
	assert_int_equal(scene->wanted_new, 1);
	assert_false(fake_play_file());
	scene->pulls = true;
	queue_store_pull_trigger(scene_store);
	assert_true(fake_play_file());
	assert_true(fake_play_file());
	assert_false(fake_play_file());
	assert_int_equal(scene->wanted_new, 3);
	assert_int_equal(scene->wanted_all, 0);
	scan_scene_free(scene);
}

/* As without descriptors, also more than once. Who pulled meanwhile found nobody who listens. */
static void the_pipe_is_opened_again(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	int queue = queue_store_directory(scene_store);

	(void)state;
	queue_store_pull_trigger(scene_store);
	assert_int_equal(renameat(queue, "lock/trigger", queue, "lock/aside"), 0);
	assert_true(fake_play_file());
	assert_int_equal(scene->wanted_new, 1);
	fake_advance(SECOND_US);
	assert_int_equal(scene->wanted_new, 1);
	assert_int_equal(renameat(queue, "lock/aside", queue, "lock/trigger"), 0);
	fake_advance(SECOND_US);
	assert_int_equal(scene->wanted_new, 2);
	fake_advance(MINUTE_US);
	assert_int_equal(scene->wanted_new, 2);
	queue_store_pull_trigger(scene_store);
	assert_true(fake_play_file());
	assert_int_equal(scene->wanted_new, 3);
	scan_scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_mail_is_looked_for_alone),
		cmocka_unit_test(one_asked_for_meanwhile_comes_later),
		cmocka_unit_test(requests_are_forgotten_when_they_are_carried_out),
		cmocka_unit_test(a_scan_leaves_time_to_others),
		cmocka_unit_test(nothing_is_looked_for_after_the_end),
		cmocka_unit_test(none_begins_after_the_end),
		cmocka_unit_test(it_is_time_now_and_then),
		cmocka_unit_test(another_pace_begins_with_a_scan),
		cmocka_unit_test(what_could_not_be_read_is_looked_at_again),
		cmocka_unit_test(what_may_be_in_todo_is_not_taken_from_info),
		cmocka_unit_test(what_queue_could_not_read_is_asked_about_again),
		cmocka_unit_test(short_scans_are_repeated_as_soon),
		cmocka_unit_test(each_pull_is_heard),
		cmocka_unit_test(a_pull_is_heard_once),
		cmocka_unit_test(the_pipe_is_opened_again),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
