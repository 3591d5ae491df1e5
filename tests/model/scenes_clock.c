// SPDX-License-Identifier: ISC
/* Machines that begin with a clock that is wrong, or was. */
#include "scene.h"
#include "unit/test.h"

/* A message that is deferred, for 400 seconds at most. */
static struct model_message *deferred(void)
{
	struct model_message *m = scene_mail("r@grey.example");

	scene_say(m, 1, "4.7.1", "");
	return m;
}

/* For how long it has waited nobody knows. */
static void what_was_deferred_in_the_future_is_due(void **state)
{
	unsigned logged = model_logged(EVENT_CLOCK_BEHIND);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = deferred();
	scene_restart(-5 * HOUR_US);
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	assert_int_equal(model_logged(EVENT_CLOCK_BEHIND), logged + 1);
	scene_say(m, 1, "4.7.1", ""); /* from now on by the clock as it is */
	assert_true(scene_due_in(m) <= 10 * HOUR_US);
	scene_restart(0);
	scene_pass(SECOND_US);
	assert_true(scene_due_in(m) > 0);
	assert_int_equal(model_logged(EVENT_CLOCK_BEHIND), logged + 1);
	scene_end();
}

/* Clocks are never quite right; and one that was behind makes nothing late. */
static void other_times_are_kept(void **state)
{
	static const int64_t jumps_us[] = {0, -30 * SECOND_US, 100 * SECOND_US};
	unsigned logged = model_logged(EVENT_CLOCK_BEHIND);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(jumps_us); i++) {
		struct model_message *m;

		scene_begin(true);
		m = deferred();
		scene_restart(jumps_us[i]);
		assert_in_range(scene_due_in(m), 350 * SECOND_US - jumps_us[i],
				401 * SECOND_US - jumps_us[i]);
		scene_end();
	}
	assert_int_equal(model_logged(EVENT_CLOCK_BEHIND), logged);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_deferred_in_the_future_is_due),
		cmocka_unit_test(other_times_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
