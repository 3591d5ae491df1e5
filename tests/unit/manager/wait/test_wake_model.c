// SPDX-License-Identifier: ISC
/*
 * Who is woken, in all orders of what happens: each has a reason then, is the first who has it, and
 * nobody who could be woken sleeps on. No new mail comes (retry_pace says what that changes).
 */
#include "base/panic.h"
#include "chance.h"
#include "heard.h"
#include "manager/wait/wake.h"
#include "os/clock.h"
#include "test.h"
#include "wait_scene.h"
#include <stdio.h>
#include <stdlib.h>

enum { LIVES = 300, STEPS = 400, MESSAGES = 24, PATIENCE_US = 200000 };

enum where { AWAKE, ALONE, CROWD, NEWCOMERS, TRIGGER, RELEASED, AGAIN, FIRST, UNMAPPED };

static struct one {
	enum where where;
	int64_t due_us;
	unsigned since; /* it is there: who came first is first */
	bool is_s4, is_released, is_retry;
} ones[MESSAGES + 1];

static struct wait_scene *scene;
static struct wake *wake;
static struct share share;
static struct waiters crowd, newcomers;
static struct trigger *event;
static unsigned moves;
static int64_t ahead_us; /* of the wall clock, as it was taken for right */
static bool is_stopped;

static void move_one(uint64_t number, enum where where)
{
	ones[number].where = where;
	ones[number].since = ++moves;
}

/* The one that has been there for longest; 0: nobody is. */
static uint64_t first_in(enum where where)
{
	uint64_t first = 0;

	for (uint64_t i = 1; i <= MESSAGES; i++)
		if (ones[i].where == where && (first == 0 || ones[i].since < ones[first].since))
			first = i;
	return first;
}

static int64_t earliest_us(void)
{
	int64_t due_us = INT64_MAX;

	for (uint64_t i = 1; i <= MESSAGES; i++)
		if (ones[i].where != AWAKE && ones[i].due_us < due_us)
			due_us = ones[i].due_us;
	return due_us;
}

static bool may_retry(void)
{
	return share_free(&share) > share.limit / 4;
}

/* Whether it may be woken now, if its turn has come. */
static bool has_reason(const struct one *one)
{
	bool may_map = share_may_map(&share, false);

	if (one->where == AWAKE || is_stopped)
		return false;
	if (one->where == FIRST && may_map)
		return true;
	if (!may_retry())
		return false;
	if (one->due_us <= os_clock_wall_us())
		return true;
	if (one->where == UNMAPPED)
		return may_map;
	return (one->where == AGAIN || one->where == RELEASED) && (!one->is_s4 || may_map);
}

/* Who had no room to be mapped waits for it, and keeps its reason. */
static void note_unmapped(void)
{
	for (uint64_t i = 1; i <= MESSAGES; i++) {
		const struct sleeper *sleeper = sleepers_find(&scene->sleepers, i);

		if (sleeper == NULL || sleeper->waiters != wake_unmapped(wake) ||
		    ones[i].where == UNMAPPED)
			continue;
		assert_true(ones[i].is_s4 && !share_may_map(&share, false));
		assert_true(ones[i].where == AGAIN || ones[i].where == RELEASED);
		move_one(i, UNMAPPED);
	}
}

static void on_wake(void *context, struct sleeper *sleeper, bool is_retry)
{
	struct one *one = &ones[sleeper->number];

	(void)context;
	note_unmapped();
	assert_true(has_reason(one));
	assert_int_equal(is_retry, one->where != FIRST || !share_may_map(&share, false));
	if (sleeper->waiters == wake_unmapped(wake))
		assert_true(one->is_s4); /* when each came there is not known */
	else if (!is_retry || one->due_us > os_clock_wall_us())
		assert_int_equal(sleeper->number, first_in(one->where));
	else if (one->where != AGAIN && one->where != RELEASED)
		assert_int_equal(one->due_us, earliest_us());
	sleepers_remove(&scene->sleepers, sleeper);
	one->is_retry = is_retry;
	one->where = AWAKE;
	if (is_retry && chance(3) == 0) { /* it sleeps again at once, elsewhere */
		one->is_retry = false;
		wake_retry_ended(wake, chance(2) == 0);
	}
}

static void on_load(void *context, unsigned *processors_out, unsigned *disk_out)
{
	(void)context;
	*processors_out = *disk_out = 0;
}

/* --- what happens --- */

/* Who is still to be woken for its release waits for it again. */
static struct waiters *set_event(void)
{
	if (event == NULL)
		for (uint64_t i = 1; i <= MESSAGES; i++)
			if (ones[i].where == RELEASED)
				ones[i].where = TRIGGER;
	event = triggers_set(scene->triggers, STR("event"), STR(""));
	assert_non_null(event);
	return trigger_waiters(event);
}

static void put_to_sleep(uint64_t number)
{
	static const int64_t spans[] = {0, 1, SECOND_US, 61 * SECOND_US, HOUR_US};
	struct one *one = &ones[number];
	size_t what = chance(6);
	struct sleeper *sleeper;

	if (one->is_retry)
		wake_retry_ended(wake, chance(4) == 0);
	*one = (struct one){.due_us = what < 3 ? os_clock_wall_us() + spans[chance(COUNT_OF(spans))]
					       : INT64_MAX,
			    .is_s4 = chance(2) == 0,
			    .is_released = chance(2) == 0};
	move_one(number, what % 3 == 0 ? ALONE
			 : what == 1   ? CROWD
			 : what == 2   ? NEWCOMERS
				       : TRIGGER);
	wait_scene_sleep(scene, number, one->due_us,
			 one->where == ALONE       ? NULL
			 : one->where == CROWD     ? &crowd
			 : one->where == NEWCOMERS ? &newcomers
						   : set_event());
	sleeper = sleepers_find(&scene->sleepers, number);
	sleeper->facts.place = one->is_s4 ? MESSAGE_AT_S4_NAMED : MESSAGE_AT_S5_TODO;
	sleeper->facts.is_released = one->is_released;
	wake_schedule(wake);
}

static void wake_some(enum where from, struct waiters *waiters, bool retries)
{
	size_t count = chance(4);

	wake_waiters(wake, waiters, count, retries);
	for (; count > 0 && first_in(from) > 0; count--) {
		uint64_t number = first_in(from);

		if (!ones[number].is_s4 && ones[number].is_released)
			ones[number].due_us = INT64_MAX;
		move_one(number, retries ? AGAIN : FIRST);
	}
}

static void release_event(void)
{
	if (event == NULL)
		return;
	triggers_release(scene->triggers, event);
	event = NULL;
	scene->released[0] = '\0';
	for (uint64_t i = 1; i <= MESSAGES; i++)
		if (ones[i].where == TRIGGER)
			ones[i].where = RELEASED; /* they stay in their order */
	wake_schedule(wake);
}

static void set_clock(void)
{
	static const int64_t jumps[] = {1, 4 * SECOND_US, 10 * SECOND_US - 1, 10 * SECOND_US,
					HOUR_US};
	int64_t by_us = jumps[chance(COUNT_OF(jumps))] * (chance(2) == 0 ? 1 : -1);
	int64_t jump_us;
	char line[64] = "";

	(void)heard_take();
	fake_set_wall(by_us);
	jump_us = os_clock_wall_us() - os_clock_boot_us() - ahead_us;
	wake_check_clock(wake);
	if (llabs(jump_us) >= 10 * SECOND_US) {
		ahead_us += jump_us;
		for (uint64_t i = 1; i <= MESSAGES; i++)
			if (ones[i].due_us != INT64_MAX)
				ones[i].due_us += jump_us;
		snprintf(line, sizeof line, "clock_set seconds=%lld\n",
			 (long long)(jump_us / SECOND_US));
	}
	assert_string_equal(heard_take(), line);
	fake_advance(61 * SECOND_US); /* who was woken by the clock as it was may be late */
}

static void change_share(void)
{
	static const size_t used[] = {0, SHARE_UNITS * 3 / 4 - 1, SHARE_UNITS * 3 / 4, SHARE_UNITS};
	static const size_t mapping[] = {0, SHARE_UNITS / 8 - 1, SHARE_UNITS / 8};

	share.used = used[chance(COUNT_OF(used))];
	share.mapping = mapping[chance(COUNT_OF(mapping))];
	wake_schedule(wake);
}

static void wake_one_first(void)
{
	uint64_t number = 1 + chance(MESSAGES);

	if (ones[number].where == AWAKE)
		return;
	wake_first(wake, sleepers_find(&scene->sleepers, number));
	ones[number].due_us = INT64_MAX;
	move_one(number, FIRST);
}

/* Within the pause after others were woken. */
static bool is_just_due(const struct one *one)
{
	return one->due_us <= os_clock_wall_us() && one->due_us > os_clock_wall_us() - 10000;
}

/* Nobody sleeps who could be woken. */
static void check_all(bool has_had_time)
{
	note_unmapped();
	for (uint64_t i = 1; i <= MESSAGES; i++) {
		const struct sleeper *sleeper = sleepers_find(&scene->sleepers, i);

		assert_int_equal(sleeper != NULL, ones[i].where != AWAKE);
		if (sleeper == NULL)
			continue;
		assert_int_equal(sleeper->due_us, ones[i].due_us);
		if (has_had_time && !is_just_due(&ones[i]))
			assert_false(has_reason(&ones[i]));
	}
}

static void play_wake_step(void)
{
	static const int64_t spans[] = {1000, PATIENCE_US, 2 * SECOND_US, 61 * SECOND_US};
	uint64_t number = 1 + chance(MESSAGES);
	int64_t span_us = spans[chance(COUNT_OF(spans))];

	note_unmapped();
	switch (chance(10)) {
	case 0:
		wake_some(CROWD, &crowd, true);
		break;
	case 1:
		wake_some(NEWCOMERS, &newcomers, false);
		break;
	case 2:
		release_event();
		break;
	case 3:
		set_clock();
		break;
	case 4:
		change_share();
		break;
	case 5:
		wake_one_first();
		break;
	default:
		if (ones[number].where == AWAKE)
			put_to_sleep(number);
	}
	if (chance(2) == 0) {
		fake_advance(span_us);
		check_all(span_us >= PATIENCE_US);
	}
}

static void live(void)
{
	static const struct wake_handler handler = {on_wake, on_load};

	scene = wait_scene_new();
	scene->refuses_probes = true;
	share = (struct share){.limit = SHARE_UNITS};
	crowd = newcomers = (struct waiters){0};
	is_stopped = false;
	for (uint64_t i = 1; i <= MESSAGES; i++)
		ones[i] = (struct one){.where = AWAKE, .due_us = INT64_MAX};
	event = NULL;
	wake = wake_new(NULL, &scene->sleepers, scene->triggers, &share, &handler, NULL);
	wake_check_clock(wake);
	ahead_us = os_clock_wall_us() - os_clock_boot_us();
	(void)heard_take();
	for (unsigned i = 0; i < STEPS; i++)
		play_wake_step();
	wake_stop(wake);
	is_stopped = true;
	wake_schedule(wake);
	fake_advance(2 * HOUR_US);
	wake_free(wake);
	wait_scene_free(scene);
	(void)heard_take();
}

static void nobody_sleeps_who_could_be_woken(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIVES; i++)
		live();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nobody_sleeps_who_could_be_woken),
	};

	return cmocka_run_group_tests(tests, scene_open, scene_close);
}
