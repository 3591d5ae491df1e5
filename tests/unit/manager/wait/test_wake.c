// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "manager/wait/wake.h"
#include "os/clock.h"
#include "test.h"
#include "wait_scene.h"
#include <stdlib.h>

enum { RETRIES_MAX = 1000, WOKEN_MAX = 4096 };

struct scene {
	struct wait_scene *wait;
	struct share share;
	struct wake *wake;
	uint64_t woken[WOKEN_MAX];
	size_t count, retries;
	int64_t costs_us;    /* of each that is woken */
	bool is_crowded;     /* where they are to go: they sleep again at once */
	unsigned processors; /* busy */
	unsigned looks;      /* at that */
};

static void on_wake(void *context, struct sleeper *sleeper, bool is_retry)
{
	struct scene *scene = context;

	assert_true(scene->count < WOKEN_MAX);
	scene->woken[scene->count++] = sleeper->number;
	scene->retries += is_retry;
	sleepers_remove(&scene->wait->sleepers, sleeper);
	fake_pass(scene->costs_us);
	if (scene->is_crowded)
		wake_retry_ended(scene->wake, true);
}

static void on_load(void *context, unsigned *processors_out, unsigned *disk_out)
{
	struct scene *scene = context;

	scene->looks++;
	*processors_out = scene->processors;
	*disk_out = 0;
}

static const struct wake_handler handler = {on_wake, on_load};

static struct scene *begin(void)
{
	struct scene *scene = memory_alloc_zero(1, sizeof *scene);

	scene->wait = wait_scene_new();
	scene->share.limit = SHARE_UNITS;
	scene->wake = wake_new(NULL, &scene->wait->sleepers, scene->wait->triggers, &scene->share,
			       &handler, scene);
	wake_check_clock(scene->wake);
	return scene;
}

static void end(struct scene *scene)
{
	wake_free(scene->wake);
	wait_scene_free(scene->wait);
	free(scene);
}

/* From FIRST on, due in DELAY_US. */
static void sleep_in(struct scene *scene, uint64_t first, unsigned count, int64_t delay_us,
		     struct waiters *waiters)
{
	int64_t due_us = delay_us == INT64_MAX ? INT64_MAX : os_clock_wall_us() + delay_us;

	for (unsigned i = 0; i < count; i++)
		wait_scene_sleep(scene->wait, first + i, due_us, waiters);
	wake_schedule(scene->wake);
}

static void expect_woken(const struct scene *scene, size_t count, const uint64_t *numbers)
{
	assert_int_equal(scene->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(scene->woken[i], numbers[i]);
}

static void who_is_due_is_woken(void **state)
{
	static const uint64_t order[] = {2, 3, 1};
	struct scene *scene = begin();

	(void)state;
	sleep_in(scene, 1, 1, 200 * SECOND_US, NULL);
	sleep_in(scene, 2, 1, 10 * SECOND_US, NULL);
	sleep_in(scene, 3, 1, 20 * SECOND_US, NULL);
	fake_advance(10 * SECOND_US - 1);
	assert_int_equal(scene->count, 0);
	fake_advance(2);
	assert_int_equal(scene->count, 1);
	fake_advance(189 * SECOND_US);
	assert_int_equal(scene->count, 2);
	fake_advance(SECOND_US);
	expect_woken(scene, COUNT_OF(order), order);
	assert_int_equal(scene->retries, 3);
	end(scene);
}

static void sources_take_turns(void **state)
{
	static const uint64_t order[] = {91, 92, 93, 1, 11, 21, 2, 12, 22, 3, 13};
	struct scene *scene = begin();
	struct waiters crowd = {0};
	struct waiters newcomers = {0};
	struct trigger *trigger = triggers_set(scene->wait->triggers, STR("event"), STR(""));

	(void)state;
	assert_non_null(trigger);
	for (uint64_t i = 1; i <= 3; i++)
		wait_scene_sleep(scene->wait, i, (int64_t)i, NULL);
	for (uint64_t i = 11; i <= 14; i++)
		wait_scene_sleep(scene->wait, i, INT64_MAX, &crowd);
	for (uint64_t i = 21; i <= 22; i++)
		wait_scene_sleep(scene->wait, i, INT64_MAX, trigger_waiters(trigger));
	for (uint64_t i = 92; i <= 94; i++)
		wait_scene_sleep(scene->wait, i, INT64_MAX, &newcomers);
	wait_scene_sleep(scene->wait, 91, INT64_MAX, NULL);
	triggers_release(scene->wait->triggers, trigger);
	wake_first(scene->wake, sleepers_find(&scene->wait->sleepers, 91));
	wake_waiters(scene->wake, &crowd, 3, true);
	wake_waiters(scene->wake, &newcomers, 2, false);
	assert_int_equal(crowd.count, 1);
	assert_int_equal(newcomers.count, 1);
	fake_advance(SECOND_US / 100);
	expect_woken(scene, COUNT_OF(order), order);
	assert_int_equal(scene->retries, 8);
	end(scene);
}

/* More than there are is all of them. */
static void all_waiters_may_be_woken(void **state)
{
	struct scene *scene = begin();
	struct waiters crowd = {0};

	(void)state;
	sleep_in(scene, 1, 3, DAY_US, &crowd);
	wake_waiters(scene->wake, &crowd, 50, true);
	assert_int_equal(crowd.count, 0);
	fake_advance(SECOND_US);
	assert_int_equal(scene->count, 3);
	end(scene);
}

static void so_many_retries_are_awake(void **state)
{
	struct scene *scene = begin();

	(void)state;
	sleep_in(scene, 1, RETRIES_MAX + 50, 0, NULL);
	fake_advance(MINUTE_US);
	assert_int_equal(scene->count, RETRIES_MAX);
	for (unsigned i = 0; i < 20; i++)
		wake_retry_ended(scene->wake, false);
	fake_advance(SECOND_US);
	assert_int_equal(scene->count, RETRIES_MAX + 20);
	end(scene);
}

static void memory_is_left_to_new_mail(void **state)
{
	struct scene *scene = begin();

	(void)state;
	scene->share.used = SHARE_UNITS - SHARE_UNITS / 4;
	sleep_in(scene, 1, 1, 0, NULL);
	fake_advance(MINUTE_US);
	assert_int_equal(scene->count, 0);
	scene->share.used--;
	wake_schedule(scene->wake);
	fake_advance(SECOND_US);
	assert_int_equal(scene->count, 1);
	end(scene);
}

static void first_attempts_need_memory_to_be_mapped(void **state)
{
	struct scene *scene = begin();

	(void)state;
	scene->share.mapping = scene->share.used = SHARE_UNITS / 4 / 2;
	sleep_in(scene, 1, 1, INT64_MAX, NULL);
	wake_first(scene->wake, sleepers_find(&scene->wait->sleepers, 1));
	fake_advance(MINUTE_US);
	assert_int_equal(scene->count, 0);
	scene->share.mapping--;
	wake_schedule(scene->wake);
	fake_advance(SECOND_US);
	assert_int_equal(scene->count, 1);
	assert_int_equal(scene->retries, 0);
	end(scene);
}

/* Wakes FIRST and those after it like released retries, before they are due. */
static void release(struct scene *scene, uint64_t first, unsigned count)
{
	struct waiters crowd = {0};

	sleep_in(scene, first, count, HOUR_US, &crowd);
	wake_waiters(scene->wake, &crowd, count, true);
}

/* Nor do those who need memory to be mapped keep others back, whom they come before. */
static void who_must_be_mapped_keeps_nobody_back(void **state)
{
	struct scene *scene = begin();

	(void)state;
	scene->share.mapping = scene->share.used = SHARE_UNITS / 4 / 2;
	release(scene, 1, 3);
	sleep_in(scene, 4, 2, 2 * SECOND_US, NULL);
	for (uint64_t i = 4; i <= 5; i++)
		sleepers_find(&scene->wait->sleepers, i)->facts.place = MESSAGE_AT_S5;
	fake_advance(3 * SECOND_US);
	assert_int_equal(scene->count, 2);
	assert_in_range(scene->woken[0], 4, 5);
	fake_advance(MINUTE_US);
	assert_int_equal(scene->count, 2);
	scene->share.mapping--;
	wake_schedule(scene->wake);
	fake_advance(SECOND_US);
	assert_int_equal(scene->count, 5);
	assert_int_equal(scene->retries, 5);
	end(scene);
}

/* Its time to be returned may have come, for which it needs no mapping. */
static void who_is_due_is_read_without_memory_to_be_mapped(void **state)
{
	struct scene *scene = begin();

	(void)state;
	scene->share.mapping = scene->share.used = SHARE_UNITS / 4 / 2;
	release(scene, 1, 1);
	fake_advance(HOUR_US - SECOND_US);
	assert_int_equal(scene->count, 0);
	fake_advance(2 * SECOND_US);
	assert_int_equal(scene->count, 1);
	assert_int_equal(scene->retries, 1);
	end(scene);
}

/* The loop is left to others after two milliseconds. */
static void a_slice_is_short(void **state)
{
	struct scene *scene = begin();

	(void)state;
	scene->costs_us = 500;
	sleep_in(scene, 1, 12, 0, NULL);
	fake_play_timer();
	assert_int_equal(scene->count, 4);
	fake_pass(1999);
	assert_int_equal(fake_timers(), 1);
	fake_play_timer();
	assert_int_equal(scene->count, 8);
	fake_advance(SECOND_US);
	assert_int_equal(scene->count, 12);
	end(scene);
}

/* Others are not woken for nothing at the same moment. */
static void a_crowd_stops_a_turn(void **state)
{
	struct scene *scene = begin();

	(void)state;
	sleep_in(scene, 1, 3, 0, NULL);
	scene->is_crowded = true;
	fake_play_timer();
	assert_int_equal(scene->count, 1);
	fake_play_timer();
	assert_int_equal(scene->count, 2);
	scene->is_crowded = false;
	fake_play_timer();
	assert_int_equal(scene->count, 3);
	end(scene);
}

static void nobody_is_woken_after_the_end(void **state)
{
	struct scene *scene = begin();

	(void)state;
	sleep_in(scene, 1, 3, 0, NULL);
	wake_stop(scene->wake);
	assert_int_equal(fake_timers(), 0);
	wake_schedule(scene->wake);
	wake_first(scene->wake, sleepers_find(&scene->wait->sleepers, 2));
	fake_advance(MINUTE_US);
	assert_int_equal(scene->count, 0);
	end(scene);
}

/* Who had to wait ten minutes more waits ten minutes more. */
static void times_follow_the_clock(void **state)
{
	static const struct {
		int64_t by_us;
		int64_t shift_us; /* how far those who sleep follow */
	} cases[] = {{HOUR_US, HOUR_US},
		     {-HOUR_US, -HOUR_US},
		     {10 * SECOND_US, 10 * SECOND_US},
		     {-10 * SECOND_US, -10 * SECOND_US},
		     {10 * SECOND_US - 1, 0},
		     {-10 * SECOND_US + 1, 0}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct scene *scene = begin();
		int64_t due_us = os_clock_wall_us() + 600 * SECOND_US;

		sleep_in(scene, 1, 1, 600 * SECOND_US, NULL);
		fake_set_wall(cases[i].by_us);
		wake_check_clock(scene->wake);
		wake_check_clock(scene->wake); /* once */
		assert_int_equal(sleepers_find(&scene->wait->sleepers, 1)->due_us,
				 due_us + cases[i].shift_us);
		wake_schedule(scene->wake);
		fake_advance(580 * SECOND_US);
		assert_int_equal(scene->count, 0);
		fake_advance(100 * SECOND_US);
		assert_int_equal(scene->count, 1);
		end(scene);
	}
}

/* Nobody asks: a timer that rings at least each minute does. */
static void a_clock_that_is_set_is_noticed_in_time(void **state)
{
	struct scene *scene = begin();

	(void)state;
	sleep_in(scene, 1, 1, DAY_US, NULL);
	fake_set_wall(HOUR_US);
	fake_advance(MINUTE_US + SECOND_US);
	assert_int_equal(sleepers_find(&scene->wait->sleepers, 1)->due_us,
			 os_clock_wall_us() + DAY_US - MINUTE_US - SECOND_US);
	end(scene);
}

/* With new mail each millisecond for a second. */
static size_t woken_beside_new_mail(unsigned processors, unsigned *looks_out)
{
	struct scene *scene = begin();
	size_t count;

	scene->processors = processors;
	wake_new_mail(scene->wake);
	sleep_in(scene, 1, 3000, 0, NULL);
	for (unsigned i = 0; i < 1000; i++) {
		wake_new_mail(scene->wake);
		assert_false(wake_is_quiet(scene->wake));
		fake_advance(1000);
		for (; scene->retries > 0; scene->retries--)
			wake_retry_ended(scene->wake, false);
	}
	count = scene->count;
	*looks_out = scene->looks;
	fake_advance(2 * SECOND_US);
	assert_true(wake_is_quiet(scene->wake));
	assert_true(scene->count >= count + RETRIES_MAX || scene->count == 3000);
	end(scene);
	return count;
}

static void new_mail_leaves_retries_what_it_does_not_need(void **state)
{
	unsigned looks;

	(void)state;
	assert_in_range(woken_beside_new_mail(900, &looks), 240, 260);
	assert_in_range(looks, 15, 20);
	assert_in_range(woken_beside_new_mail(100, &looks), 1000, 3000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_due_is_woken),
		cmocka_unit_test(sources_take_turns),
		cmocka_unit_test(all_waiters_may_be_woken),
		cmocka_unit_test(so_many_retries_are_awake),
		cmocka_unit_test(memory_is_left_to_new_mail),
		cmocka_unit_test(first_attempts_need_memory_to_be_mapped),
		cmocka_unit_test(who_must_be_mapped_keeps_nobody_back),
		cmocka_unit_test(who_is_due_is_read_without_memory_to_be_mapped),
		cmocka_unit_test(a_slice_is_short),
		cmocka_unit_test(a_crowd_stops_a_turn),
		cmocka_unit_test(nobody_is_woken_after_the_end),
		cmocka_unit_test(times_follow_the_clock),
		cmocka_unit_test(a_clock_that_is_set_is_noticed_in_time),
		cmocka_unit_test(new_mail_leaves_retries_what_it_does_not_need),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
