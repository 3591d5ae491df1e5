// SPDX-License-Identifier: ISC
/* What a scan finds, and what becomes of it. */
#include "manager/wait/schedule.h"
#include "os/clock.h"
#include "scan_scene.h"
#include "test.h"
#include <unistd.h>

enum { KEPT_MAX = 500000 }; /* more are left on the disk */

static bool has_found(const struct scan_scene *scene, enum mail_stage stage, uint64_t number)
{
	for (size_t i = 0; i < scene->found_count; i++)
		if (scene->found[i].stage == stage && scene->found[i].number == number)
			return true;
	return false;
}

/* "queue" knows whether a name is a message: until it has said so nobody sleeps. */
static void names_in_todo_are_asked_about(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(11);
	scan_scene_make_queued(12);
	scan_scene_make_queued(13);
	scan_scene_make_queued(14);
	scan_scene_make_name(QUEUE_TODO, "submit", 15);
	scene->awake = 12;
	wait_scene_sleep(scene->wait, 13, INT64_MAX, NULL);
	scan_scene_look(scene, true);
	assert_int_equal(scene->found_count, 3);
	assert_true(has_found(scene, MAIL_STAGE_ARRIVE, 11));
	assert_true(has_found(scene, MAIL_STAGE_ARRIVE, 14));
	assert_true(has_found(scene, MAIL_STAGE_SUBMIT, 15));
	assert_int_equal(scene->wait->sleepers.count, 1);
	assert_int_equal(scene->settled, 0);
	scan_scene_free(scene);
}

static void what_is_a_message_is_woken_first(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	const struct sleeper *sleeper;

	(void)state;
	scan_scene_make_queued(11);
	scene->awake = 12;
	scan_add(scene->scan, MAIL_STAGE_ARRIVE, 11);
	sleeper = scan_scene_asleep(scene, 11);
	assert_int_equal(sleeper->facts.place, MESSAGE_AT_S4);
	assert_int_equal(sleeper->facts.stage, MAIL_STAGE_ARRIVE);
	assert_true(sleeper->facts.is_found);
	scan_scene_make_queued(12);
	scan_add(scene->scan, MAIL_STAGE_ARRIVE, 11);
	scan_add(scene->scan, MAIL_STAGE_ARRIVE, 12); /* it is awake */
	scan_add(scene->scan, MAIL_STAGE_ARRIVE, 13); /* its name is gone */
	scan_add(scene->scan, MAIL_STAGE_SUBMIT, 14); /* nor is this one there */
	assert_int_equal(scene->wait->sleepers.count, 1);
	assert_int_equal(scene->settled, 1);
	fake_advance(SECOND_US);
	assert_int_equal(scene->woken_count, 1);
	assert_int_equal(scene->woken[0], 11);
	assert_false(scene->was_retry);
	scan_scene_free(scene);
}

static void what_a_crash_left_beside_it_is_noted(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_name(QUEUE_TODO, "submit", 11);
	scene->is_named = true;
	scan_add(scene->scan, MAIL_STAGE_SUBMIT, 11);
	assert_int_equal(scan_scene_asleep(scene, 11)->facts.place, MESSAGE_AT_S4_NAMED);
	assert_int_equal(scan_scene_asleep(scene, 11)->facts.stage, MAIL_STAGE_SUBMIT);
	scan_scene_free(scene);
}

static void what_waits_sleeps_until_its_time(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_waiting(21, 10 * MINUTE_US);
	scan_scene_make_waiting(22, -MINUTE_US);
	scan_scene_make_waiting(23, 5 * HOUR_US);
	scan_scene_make_waiting(24, MINUTE_US);
	scene->awake = 24;
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 0);
	assert_int_equal(scene->woken_count, 1); /* it is due */
	assert_int_equal(scene->woken[0], 22);
	assert_true(scene->was_retry);
	assert_int_equal(scene->wait->sleepers.count, 2);
	assert_int_equal(scan_scene_asleep(scene, 21)->facts.place, MESSAGE_AT_S5);
	assert_int_equal(scan_scene_asleep(scene, 23)->due_us -
				 scan_scene_asleep(scene, 21)->due_us,
			 5 * HOUR_US - 10 * MINUTE_US);
	fake_advance(10 * MINUTE_US - 2 * SECOND_US);
	assert_int_equal(scene->woken_count, 1);
	fake_advance(2 * SECOND_US);
	assert_int_equal(scene->woken_count, 2);
	assert_int_equal(scene->woken[1], 21);
	scan_scene_free(scene);
}

/* A time that no schedule gives says that the clock was set back since. */
static void an_absurd_time_is_now(void **state)
{
	int64_t longest_us = schedule_longest_us(scene_times.lifetime_us);
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_waiting(21, longest_us + MINUTE_US);
	scan_scene_make_waiting(22, longest_us - MINUTE_US);
	scan_scene_look(scene, false);
	assert_int_equal(scene->woken_count, 1);
	assert_int_equal(scene->woken[0], 21);
	assert_true(scan_scene_is_asleep(scene, 22));
	scan_scene_free(scene);
}

/* What was noted by a clock that was ahead of ours is due; clocks are corrected by little. */
static void what_was_noted_in_the_future_is_now(void **state)
{
	static const struct {
		int64_t ahead_us;
		size_t woken;
	} cases[] = {{0, 0}, {MINUTE_US / 2, 0}, {2 * MINUTE_US, 1}, {DAY_US, 1}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scan_scene *scene = scan_scene_new();

		fake_set_wall(-cases[i].ahead_us);
		scan_scene_make_waiting(21, 10 * MINUTE_US);
		scan_scene_look(scene, false);
		assert_int_equal(scene->woken_count, cases[i].woken);
		scan_scene_free(scene);
	}
}

/* The clock was set since it was looked at: the file's time is one by the new clock. */
static void times_are_those_of_the_clock_as_it_is(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	fake_set_wall(HOUR_US);
	scan_scene_make_waiting(21, 10 * MINUTE_US);
	scan_scene_look(scene, false);
	fake_advance(8 * MINUTE_US);
	assert_int_equal(scene->woken_count, 0);
	assert_int_equal(scan_scene_asleep(scene, 21)->due_us - os_clock_wall_us(),
			 2 * MINUTE_US - SECOND_US);
	fake_advance(2 * MINUTE_US);
	assert_int_equal(scene->woken_count, 1);
	scan_scene_free(scene);
}

/* It is on its way to S5, or was: as long as its name in todo/ is there, that is what it is. */
static void what_is_in_both_is_new(void **state)
{
	struct scan_scene *scene = scan_scene_new();

	(void)state;
	scan_scene_make_queued(31);
	scan_scene_make_waiting(31, HOUR_US);
	scan_scene_make_waiting(32, HOUR_US);
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 1);
	assert_false(scan_scene_is_asleep(scene, 31));
	assert_true(scan_scene_is_asleep(scene, 32));
	scan_scene_remove_name(QUEUE_TODO, "arrive",
			       31); /* then the next scan takes it for what it is */
	scan_scene_look(scene, false);
	assert_int_equal(scene->found_count, 0);
	assert_true(scan_scene_is_asleep(scene, 31));
	scan_scene_free(scene);
}

static void what_is_no_number_is_passed_over(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	char path[QUEUE_PATH_SIZE];

	(void)state;
	queue_store_path(scene_store, QUEUE_INFO, NULL, 21, path);
	scan_scene_make_waiting(21, HOUR_US);
	scene_rename(path, "info/0/core");
	scan_scene_make_waiting(22, HOUR_US);
	scan_scene_look(scene, false);
	assert_int_equal(scene->wait->sleepers.count, 1);
	assert_int_equal(scene->wholes, 1);
	assert_int_equal(unlinkat(queue_store_directory(scene_store), "info/0/core", 0), 0);
	scan_scene_free(scene);
}

/* --- the list that the last process left --- */

/* Whether the list was believed shows in who is due later than it says. */
static void the_last_list_is_believed_and_compared(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	int64_t now_us = os_clock_wall_us();

	(void)state;
	for (uint64_t number = 21; number < 25; number++)
		scan_scene_make_waiting(number, HOUR_US);
	scan_scene_look(scene, false);
	scan_scene_restart(scene);
	scan_scene_set_due(21, now_us + 2 * HOUR_US);
	scan_scene_set_due(22, now_us + HOUR_US / 2);
	scan_scene_remove_name(QUEUE_INFO, NULL, 23);
	scan_scene_set_due(25, now_us + 3 * HOUR_US);
	scene->awake = 24;
	scan_scene_look(scene, false);
	assert_int_equal(scene->wholes, 2);
	assert_int_equal(scene->wait->sleepers.count, 3);
	assert_int_equal(scan_scene_asleep(scene, 21)->due_us, now_us + HOUR_US);
	assert_int_equal(scan_scene_asleep(scene, 22)->due_us, now_us + HOUR_US / 2);
	assert_int_equal(scan_scene_asleep(scene, 25)->due_us, now_us + 3 * HOUR_US);
	scan_scene_restart(scene); /* what was compared is in the list now */
	scan_scene_set_due(22, now_us + 3 * HOUR_US);
	scan_scene_look(scene, false);
	assert_int_equal(scan_scene_asleep(scene, 22)->due_us, now_us + HOUR_US / 2);
	scan_scene_free(scene);
}

/* Only the first scan of a process asks the list, and only once is it compared. */
static void a_list_is_compared_once(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	int64_t now_us = os_clock_wall_us();

	(void)state;
	scan_scene_make_waiting(21, HOUR_US);
	scan_scene_look(scene, false);
	scan_scene_restart(scene);
	scan_scene_look(scene, false);
	scan_scene_set_due(21, now_us + HOUR_US / 2); /* by whom? "send" alone does that */
	scan_scene_set_due(22, now_us + HOUR_US / 2);
	scan_scene_look(scene, false);
	assert_int_equal(scene->wholes, 1);
	assert_int_equal(scan_scene_asleep(scene, 21)->due_us, now_us + HOUR_US);
	assert_int_equal(scan_scene_asleep(scene, 22)->due_us, now_us + HOUR_US / 2);
	scan_scene_free(scene);
}

static void an_absurd_time_in_the_list_is_corrected(void **state)
{
	int64_t longest_us = schedule_longest_us(scene_times.lifetime_us);
	struct scan_scene *scene = scan_scene_new();
	int64_t now_us = os_clock_wall_us() + HOUR_US;

	(void)state;
	fake_set_wall(HOUR_US);
	scan_scene_make_waiting(21, longest_us - MINUTE_US);
	scan_scene_make_waiting(22, HOUR_US);
	scan_scene_look(scene, false);
	scan_scene_restart(scene);
	fake_set_wall(-HOUR_US);
	scan_scene_set_due(21, now_us + 2 * HOUR_US);
	scan_scene_look(scene, false);
	assert_int_equal(scan_scene_asleep(scene, 21)->due_us, now_us + 2 * HOUR_US);
	assert_int_equal(scan_scene_asleep(scene, 22)->due_us, now_us + HOUR_US);
	scan_scene_free(scene);
}

/* --- one that is asked for --- */

static void one_is_found_by_its_number(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	struct sleeper *sleeper;

	(void)state;
	scan_scene_make_waiting(21, HOUR_US);
	scan_scene_make_queued(22);
	scan_scene_make_waiting(22, HOUR_US);
	scan_scene_make_name(QUEUE_TODO, "submit", 23);
	wait_scene_sleep(scene->wait, 24, INT64_MAX, NULL);
	sleeper = scan_find(scene->scan, 21);
	assert_non_null(sleeper);
	assert_int_equal(sleeper->number, 21);
	assert_int_equal(sleeper->facts.place, MESSAGE_AT_S5);
	assert_ptr_equal(scan_find(scene->scan, 21), sleeper);
	assert_null(scan_find(scene->scan, 22)); /* a notice or a scan will bring it */
	assert_null(scan_find(scene->scan, 23));
	assert_ptr_equal(scan_find(scene->scan, 24), scan_scene_asleep(scene, 24));
	assert_null(scan_find(scene->scan, 25));
	assert_int_equal(scene->wait->sleepers.count, 2);
	scan_scene_free(scene);
}

/* --- what is left to the next scan --- */

static void a_crowd_is_left_on_the_disk(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	int64_t now_us = os_clock_wall_us();

	(void)state;
	for (uint64_t i = 0; i < KEPT_MAX - 1; i++)
		wait_scene_sleep(scene->wait, SCENE_NAMES_MAX + i, now_us + DAY_US, NULL);
	assert_false(scan_will_find(scene->scan, now_us + DAY_US));
	scan_scene_make_waiting(21, 3 * HOUR_US);
	scan_scene_look(scene, false);
	assert_true(scan_scene_is_asleep(scene, 21)); /* the last for whom there is room */
	now_us = os_clock_wall_us();
	assert_true(scan_will_find(scene->scan, now_us + 2 * HOUR_US + 1));
	assert_false(scan_will_find(scene->scan, now_us + 2 * HOUR_US));
	assert_false(scan_will_find(scene->scan, INT64_MAX));
	scan_scene_make_waiting(22, 3 * HOUR_US);
	scan_scene_make_waiting(23, HOUR_US);
	scan_scene_make_queued(24);
	scan_scene_look(scene, false);
	assert_false(scan_scene_is_asleep(scene, 22));
	assert_true(scan_scene_is_asleep(scene, 23));
	assert_int_equal(scene->found_count, 1);
	assert_non_null(scan_find(scene->scan, 22)); /* someone asks for it */
	scan_scene_free(scene);
}

/* All of it is wanted now: the node is to have no mail any more. */
static void nothing_is_left_on_the_disk_if_all_is_due(void **state)
{
	struct scan_scene *scene = scan_scene_new();
	int64_t now_us = os_clock_wall_us();

	(void)state;
	for (uint64_t i = 0; i < KEPT_MAX; i++)
		wait_scene_sleep(scene->wait, SCENE_NAMES_MAX + i, now_us + DAY_US, NULL);
	scan_scene_make_waiting(21, 3 * HOUR_US);
	scan_scene_look(scene, false);
	assert_false(scan_scene_is_asleep(scene, 21));
	scan_keep_all(scene->scan, true);
	assert_false(scan_will_find(scene->scan, now_us + DAY_US));
	scan_scene_look(scene, false);
	assert_int_equal(scene->woken_count, 1);
	assert_int_equal(scene->woken[0], 21);
	scan_keep_all(scene->scan, false);
	assert_true(scan_will_find(scene->scan, now_us + DAY_US));
	scan_scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_in_todo_are_asked_about),
		cmocka_unit_test(what_is_a_message_is_woken_first),
		cmocka_unit_test(what_a_crash_left_beside_it_is_noted),
		cmocka_unit_test(what_waits_sleeps_until_its_time),
		cmocka_unit_test(an_absurd_time_is_now),
		cmocka_unit_test(what_was_noted_in_the_future_is_now),
		cmocka_unit_test(times_are_those_of_the_clock_as_it_is),
		cmocka_unit_test(what_is_in_both_is_new),
		cmocka_unit_test(what_is_no_number_is_passed_over),
		cmocka_unit_test(the_last_list_is_believed_and_compared),
		cmocka_unit_test(a_list_is_compared_once),
		cmocka_unit_test(an_absurd_time_in_the_list_is_corrected),
		cmocka_unit_test(one_is_found_by_its_number),
		cmocka_unit_test(a_crowd_is_left_on_the_disk),
		cmocka_unit_test(nothing_is_left_on_the_disk_if_all_is_due),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
