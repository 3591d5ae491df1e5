// SPDX-License-Identifier: ISC
/* How much may wait where, and who is woken when there is room again. */
#include "base/timestamp.h"
#include "test.h"
#include "turn_scene.h"
#include <stdio.h>

enum { JOB = SHARE_UNITS_MESSAGE + 1, ALL = SHARE_UNITS / 2 };

static struct transport_delivery delivery_for(const char *destination, const char *sender,
					      unsigned which)
{
	return (struct transport_delivery){.message = scene_message(which),
					   .destination = str_from(destination),
					   .sender = str_from(sender),
					   .size = 50};
}

/* So many jobs as there is room for. */
static size_t fill(struct turn_scene *scene, const char *destination, const char *sender,
		   bool retries)
{
	size_t count = 0;

	for (unsigned i = 0;; i++) {
		struct transport_delivery delivery = delivery_for(destination, sender, i % 9000);
		struct waiters *waiters;
		struct job *job;

		delivery.is_retry = retries;
		if (transport_add(scene->remote, &delivery, &job, &waiters) < 0)
			return count;
		count++;
	}
}

static void leave(struct turn_scene *scene, size_t units)
{
	scene->share.used = SHARE_UNITS - units;
}

/* What one may fill of what is free where he came last: as much as he leaves to others. */
static size_t third_of(size_t units)
{
	return (units + 2) / 3 / JOB + 1;
}

/* Of the transport's memory a destination leaves as much as it holds, of what is left to it a
 * sender does: a third for the first who wants everything. */
static void a_hog_gets_a_share(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	size_t hog = fill(scene, "a.example", "hog@s.example", false);
	size_t other = fill(scene, "a.example", "other@s.example", false);
	size_t elsewhere = fill(scene, "b.example", "hog@s.example", false);

	(void)state;
	assert_int_equal(hog, third_of(ALL));
	assert_int_equal(other, third_of(ALL - 2 * hog * JOB));
	assert_int_equal(elsewhere, third_of(ALL - (hog + other) * JOB));
	assert_int_equal(fill(scene, "b.example", "hog@s.example", true), 64);
	scene_free(scene);
}

static void a_newcomer_finds_room(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);

	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		char name[32];

		snprintf(name, sizeof name, "%u.example", i);
		assert_true(fill(scene, name, "hog@s.example", false) > 0);
		assert_true(fill(scene, name, "other@s.example", false) > 0);
	}
	scene_free(scene);
}

static void others_memory_counts(void **state)
{
	static const struct {
		size_t free;
		size_t jobs;
		size_t retries;
	} cases[] = {{0, 0, 0},    {1, 1, 1},         {2 * JOB, 1, 2}, {2 * JOB + 1, 2, 3},
		     {100, 6, 12}, {10 * JOB, 5, 10}, {1000, 56, 64}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct turn_scene *scene = scene_new(8, 8);

		leave(scene, cases[i].free);
		assert_int_equal(fill(scene, "a.example", "s@s.example", false), cases[i].jobs);
		assert_int_equal(fill(scene, "b.example", "s@s.example", true), cases[i].retries);
		scene_free(scene);
	}
}

/* Takes turns until so many have left. */
static void let_leave(struct turn_scene *scene, unsigned count)
{
	while (count-- > 0) {
		struct job *job = scene_start(scene, scene->remote);

		assert_non_null(job);
		scene_end(scene, job, 0, true);
	}
}

/* Sleepers that are parked with the flow: WAITERS_OUT. */
static struct waiters *park(struct turn_scene *scene, const struct transport_delivery *delivery,
			    unsigned count)
{
	struct waiters *waiters = NULL;

	while (count-- > 0)
		waiters = scene_crowd_out(scene, scene->remote, delivery);
	return waiters;
}

/* A destination holds what it may of 100 units, six jobs of nine, and COUNT more sleep. */
static struct waiters *crowd_out(struct turn_scene *scene, unsigned count)
{
	const struct transport_delivery more = delivery_for("a.example", "s@s.example", 9500);

	leave(scene, 100);
	fill(scene, "a.example", "s@s.example", false);
	return park(scene, &more, count);
}

static void room_is_told_of_when_half_is_free(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters = crowd_out(scene, 20);

	(void)state;
	let_leave(scene, 2);
	assert_int_equal(scene->roomy_calls, 0); /* 36 units, and it may hold 64 */
	let_leave(scene, 1);
	assert_int_equal(scene->roomy_calls, 1); /* 27 units of 73 */
	assert_ptr_equal(scene->roomy, waiters);
	assert_false(scene->roomy_retries);
	assert_int_equal(scene_take_woken(scene, waiters), 6);
	let_leave(scene, 1); /* 18 of 82, and 6 are on their way */
	assert_int_equal(scene_take_woken(scene, waiters), 2);
	assert_int_equal(waiters->count, 12);
	scene_free(scene);
}

/* Who is woken and comes takes the room that he was woken for; others are woken for the rest. */
static void who_was_woken_is_expected(void **state)
{
	const struct transport_delivery more = delivery_for("a.example", "s@s.example", 9500);
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters = crowd_out(scene, 1);

	(void)state;
	let_leave(scene, 3);
	assert_int_equal(scene_take_woken(scene, waiters), 1);
	scene_add(scene, "a.example", "s@s.example", 9501);
	leave(scene, 0);
	park(scene, &more, 20);
	leave(scene, 100);
	let_leave(scene, 1); /* 27 of 73: nobody else is on his way */
	assert_int_equal(scene_take_woken(scene, waiters), 6);
	/* those who are woken for nothing are parked again, and then others are for them */
	leave(scene, 0);
	park(scene, &more, 6);
	leave(scene, 100);
	let_leave(scene, 1);
	assert_int_equal(scene_take_woken(scene, waiters), 8);
	scene_free(scene);
}

static void who_has_come_is_not_expected_any_more(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters = crowd_out(scene, 20);

	(void)state;
	let_leave(scene, 3);
	assert_int_equal(scene_take_woken(scene, waiters), 6);
	for (unsigned i = 0; i < 3; i++)
		scene_add(scene, "a.example", "s@s.example", 9600 + i);
	let_leave(scene, 3); /* 27 of 73 again, and three are on their way */
	assert_int_equal(scene_take_woken(scene, waiters), 3);
	scene_free(scene);
}

static void not_all_are_woken_at_once(void **state)
{
	const struct transport_delivery more = delivery_for("a.example", "s@s.example", 9500);
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters;

	(void)state;
	scene_add(scene, "a.example", "s@s.example", 1);
	leave(scene, 0);
	waiters = park(scene, &more, 200);
	leave(scene, SHARE_UNITS);
	let_leave(scene, 1);
	assert_int_equal(scene_take_woken(scene, waiters), 50);
	transports_sweep(scene->transports); /* they have not come: they are not waited for */
	assert_int_equal(scene_take_woken(scene, waiters), 50);
	scene_free(scene);
}

static void retries_are_bounded(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct transport_delivery more = delivery_for("a.example", "s@s.example", 9500);
	struct waiters *waiters;

	(void)state;
	more.is_retry = true;
	assert_int_equal(fill(scene, "a.example", "s@s.example", true), 64);
	waiters = park(scene, &more, 100);
	let_leave(scene, 31);
	assert_int_equal(scene->roomy_calls, 0);
	let_leave(scene, 1);
	assert_ptr_equal(scene->roomy, waiters);
	assert_true(scene->roomy_retries);
	assert_int_equal(scene_take_woken(scene, waiters), 32);
	transports_sweep(scene->transports); /* they have not come: they are not waited for */
	assert_int_equal(scene_take_woken(scene, waiters), 32);
	scene_free(scene);
}

/* One who sleeps for each of COUNT destinations, where nobody waits; every second is a retry. */
static void starve(struct turn_scene *scene, unsigned count, struct waiters **waiters)
{
	leave(scene, 0);
	for (unsigned i = 0; i < count; i++) {
		const char name[] = {(char)('a' + i), '\0'};
		struct transport_delivery more = delivery_for(name, "s@s.example", 9500);

		more.is_retry = i % 2 == 1;
		waiters[i] = park(scene, &more, 1);
		assert_null(transports_check(scene->transports));
	}
	leave(scene, SHARE_UNITS);
}

/* Who has nobody there is woken when somebody else leaves, a few at a time. */
static void who_starves_is_fed_by_others(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters[6];
	struct job *job;

	(void)state;
	scene_add(scene, "z.example", "s@s.example", 0);
	starve(scene, COUNT_OF(waiters), waiters);
	job = scene_start(scene, scene->remote);
	assert_int_equal(scene->roomy_calls, 4);
	assert_ptr_equal(scene->roomy, waiters[3]);
	assert_true(scene->roomy_retries);
	assert_int_equal(scene->roomy_count, 1);
	scene_end(scene, job, 0, true);
	assert_int_equal(scene->roomy_calls, 6);
	assert_ptr_equal(scene->roomy, waiters[5]);
	scene_free(scene);
}

/* Nobody leaves, because nobody is there. */
static void who_starves_alone_is_fed_in_time(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters[6];

	(void)state;
	starve(scene, COUNT_OF(waiters), waiters);
	assert_int_equal(scene->roomy_calls, 0);
	transports_sweep(scene->transports);
	assert_int_equal(scene->roomy_calls, 6);
	scene_free(scene);
}

/* What is known of few destinations is kept, but of each where somebody sleeps. */
static void where_one_sleeps_is_not_forgotten(void **state)
{
	struct turn_scene *scene = scene_new(8, 8);
	struct waiters *waiters[2];

	(void)state;
	starve(scene, COUNT_OF(waiters), waiters);
	for (unsigned i = 0; i < 5000; i++) {
		struct job *job;
		char name[16];

		snprintf(name, sizeof name, "%u", i);
		leave(scene, SHARE_UNITS);
		job = scene_add(scene, name, "s@s.example", 1);
		leave(scene, 0);
		assert_ptr_equal(scene_start(scene, scene->remote), job);
		scene_end(scene, job, 0, true);
	}
	assert_int_equal(waiters[0]->count, 1);
	assert_int_equal(waiters[1]->count, 1);
	scene_free(scene);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_hog_gets_a_share),
		cmocka_unit_test(a_newcomer_finds_room),
		cmocka_unit_test(others_memory_counts),
		cmocka_unit_test(room_is_told_of_when_half_is_free),
		cmocka_unit_test(who_was_woken_is_expected),
		cmocka_unit_test(who_has_come_is_not_expected_any_more),
		cmocka_unit_test(not_all_are_woken_at_once),
		cmocka_unit_test(retries_are_bounded),
		cmocka_unit_test(who_starves_is_fed_by_others),
		cmocka_unit_test(who_starves_alone_is_fed_in_time),
		cmocka_unit_test(where_one_sleeps_is_not_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
