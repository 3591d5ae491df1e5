// SPDX-License-Identifier: ISC
/* Destinations that have had enough: what waits there meanwhile, and who comes after. */
#include "base/timestamp.h"
#include "test.h"
#include "turn_scene.h"
#include <stdio.h>

static void turn_pause(struct turn_scene *scene, struct job *job, int64_t until_us,
		       bool is_for_place, const char *reason)
{
	transport_pause(job, scene->now_us,
			&(struct transport_pause_terms){.until_us = until_us,
							.is_for_place = is_for_place,
							.reason = str_from(reason)});
}

static void pause(struct turn_scene *scene, struct job *job, int64_t wait_us)
{
	turn_pause(scene, job, scene->now_us + wait_us, false, "enough");
	assert_null(transports_check(scene->transports));
}

/* It is what the server complains of: it must not be the one that tries whether others may come. */
static void a_job_comes_back_behind_all_others(void **state)
{
	struct turn_scene *scene = scene_new(10, 2);
	struct job *first = scene_add(scene, "x", "s@s.example", 1);
	struct job *second = scene_add(scene, "x", "s@s.example", 2);
	struct job *third = scene_add(scene, "x", "t@s.example", 3);

	(void)state;
	assert_ptr_equal(scene_start(scene, scene->remote), first);
	transport_pause(first, scene->now_us,
			&(struct transport_pause_terms){.until_us = scene->now_us + SECOND_US,
							.is_last = true,
							.reason = STR("enough")});
	assert_null(transports_check(scene->transports));
	scene->now_us += SECOND_US;
	assert_ptr_equal(scene_start(scene, scene->remote), third);
	assert_ptr_equal(scene_start(scene, scene->remote), second);
	scene_end(scene, third, 0, true);
	scene_end(scene, second, 0, true);
	assert_ptr_equal(scene_start(scene, scene->remote), first);
	scene_end(scene, first, 0, true);
	scene_free(scene);
}

/* The first of its flow, and others do not wait for it. */
static void a_job_comes_back_to_its_place(void **state)
{
	struct turn_scene *scene = scene_new(10, 2);
	struct job *first = scene_add(scene, "x", "s@s.example", 1);
	struct job *second = scene_add(scene, "x", "s@s.example", 2);
	struct job *other;

	(void)state;
	assert_ptr_equal(scene_start(scene, scene->remote), first);
	pause(scene, first, SECOND_US);
	assert_null(scene_start(scene, scene->remote));
	other = scene_add(scene, "y", "s@s.example", 3);
	assert_ptr_equal(scene_start(scene, scene->remote), other);
	assert_int_equal(transport_look_again_us(scene->remote), scene->now_us + SECOND_US);
	scene->now_us += SECOND_US - 1;
	assert_null(scene_start(scene, scene->remote));
	scene->now_us++;
	assert_ptr_equal(scene_start(scene, scene->remote), first);
	assert_ptr_equal(scene_start(scene, scene->remote), second);
	assert_int_equal(transport_count(scene->remote).in_flight, 3);
	scene_end(scene, first, 0, true);
	scene_end(scene, second, 0, true);
	scene_end(scene, other, 0, true);
	scene_free(scene);
}

/* Also when its flow, in which it was alone, is gone; and of a retry. */
static void it_finds_its_flow_again(void **state)
{
	struct turn_scene *scene = scene_new(10, 2);
	struct job *jobs[2] = {scene_add(scene, "x", "s@s.example", 1),
			       scene_add_retry(scene, "x", 2)};

	(void)state;
	for (unsigned round = 0; round < 3; round++) {
		assert_ptr_equal(scene_start(scene, scene->remote), jobs[0]);
		assert_ptr_equal(scene_start(scene, scene->remote), jobs[1]);
		pause(scene, jobs[1], SECOND_US);
		pause(scene, jobs[0], SECOND_US);
		assert_int_equal(transport_count(scene->remote).waiting, 2);
		assert_int_equal(transport_count(scene->remote).in_flight, 0);
		scene->now_us += SECOND_US;
	}
	scene_free(scene);
}

/* It was not reached, and not slow either: the number of its places stays. */
static void nothing_is_learnt(void **state)
{
	struct turn_scene *scene = scene_new(20, 8);
	struct job *job;
	struct job *jobs[8];

	(void)state;
	scene_deliver(scene, "x", SCENE_MS, true); /* three */
	job = scene_add(scene, "x", "s@s.example", 1);
	for (unsigned i = 0; i < 4; i++) {
		assert_ptr_equal(scene_start(scene, scene->remote), job);
		pause(scene, job, SECOND_US);
		scene->now_us += SECOND_US;
	}
	for (unsigned i = 2; i < 10; i++)
		scene_add(scene, "x", "s@s.example", i);
	assert_int_equal(scene_start_all(scene, jobs, 8), 3);
	for (unsigned i = 0; i < 3; i++)
		scene_end(scene, jobs[i], 0, true);
	scene_free(scene);
}

/* Of several that are refused, the one that may come earliest decides. */
static void the_shortest_pause_counts(void **state)
{
	static const int64_t pauses[][2] = {{1, 5}, {5, 1}, {1, 1}};
	struct job *jobs[2];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(pauses); i++) {
		struct turn_scene *scene = scene_new(10, 2);

		scene_add(scene, "x", "s@s.example", 1);
		scene_add(scene, "x", "s@s.example", 2);
		assert_int_equal(scene_start_all(scene, jobs, 2), 2);
		pause(scene, jobs[0], pauses[i][0] * SECOND_US);
		pause(scene, jobs[1], pauses[i][1] * SECOND_US);
		scene->now_us += SECOND_US;
		assert_int_equal(scene_start_all(scene, jobs, 2), 2);
		scene_end(scene, jobs[0], 0, true);
		scene_end(scene, jobs[1], 0, true);
		scene_free(scene);
	}
}

/* Of many that share a limit, who was refused first is the next. */
static void pauses_that_end_together_keep_their_order(void **state)
{
	enum { MANY = 100 };
	struct turn_scene *scene = scene_new(MANY, 2);
	int64_t until_us = scene->now_us + 5 * SECOND_US;
	struct job *jobs[MANY];
	struct job *again[MANY];

	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		char name[16];

		snprintf(name, sizeof name, "d%u", i);
		jobs[i] = scene_add(scene, name, "s@s.example", i);
		assert_ptr_equal(scene_start(scene, scene->remote), jobs[i]);
		turn_pause(scene, jobs[i], until_us, false, "enough");
	}
	scene->now_us = until_us + MANY;
	assert_true(transport_is_ready(scene->remote, scene->now_us));
	for (unsigned i = 0; i < MANY / 2; i++) {
		again[i] = scene_start(scene, scene->remote);
		assert_ptr_equal(again[i], jobs[i]);
	}
	for (unsigned i = 0; i < MANY / 2; i++)
		scene_end(scene, again[i], 0, true);
	scene_free(scene);
}

/* Where places are lacking, one that is given back is used at once, and no more are asked for. */
static void a_place_that_is_free_ends_the_pause(void **state)
{
	struct turn_scene *scene = scene_new(10, 4);
	struct job *jobs[3];

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		jobs[i] = scene_add(scene, "x", "s@s.example", i);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[0]);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[1]);
	turn_pause(scene, jobs[1], scene->now_us + MINUTE_US, true, "full");
	assert_null(scene_start(scene, scene->remote));
	scene_end(scene, jobs[0], SCENE_MS, true);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[1]);
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[2]);
	turn_pause(scene, jobs[2], scene->now_us + MINUTE_US, false, "enough");
	scene_end(scene, jobs[1], SCENE_MS, true);
	assert_null(scene_start(scene, scene->remote));
	scene->now_us += MINUTE_US;
	assert_ptr_equal(scene_start(scene, scene->remote), jobs[2]);
	scene_end(scene, jobs[2], 0, true);
	scene_free(scene);
}

/* Of two pauses, in all orders of length and kind, the shorter one counts, with its kind. */
static void a_pause_that_does_not_count_changes_nothing(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		bool is_first_for_place = (i & 1) != 0;
		bool is_second_for_place = (i & 2) != 0;
		bool is_first_shorter = (i & 4) != 0;
		struct turn_scene *scene = scene_new(10, 4);
		struct job *jobs[3];

		for (unsigned j = 0; j < 9; j++) { /* so that three may be under way */
			(void)scene_add(scene, "x", "s@s.example", 9 + j);
			scene_end(scene, scene_start(scene, scene->remote), 1, true);
		}
		for (unsigned j = 0; j < 3; j++)
			jobs[j] = scene_add(scene, "x", "s@s.example", j);
		for (unsigned j = 0; j < 3; j++)
			assert_ptr_equal(scene_start(scene, scene->remote), jobs[j]);
		turn_pause(scene, jobs[0],
			   scene->now_us + (is_first_shorter ? MINUTE_US : 2 * MINUTE_US),
			   is_first_for_place, "first");
		turn_pause(scene, jobs[1],
			   scene->now_us + (is_first_shorter ? 2 * MINUTE_US : MINUTE_US),
			   is_second_for_place, "second");
		assert_null(scene_start(scene, scene->remote));
		scene_end(scene, jobs[2], SCENE_MS, true);
		if (!(is_first_shorter ? is_first_for_place : is_second_for_place)) {
			assert_null(scene_start(scene, scene->remote));
			scene->now_us += MINUTE_US;
		}
		for (unsigned j = 0; j < 2; j++) {
			struct job *next = scene_start(scene, scene->remote);

			assert_non_null(next);
			scene_end(scene, next, 0, true);
		}
		scene_free(scene);
	}
}

/* Each is told once, for people. */
static void pauses_are_listed(void **state)
{
	static const char *const names[] = {"x", "y", "z"};
	struct turn_scene *scene = scene_new(10, 2);
	struct transport_pause found = {.destination = ""};
	unsigned count = 0;

	(void)state;
	assert_false(transport_next_pause(scene->remote, STR(""), scene->now_us, &found));
	for (unsigned i = 0; i < COUNT_OF(names); i++) {
		struct job *job = scene_add(scene, names[i], "s@s.example", i);

		assert_ptr_equal(scene_start(scene, scene->remote), job);
		if (i != 1)
			pause(scene, job, MINUTE_US);
		else
			scene_end(scene, job, 0, true);
	}
	scene->now_us += SECOND_US;
	while (transport_next_pause(scene->remote, str_from(found.destination), scene->now_us,
				    &found)) {
		assert_string_not_equal(found.destination, "y");
		assert_in_range(found.left_us, 59 * SECOND_US, 59 * SECOND_US + 1);
		assert_int_equal(found.waiting, 1);
		assert_string_equal(found.reason, "enough");
		count++;
	}
	assert_int_equal(count, 2);
	assert_false(transport_next_pause(scene->remote, STR("gone"), scene->now_us, &found));
	assert_true(transport_pause_of(scene->remote, STR("z"), scene->now_us, &found));
	assert_string_equal(found.destination, "z");
	assert_string_equal(found.reason, "enough");
	assert_false(transport_pause_of(scene->remote, STR("y"), scene->now_us, &found));
	assert_false(transport_pause_of(scene->remote, STR("gone"), scene->now_us, &found));
	scene_free(scene);
}

/* Retries sleep through a long pause, and those that come find no room; new mail stays. */
static void retries_sleep_through_a_long_pause(void **state)
{
	const struct transport_delivery late = {.message = scene_message(9),
						.destination = STR("x"),
						.sender = STR("s@s.example"),
						.size = 50,
						.is_retry = true};
	struct turn_scene *scene = scene_new(10, 2);
	struct job *new = scene_add(scene, "x", "s@s.example", 1);
	struct job *retries[2] = {scene_add_retry(scene, "x", 2), scene_add_retry(scene, "x", 3)};
	struct waiters *waiters;

	(void)state;
	assert_ptr_equal(scene_start(scene, scene->remote), new);
	pause(scene, new, SECOND_US);
	assert_null(job_to_sleep_beside(new));
	scene->now_us += SECOND_US;
	assert_ptr_equal(scene_start(scene, scene->remote), new);
	assert_ptr_equal(scene_start(scene, scene->remote), retries[0]);
	pause(scene, retries[0], MINUTE_US);
	scene_end(scene, new, 0, true);
	assert_ptr_equal(job_to_sleep_beside(retries[0]), retries[1]);
	scene_end(scene, retries[1], 0, true);
	assert_ptr_equal(job_to_sleep_beside(retries[0]), retries[0]);
	scene_end(scene, retries[0], 0, true);
	waiters = scene_crowd_out(scene, scene->remote, &late);
	assert_null(transports_check(scene->transports));
	transports_sweep(scene->transports);
	assert_int_equal(scene_take_woken(scene, waiters), 0);
	scene_deliver(scene, "y", SCENE_MS, true);
	assert_int_equal(scene_take_woken(scene, waiters), 0);
	scene->now_us += MINUTE_US;
	assert_null(scene_start(scene, scene->remote));
	assert_int_equal(scene_take_woken(scene, waiters), 1);
	scene_free(scene);
}

/* A pause that is forgotten with its transports leaves nothing behind. */
static void a_pause_may_outlast_everything(void **state)
{
	struct turn_scene *scene = scene_new(10, 2);
	struct job *job = scene_add(scene, "x", "s@s.example", 1);

	(void)state;
	assert_ptr_equal(scene_start(scene, scene->remote), job);
	pause(scene, job, HOUR_US);
	scene_configure(scene);
	assert_null(scene_start(scene, scene->remote));
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_job_comes_back_to_its_place),
		cmocka_unit_test(a_job_comes_back_behind_all_others),
		cmocka_unit_test(it_finds_its_flow_again),
		cmocka_unit_test(nothing_is_learnt),
		cmocka_unit_test(the_shortest_pause_counts),
		cmocka_unit_test(pauses_that_end_together_keep_their_order),
		cmocka_unit_test(a_place_that_is_free_ends_the_pause),
		cmocka_unit_test(a_pause_that_does_not_count_changes_nothing),
		cmocka_unit_test(pauses_are_listed),
		cmocka_unit_test(retries_sleep_through_a_long_pause),
		cmocka_unit_test(a_pause_may_outlast_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
