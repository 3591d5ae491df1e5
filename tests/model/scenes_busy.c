// SPDX-License-Identifier: ISC
/* What becomes of jobs whose destination has had enough for now. */
#include "scene.h"
#include "unit/test.h"

static void be_busy(struct model_message *m, uint32_t delivery, int64_t wait_us)
{
	model_say_busy(m, delivery, (uint32_t)(wait_us / 1000));
	scene_work();
}

/* It is neither tried nor recorded nor logged, and others go on; then it is tried as at first. */
static void a_busy_destination_is_waited_for(void **state)
{
	struct model_message *m;
	struct model_message *beside;
	struct model_message *other;
	unsigned deferred;

	(void)state;
	scene_begin(true);
	deferred = model_logged(EVENT_DEFERRED);
	m = scene_mail("r@fast.example");
	be_busy(m, 1, 5 * SECOND_US);
	beside = scene_mail("r@fast.example");
	other = scene_mail("r@fast2.example");
	scene_work();
	assert_true(scene_is_tried(other, 1));
	scene_pass(5 * SECOND_US - 2000);
	assert_false(scene_is_tried(m, 1));
	assert_false(scene_is_tried(beside, 1));
	assert_false(m->is_at_s5);
	assert_int_equal(model_logged(EVENT_DEFERRED), deferred);
	scene_pass(SECOND_US / 10);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	scene_say(beside, 1, "2.0.0", "");
	scene_say(other, 1, "2.0.0", "");
	assert_false(m->is_present || beside->is_present || other->is_present);
	scene_end();
}

/* What was decided is decided, and before long recorded; the rest waits. */
static void some_of_its_recipients_may_be_decided(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("a@fast.example", "b@fast.example", "c@fast.example");
	model_say(m, 1, "2.0.0", "");
	model_say(m, 3, "5.1.1", "");
	be_busy(m, 2, MINUTE_US);
	scene_pass(SECOND_US);
	scene_work();
	assert_true(m->is_at_s5);
	assert_false(scene_is_tried(m, 2));
	scene_pass(MINUTE_US);
	scene_work();
	assert_true(scene_is_tried(m, 2));
	assert_false(scene_is_tried(m, 1) || scene_is_tried(m, 3));
	scene_say(m, 2, "2.0.0", "");
	assert_int_equal(m->reports, 1);
	assert_false(m->is_present);
	scene_end();
}

/* Everything was, so there is nothing to wait for. */
static void all_of_them_may_be_decided(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("a@fast.example", "b@fast.example", NULL);
	model_say(m, 1, "2.0.0", "");
	model_say_before_the_end(m, 2, "2.0.0");
	be_busy(m, 2, MINUTE_US);
	assert_false(m->is_present);
	scene_end();
}

/* Attempts are not counted: it expires by its age, and not before. */
static void who_is_always_busy_expires(void **state)
{
	struct model_message *m;
	int64_t passed_us = 0;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@fast.example");
	while (passed_us < MODEL_LIFETIME_US) {
		assert_true(scene_is_tried(m, 1));
		be_busy(m, 1, HOUR_US);
		scene_pass(HOUR_US + SECOND_US);
		passed_us += HOUR_US + SECOND_US;
		assert_int_equal(m->reports, 0);
	}
	assert_true(scene_is_tried(m, 1));
	be_busy(m, 1, HOUR_US);
	assert_int_equal(m->reports, 1);
	assert_false(m->is_present);
	scene_end();
}

/* Retries sleep through a long pause. */
static void retries_sleep_meanwhile(void **state)
{
	struct model_message *m[3];

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < COUNT_OF(m); i++) {
		m[i] = scene_mail("r@fast.example");
		scene_say(m[i], 1, "4.2.1", "");
	}
	scene_pass(20 * MINUTE_US);
	scene_work();
	for (size_t i = 0; i < COUNT_OF(m); i++)
		assert_true(scene_is_tried(m[i], 1));
	be_busy(m[0], 1, 30 * MINUTE_US);
	scene_say(m[1], 1, "2.0.0", "");
	assert_true(scene_waits(m[0]));
	be_busy(m[2], 1, 20 * MINUTE_US);
	assert_true(scene_waits(m[2]));
	scene_pass(20 * MINUTE_US + 2 * SECOND_US);
	assert_true(scene_is_tried(m[0], 1) && scene_is_tried(m[2], 1));
	scene_say(m[0], 1, "2.0.0", "");
	scene_say(m[2], 1, "2.0.0", "");
	assert_false(m[0]->is_present || m[2]->is_present);
	scene_end();
}

/* Another recipient was tried before the pause: it is not due when that ends. */
static void a_pause_makes_nobody_due(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@fast.example", "s@fast.example", NULL);
	scene_say(m, 1, "4.2.1", "");
	scene_say(m, 2, "4.2.1", "");
	scene_pass(20 * MINUTE_US);
	scene_work();
	assert_true(scene_is_tried(m, 1) && scene_is_tried(m, 2));
	scene_say(m, 1, "4.2.1", "");
	be_busy(m, 2, 20 * MINUTE_US);
	assert_true(scene_waits(m));
	scene_pass(20 * MINUTE_US + 2 * SECOND_US);
	assert_true(scene_is_tried(m, 2));
	assert_false(scene_is_tried(m, 1));
	scene_say(m, 2, "2.0.0", "");
	scene_end();
}

/* Both were released, one before the pause. */
static void who_was_released_before_a_pause_is_tried_once(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@fast.example", "s@fast.example", NULL);
	scene_say(m, 1, "4.2.1", "");
	scene_say(m, 2, "4.2.1", "");
	assert_string_equal(scene_order("retry", m), "ok");
	scene_work();
	assert_true(scene_is_tried(m, 1) && scene_is_tried(m, 2));
	scene_say(m, 1, "4.2.1", "");
	be_busy(m, 2, MINUTE_US);
	assert_true(scene_waits(m));
	scene_pass(MINUTE_US + 2 * SECOND_US);
	assert_true(scene_is_tried(m, 2));
	assert_false(scene_is_tried(m, 1));
	scene_say(m, 2, "2.0.0", "");
	scene_end();
}

/* Who sleeps through a pause is told of the delay all the same, once, and goes on waiting. */
static void delays_are_reported_meanwhile(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.delaynotice_us = 40 * MINUTE_US;
	scene_configure();
	m = scene_mail("r@fast.example");
	scene_say(m, 1, "4.2.1", "");
	scene_pass(20 * MINUTE_US);
	be_busy(m, 1, HOUR_US);
	assert_true(scene_waits(m));
	scene_pass(19 * MINUTE_US);
	scene_work();
	assert_int_equal(m->delays, 0);
	scene_pass(2 * MINUTE_US);
	scene_work();
	assert_int_equal(m->delays, 1);
	scene_pass(SECOND_US);
	scene_work();
	assert_true(scene_waits(m));
	assert_int_equal(scene_due_in(m), INT64_MAX);
	scene_pass(40 * MINUTE_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_int_equal(m->delays, 1);
	scene_end();
}

/* An order is carried out at once on mail that waits for its turn, wherever it does. */
static void orders_do_not_wait(void **state)
{
	struct model_message *m[5];

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < COUNT_OF(m); i++) {
		m[i] = i == 0 ? scene_mail_to("a@fast.example", "b@fast2.example", NULL)
			      : scene_mail("r@fast.example");
		if (i == 0)
			be_busy(m[0], 1, HOUR_US);
	}
	assert_string_equal(scene_order("remove", m[0]), "err a delivery is under way; ask again");
	be_busy(m[0], 2, HOUR_US);
	m[0]->is_given_up = m[1]->is_given_up = true;
	assert_string_equal(scene_order("remove", m[0]), "ok");
	scene_work();
	assert_false(m[0]->is_present);
	assert_int_equal(m[0]->reports, 0);
	assert_string_equal(scene_order("bounce", m[1]), "ok");
	scene_work();
	assert_int_equal(m[1]->reports, 1);
	assert_string_equal(scene_order("hold", m[2]), "ok");
	assert_string_equal(scene_order("requeue", m[3]), "ok");
	scene_work();
	assert_true(scene_waits(m[2]));
	model_resolve(MODEL_KNOWN);
	scene_work();
	scene_pass(HOUR_US + SECOND_US);
	scene_work();
	assert_false(scene_is_tried(m[2], 1));
	assert_true(scene_is_tried(m[3], 1) && scene_is_tried(m[4], 1));
	scene_say(m[3], 1, "2.0.0", "");
	scene_say(m[4], 1, "2.0.0", "");
	m[2]->is_given_up = true;
	assert_string_equal(scene_order("remove", m[2]), "ok");
	scene_work();
	assert_false(m[2]->is_present);
	scene_end();
}

/* A helper that is lost had others: what is paused waits on, for the helper, too. */
static void the_helper_may_be_lost_meanwhile(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@fast.example");
	be_busy(m, 1, MINUTE_US);
	model_lose("remote");
	scene_pass(2 * MINUTE_US);
	assert_false(scene_is_tried(m, 1));
	model_connect_helpers();
	scene_work();
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	scene_end();
}

static void a_reload_ends_no_pause(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@fast.example");
	be_busy(m, 1, MINUTE_US);
	scene_configure();
	scene_pass(MINUTE_US / 2);
	assert_false(scene_is_tried(m, 1));
	scene_pass(MINUTE_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	scene_end();
}

static void a_stop_waits_for_no_pause(void **state)
{
	struct model_message *m[2];

	(void)state;
	scene_begin(true);
	m[0] = scene_mail("r@fast.example");
	m[1] = scene_mail("r@fast2.example");
	be_busy(m[0], 1, HOUR_US);
	scene_stop();
	assert_false(scene_has_stopped());
	be_busy(m[1], 1, HOUR_US);
	scene_pass(SECOND_US);
	scene_work();
	assert_true(scene_has_stopped());
	assert_true(m[0]->is_present && m[1]->is_present);
	scene_end();
}

/* Only another host can be busy; and nobody can say it for longer than an hour. */
static void who_may_not_say_it_is_no_helper(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@local");
	model_say_busy(m, 1, 1000);
	assert_false(scene_is_tried(m, 1)); /* its connection is closed */
	m = scene_mail("r@fast.example");
	model_say_busy(m, 1, 60 * 60 * 1000 + 1);
	assert_false(scene_is_tried(m, 1));
	scene_work();
	model_connect_helpers();
	scene_pass(MINUTE_US);
	scene_work();
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_busy_destination_is_waited_for),
		cmocka_unit_test(some_of_its_recipients_may_be_decided),
		cmocka_unit_test(all_of_them_may_be_decided),
		cmocka_unit_test(who_is_always_busy_expires),
		cmocka_unit_test(retries_sleep_meanwhile),
		cmocka_unit_test(a_pause_makes_nobody_due),
		cmocka_unit_test(who_was_released_before_a_pause_is_tried_once),
		cmocka_unit_test(delays_are_reported_meanwhile),
		cmocka_unit_test(orders_do_not_wait),
		cmocka_unit_test(the_helper_may_be_lost_meanwhile),
		cmocka_unit_test(a_reload_ends_no_pause),
		cmocka_unit_test(a_stop_waits_for_no_pause),
		cmocka_unit_test(who_may_not_say_it_is_no_helper),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
