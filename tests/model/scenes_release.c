// SPDX-License-Identifier: ISC
/* Messages that are not to be delivered before a time that their senders have asked for. */
#include "manager/message.h"
#include "manager/wait/schedule.h"
#include "scene.h"
#include "unit/test.h"

/* One that is mapped, and was to be released in HOLD_US. */
static struct model_message *mail_in(const char *first, const char *second, int64_t hold_us)
{
	struct mail_envelope *envelope = mail_envelope_new();
	uint64_t number = model_next_number();

	envelope->stage = MAIL_STAGE_SUBMIT;
	envelope->size = 100;
	envelope->sender = STR("s@sender.example");
	envelope->release_us = (model_wall_us + hold_us) / SECOND_US * SECOND_US;
	mail_envelope_add(envelope, str_from(first));
	if (second != NULL)
		mail_envelope_add(envelope, str_from(second));
	model_add_mail(envelope, false);
	mail_envelope_free(envelope);
	model_resolve(MODEL_KNOWN);
	scene_work();
	return model_find(number);
}

/* And then with all its recipients in one job each. */
static void it_is_tried_at_its_time(void **state)
{
	unsigned postponed = model_logged(EVENT_POSTPONED);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@fast.example", "r@slow.example", DAY_US);
	assert_true(m->is_at_s5);
	assert_int_equal(model_logged(EVENT_POSTPONED), postponed + 2);
	scene_pass(DAY_US - SECOND_US);
	assert_false(scene_is_tried(m, 1) || scene_is_tried(m, 2));
	scene_pass(2 * SECOND_US);
	assert_true(scene_is_tried(m, 1) && scene_is_tried(m, 2));
	assert_int_equal(model_logged(EVENT_POSTPONED), postponed + 2);
	scene_say(m, 1, "2.0.0", "");
	scene_say(m, 2, "2.0.0", "");
	assert_false(m->is_present);
	assert_int_equal(m->reports, 0);
	scene_end();
}

/* No file's time is further ahead than any wait after an attempt. */
static void it_is_looked_at_meanwhile(void **state)
{
	int64_t longest_us = schedule_longest_us(MODEL_LIFETIME_US);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@fast.example", NULL, 30 * DAY_US);
	assert_in_range(scene_due_in(m), longest_us - SECOND_US, longest_us);
	for (unsigned day = 1; day < 30; day++) {
		scene_pass(DAY_US);
		assert_false(scene_is_tried(m, 1));
		assert_in_range(scene_due_in(m), 1, longest_us);
	}
	scene_pass(DAY_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

static void its_age_counts_from_its_release(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.delaynotice_us = HOUR_US;
	scene_configure();
	m = mail_in("r@grey.example", NULL, 2 * MODEL_LIFETIME_US);
	scene_pass(2 * MODEL_LIFETIME_US + SECOND_US);
	assert_int_equal(m->delays, 0);
	scene_say(m, 1, "4.7.1", "");
	assert_in_range(scene_due_in(m), 350 * SECOND_US, 450 * SECOND_US);
	scene_pass(MODEL_LIFETIME_US - HOUR_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "4.7.1", "");
	assert_int_equal(m->delays, 1);
	scene_pass(SECOND_US);
	scene_work(); /* that it was reported is recorded */
	scene_pass(DAY_US);
	scene_say(m, 1, "4.7.1", "");
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

/* By an order that tries it now; the record of that stays if it then has to wait. */
static void an_operator_releases_it(void **state)
{
	unsigned hurried = model_logged(EVENT_HURRIED);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@grey.example", NULL, DAY_US);
	m->is_hurried = true;
	assert_string_equal(scene_order("retry", m), "ok");
	scene_pass(0);
	assert_true(scene_is_tried(m, 1));
	assert_int_equal(model_logged(EVENT_HURRIED), hurried + 1);
	scene_say(m, 1, "4.7.1", "");
	scene_pass(HOUR_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	scene_end();
}

static void an_operator_gives_it_up(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@fast.example", NULL, DAY_US);
	m->is_given_up = true;
	assert_string_equal(scene_order("remove", m), "ok");
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 0);
	scene_end();
}

/* The end of a hold, and a host that answers, are no reason to try it. */
static void nothing_else_releases_it(void **state)
{
	struct model_message *m;
	struct model_message *dead;

	(void)state;
	scene_begin(true);
	m = mail_in("r@dead.example", NULL, 2 * DAY_US);
	assert_string_equal(scene_order("hold", m), "ok");
	scene_pass(DAY_US); /* it was looked at, and waits for the hold's end */
	assert_true(scene_waits(m));
	assert_string_equal(scene_order("release", m), "ok");
	scene_pass(SECOND_US);
	assert_false(scene_is_tried(m, 1));
	dead = scene_mail("r@dead.example");
	scene_say(dead, 1, "4.4.1", "host.dead");
	assert_string_equal(model_give_order("trigger host.dead"), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(dead, 1));
	assert_false(scene_is_tried(m, 1));
	assert_false(scene_waits(m));
	scene_end();
}

/* It could not probe: that is for those that may be tried. */
static void it_waits_for_no_host_before_its_time(void **state)
{
	struct model_message *first;
	struct model_message *m;

	(void)state;
	scene_begin(true);
	first = scene_mail("r@dead.example");
	scene_say(first, 1, "4.4.1", "host.dead");
	m = mail_in("r@dead.example", NULL, HOUR_US);
	assert_false(scene_waits(m));
	scene_pass(MINUTE_US + SECOND_US);
	assert_true(scene_is_tried(first, 1));
	scene_say(first, 1, "2.0.0", "");
	scene_pass(HOUR_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* Then it does, and its age counts from its release. */
static void it_waits_for_a_host_afterwards(void **state)
{
	struct model_message *first;
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@dead.example", NULL, MODEL_LIFETIME_US);
	scene_pass(MODEL_LIFETIME_US - SECOND_US);
	first = scene_mail("r@dead.example");
	scene_say(first, 1, "4.4.1", "host.dead");
	scene_pass(10 * SECOND_US);
	assert_true(scene_waits(m) || scene_due_in(m) <= 5 * MINUTE_US);
	scene_pass(20 * SECOND_US);
	assert_true(m->is_present);
	assert_int_equal(m->reports, 0);
	scene_end();
}

/* The order outlives the wait for room: the message sleeps, and is read again. */
static void who_is_released_may_have_to_wait_for_room(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@grey.example", NULL, DAY_US);
	m->is_hurried = true;
	scene_manager->share.limit = 0;
	assert_string_equal(scene_order("retry", m), "ok");
	scene_work();
	scene_pass(SECOND_US);
	scene_work();
	assert_false(scene_is_tried(m, 1));
	scene_manager->share.limit = SHARE_UNITS;
	wake_schedule(scene_manager->wake);
	scene_pass(HOUR_US);
	scene_work();
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* Set back, it says that the record is from the future; set forth again, that the message is due,
 * which is seen when it is looked at. */
static void it_keeps_to_the_clock_as_it_is(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@fast.example", NULL, 2 * HOUR_US);
	model_wall_us -= DAY_US;
	scene_pass(3 * HOUR_US);
	assert_false(scene_is_tried(m, 1));
	model_wall_us += DAY_US;
	scene_pass(schedule_longest_us(MODEL_LIFETIME_US) + SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* Looked up again, its recipients wait again. */
static void its_addresses_can_be_looked_up_again(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_in("r@fast.example", NULL, DAY_US);
	assert_string_equal(scene_order("requeue", m), "ok");
	scene_work();
	model_resolve(MODEL_KNOWN);
	scene_work();
	scene_pass(HOUR_US);
	assert_false(scene_is_tried(m, 1));
	scene_pass(DAY_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_tried_at_its_time),
		cmocka_unit_test(it_is_looked_at_meanwhile),
		cmocka_unit_test(its_age_counts_from_its_release),
		cmocka_unit_test(an_operator_releases_it),
		cmocka_unit_test(an_operator_gives_it_up),
		cmocka_unit_test(nothing_else_releases_it),
		cmocka_unit_test(it_waits_for_no_host_before_its_time),
		cmocka_unit_test(it_waits_for_a_host_afterwards),
		cmocka_unit_test(who_is_released_may_have_to_wait_for_room),
		cmocka_unit_test(it_keeps_to_the_clock_as_it_is),
		cmocka_unit_test(its_addresses_can_be_looked_up_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
