// SPDX-License-Identifier: ISC
/* How old a policy is, against a plain model, at each bound: the wall clock is set while it is
 * known, or was wrong before. */
#include "base/attributes.h"
#include "chance.h"
#include "os/clock.h"
#include "policy/sts/age.h"
#include "test.h"

static int64_t wall_us, boot_us;

int64_t __wrap_os_clock_wall_us(void);
int64_t __wrap_os_clock_wall_us(void)
{
	return wall_us;
}

int64_t __wrap_os_clock_boot_us(void);
int64_t __wrap_os_clock_boot_us(void)
{
	return boot_us;
}

/* --- the model --- */

static struct {
	int64_t fetched_us, length_us; /* by the wall clock */
	int64_t age_us;                /* when it was learnt; never below 0 */
	int64_t learnt_us;             /* by the boot clock */
	bool is_doubted;
} model;

static void learn(int64_t fetched_us, int64_t max_age_us)
{
	model.fetched_us = fetched_us;
	model.length_us = max_age_us < MINUTE_US ? MINUTE_US : max_age_us;
	model.age_us = wall_us < fetched_us ? 0 : wall_us - fetched_us;
	model.learnt_us = boot_us;
	model.is_doubted = wall_us - fetched_us >= model.length_us;
}

/* By the clock, as it is now, it was fetched an hour ahead. */
static bool is_future(void)
{
	return wall_us < model.fetched_us - HOUR_US;
}

static bool has_ended(void)
{
	if (model.is_doubted)
		return is_future() || wall_us - model.fetched_us >= model.length_us;
	return boot_us - model.learnt_us + model.age_us >= model.length_us;
}

static void check_age(const struct sts_age *age, int64_t pause_us)
{
	bool is_over = has_ended();

	assert_int_equal(sts_age_is_over(age), is_over);
	assert_int_equal(sts_age_is_over_for_good(age),
			 is_over && (!model.is_doubted || boot_us - model.learnt_us >= DAY_US));
	assert_int_equal(sts_age_is_due(age, pause_us),
			 boot_us - model.learnt_us + model.age_us >= pause_us || is_future());
	assert_int_equal(sts_age_end_us(age),
			 wall_us + model.length_us - model.age_us - (boot_us - model.learnt_us));
}

/* --- what happens --- */

static int64_t some_span_us(void)
{
	static const int64_t spans_us[] = {0, MINUTE_US, HOUR_US, DAY_US, 7 * DAY_US, 365 * DAY_US};

	return spans_us[chance(COUNT_OF(spans_us))] + (int64_t)chance(3) - 1;
}

static void pass_us(int64_t us)
{
	us = us > 0 ? us : 0;
	wall_us += us;
	boot_us += us;
}

/* To a moment before, at or after one of the bounds. */
static void set_wall(void)
{
	static const int64_t bounds_us[] = {-HOUR_US, 0, HOUR_US};

	if (chance(3) == 0)
		wall_us += chance(2) == 0 ? some_span_us() : -some_span_us();
	else
		wall_us = model.fetched_us + bounds_us[chance(3)] +
			  (chance(2) == 0 ? model.length_us : 0) + (int64_t)chance(3) - 1;
}

static void any_age(void **state)
{
	(void)state;
	for (unsigned turn = 0; turn < 20000; turn++) {
		int64_t fetched_us, max_age_us = some_span_us();
		struct sts_age age;

		wall_us = 2000 * DAY_US;
		boot_us = 1000 * DAY_US;
		fetched_us = wall_us + (chance(2) == 0 ? some_span_us() : -some_span_us());
		if (chance(3) == 0)
			fetched_us = wall_us - max_age_us + (int64_t)chance(3) - 1;
		sts_age_begin(&age, fetched_us, max_age_us);
		learn(fetched_us, max_age_us);
		for (unsigned step = 0; step < 12; step++) {
			check_age(&age, some_span_us());
			switch (chance(4)) {
			case 0:
				set_wall();
				break;
			case 1:
				pass_us(some_span_us());
				break;
			case 2: /* exactly to its end, or a moment before */
				pass_us(model.length_us - model.age_us -
					(boot_us - model.learnt_us) - (int64_t)chance(2));
				break;
			default:
				sts_age_settle(&age);
				if (model.is_doubted && !has_ended())
					learn(model.fetched_us, model.length_us);
			}
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(any_age)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
