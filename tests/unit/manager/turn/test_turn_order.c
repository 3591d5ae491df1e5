// SPDX-License-Identifier: ISC
/* Whose turn it is: among speeds, destinations, senders, and with retries. */
#include "base/timestamp.h"
#include "test.h"
#include "turn_scene.h"
#include <string.h>

enum { JOBS_MAX = 64 };

/* Starts what may start: the first letters of the destinations, in that order. */
static void expect_starts(struct turn_scene *scene, const char *expected)
{
	struct job *jobs[JOBS_MAX];
	size_t count = scene_start_all(scene, jobs, JOBS_MAX);
	char names[JOBS_MAX + 1] = "";

	for (size_t i = 0; i < count; i++)
		names[i] = job_destination(jobs[i])[0];
	assert_string_equal(names, expected);
	for (size_t i = 0; i < count; i++)
		scene_end(scene, jobs[i], 0, true);
}

static void destinations_take_turns(void **state)
{
	struct turn_scene *scene = scene_new(40, 20);

	(void)state;
	for (unsigned i = 0; i < 3; i++)
		scene_add(scene, "a.example", "s@s.example", i);
	scene_add(scene, "b.example", "s@s.example", 10);
	scene_add(scene, "c.example", "s@s.example", 11);
	expect_starts(scene, "abca"); /* two at a time of one that is not known yet */
	expect_starts(scene, "a");
	expect_starts(scene, "");
	scene_free(scene);
}

/* Starts one and ends it, COUNT times: which messages they are of. */
static void expect_one_by_one(struct turn_scene *scene, size_t count, const unsigned *expected)
{
	for (size_t i = 0; i < count; i++) {
		struct job *job = scene_start(scene, scene->remote);

		assert_non_null(job);
		assert_ptr_equal(job->message, scene_message(expected[i]));
		scene_end(scene, job, SCENE_MS, true);
	}
}

static void senders_take_turns(void **state)
{
	static const unsigned order[] = {0, 10, 20, 1, 11, 2, 3};
	struct turn_scene *scene = scene_new(40, 20);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		scene_add(scene, "a.example", "x@s.example", i);
	scene_add(scene, "a.example", "y@s.example", 10);
	scene_add(scene, "a.example", "y@s.example", 11);
	scene_add(scene, "a.example", "", 20);
	expect_one_by_one(scene, COUNT_OF(order), order);
	assert_null(scene_start(scene, scene->remote));
	scene_free(scene);
}

static void every_eighth_turn_is_a_retrys(void **state)
{
	static const unsigned order[] = {0,  1,  2,  3,  4,   5,  6,  100, 7,  8,   9,
					 10, 11, 12, 13, 101, 14, 15, 16,  17, 102, 103};
	struct turn_scene *scene = scene_new(40, 20);

	(void)state;
	for (unsigned i = 0; i < 4; i++)
		scene_add_retry(scene, "a.example", 100 + i);
	for (unsigned i = 0; i < 18; i++)
		scene_add(scene, "a.example", "x@s.example", i);
	expect_one_by_one(scene, COUNT_OF(order), order);
	scene_free(scene);
}

static void add_urgent(struct turn_scene *scene, enum urgency urgency, unsigned which)
{
	const struct transport_delivery delivery = {.message = scene_message(which),
						    .destination = STR("a.example"),
						    .sender = STR("x@s.example"),
						    .size = 10,
						    .urgency = urgency};
	struct waiters *waiters;
	struct job *job;

	assert_int_equal(transport_add(scene->remote, &delivery, &job, &waiters), 1);
}

/* And none is passed over for ever: retries neither. */
static void urgent_mail_is_first(void **state)
{
	static const unsigned order[] = {
		0,  1,  2,  100, 3,  4,  5,  300, 6,  7,  8,  200, 9,  10, 11, 301,
		12, 13, 14, 101, 15, 16, 17, 302, 18, 19, 20, 102, 21, 22, 23, 303,
		24, 25, 26, 103, 27, 28, 29, 304, 30, 31, 32, 201, 33, 34, 35, 305,
	};
	struct turn_scene *scene = scene_new(40, 20);

	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		add_urgent(scene, URGENCY_LOW, 200 + i);
		add_urgent(scene, URGENCY_ORDINARY, 100 + i);
		add_urgent(scene, URGENCY_HIGH, i);
		scene_add_retry(scene, "a.example", 300 + i);
	}
	expect_one_by_one(scene, COUNT_OF(order), order);
	scene_free(scene);
}

static void what_can_wait_goes_when_nothing_else_waits(void **state)
{
	static const unsigned order[] = {100, 101, 102, 103, 200, 201};
	struct turn_scene *scene = scene_new(40, 20);

	(void)state;
	for (unsigned i = 0; i < 2; i++)
		add_urgent(scene, URGENCY_LOW, 200 + i);
	for (unsigned i = 0; i < 4; i++)
		add_urgent(scene, URGENCY_ORDINARY, 100 + i);
	expect_one_by_one(scene, COUNT_OF(order), order);
	scene_free(scene);
}

/* The turn of a retry that does not wait is new mail's. */
static void nobodys_turn_is_given_away(void **state)
{
	struct turn_scene *scene = scene_new(40, 20);
	unsigned order[20];

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(order); i++) {
		order[i] = i;
		scene_add(scene, "a.example", "x@s.example", i);
	}
	expect_one_by_one(scene, COUNT_OF(order), order);
	scene_free(scene);
}

/* Two turns of four are of those that are known to be fast. */
static void speeds_take_turns(void **state)
{
	static const char *const fast[] = {"f1", "f2", "f3", "f4"};
	struct turn_scene *scene = scene_new(40, 20);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(fast); i++)
		scene_deliver(scene, fast[i], SCENE_MS, true);
	for (unsigned i = 0; i < 4; i++)
		scene_deliver(scene, i % 2 ? "s1" : "s2", 3 * SECOND_US, true);
	for (unsigned i = 0; i < 2; i++) {
		scene_add(scene, i ? "s1" : "s2", "s@s.example", i);
		scene_add(scene, i ? "n1" : "n2", "s@s.example", 10 + i);
	}
	for (unsigned i = 0; i < COUNT_OF(fast); i++)
		scene_add(scene, fast[i], "s@s.example", 20 + i);
	expect_starts(scene, "fnfsfnfs");
	scene_free(scene);
}

static void what_waits_longest_comes_first(void **state)
{
	struct turn_scene *scene = scene_new(40, 20);
	struct job *first = scene_add(scene, "a.example", "s@s.example", 0);
	struct job *second = scene_add(scene, "b.example", "s@s.example", 1);

	(void)state;
	assert_ptr_equal(scene_start(scene, scene->remote), first);
	scene_add(scene, "a.example", "s@s.example", 2);
	assert_ptr_equal(scene_start(scene, scene->remote), second);
	scene_end(scene, first, 0, true);
	scene_end(scene, second, 0, true);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(destinations_take_turns),
		cmocka_unit_test(senders_take_turns),
		cmocka_unit_test(every_eighth_turn_is_a_retrys),
		cmocka_unit_test(urgent_mail_is_first),
		cmocka_unit_test(what_can_wait_goes_when_nothing_else_waits),
		cmocka_unit_test(nobodys_turn_is_given_away),
		cmocka_unit_test(speeds_take_turns),
		cmocka_unit_test(what_waits_longest_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
