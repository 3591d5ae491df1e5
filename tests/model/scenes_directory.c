// SPDX-License-Identifier: ISC
/* Messages whose recipients cannot be mapped yet. */
#include "scene.h"
#include "unit/test.h"

static struct model_message *unmapped(enum mail_deadline_mode mode, int64_t seconds)
{
	struct mail_envelope *envelope = mail_envelope_new();
	uint64_t number = model_next_number();

	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = MODEL_SIZE;
	envelope->sender = STR("s@sender.example");
	envelope->deadline.mode = mode;
	mail_deadline_set(&envelope->deadline, seconds, model_wall_us);
	mail_envelope_add(envelope, STR("r@fast.example"));
	model_add_mail(envelope, false);
	mail_envelope_free(envelope);
	return model_find(number);
}

/* The directory stays away meanwhile. */
static void pass_away(int64_t us)
{
	for (; us > 0; us -= MINUTE_US) {
		model_advance(us < MINUTE_US ? us : MINUTE_US);
		model_resolve(MODEL_AWAY);
		scene_work();
		model_resolve(MODEL_AWAY);
	}
	scene_pass(0);
}

static void begin(void)
{
	scene_begin(true);
	scene_config.delaynotice_us = HOUR_US;
	scene_configure();
}

static void assert_delivered(struct model_message *m)
{
	scene_pass(SECOND_US);
	scene_work();
	model_resolve(MODEL_KNOWN);
	scene_work();
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	assert_int_equal(m->reports, 0);
}

/* Nobody knows where it should go, and its sender hears that it waits: once. */
static void a_delay_is_reported_without_a_map(void **state)
{
	struct model_message *m;

	(void)state;
	begin();
	m = unmapped(MAIL_DEADLINE_NONE, 0);
	model_resolve(MODEL_AWAY);
	assert_true(scene_waits(m));
	pass_away(59 * MINUTE_US);
	assert_int_equal(m->delays, 0);
	pass_away(3 * MINUTE_US);
	assert_int_equal(m->delays, 1);
	assert_true(scene_waits(m));
	pass_away(5 * HOUR_US);
	assert_int_equal(m->delays, 1);
	model_directory_is_back();
	assert_delivered(m);
	assert_int_equal(m->delays, 1);
	scene_end();
}

/* The directory is back in time, though it was not asked before. */
static void an_answer_spares_the_report(void **state)
{
	struct model_message *m;

	(void)state;
	begin();
	m = unmapped(MAIL_DEADLINE_NONE, 0);
	model_resolve(MODEL_AWAY);
	pass_away(59 * MINUTE_US);
	model_advance(3 * MINUTE_US);
	assert_delivered(m);
	assert_int_equal(m->delays, 0);
	scene_end();
}

/* It is looked up again by an order when the directory goes. */
static void who_was_requeued_is_no_exception(void **state)
{
	struct model_message *m;

	(void)state;
	begin();
	m = scene_mail("r@grey.example");
	scene_say(m, 1, "4.7.1", "");
	(void)scene_order("requeue", m);
	scene_work();
	model_resolve(MODEL_AWAY);
	scene_work();
	pass_away(62 * MINUTE_US);
	assert_int_equal(m->delays, 1);
	model_directory_is_back();
	assert_delivered(m);
	scene_end();
}

/* It was at no host: when it is mapped it waits like others where nobody was reached. */
static void who_was_mapped_to_nowhere_is_no_probe(void **state)
{
	struct model_message *m;
	struct model_message *other;

	(void)state;
	begin();
	other = scene_mail("r@fast.example");
	scene_say(other, 1, "4.4.1", "host.fast");
	m = unmapped(MAIL_DEADLINE_NONE, 0);
	model_resolve(MODEL_AWAY);
	pass_away(62 * MINUTE_US);
	assert_int_equal(m->delays, 1);
	scene_say(other, 1, "4.4.1", "host.fast");
	model_directory_is_back();
	scene_pass(SECOND_US);
	scene_work();
	model_resolve(MODEL_KNOWN);
	scene_work();
	assert_false(scene_is_tried(m, 1) || scene_is_tried(other, 1));
	assert_true(scene_waits(m));
	scene_end();
}

/* Others use all the memory that messages have while they are mapped. */
static void who_waits_for_room_is_returned_in_time(void **state)
{
	struct model_message *m;
	struct model_message *other;

	(void)state;
	begin();
	m = unmapped(MAIL_DEADLINE_RETURN, 600);
	model_resolve(MODEL_LATER);
	assert_false(scene_waits(m));
	scene_manager->share.limit = 8 * SHARE_UNITS_MESSAGE; /* for one message at a time */
	other = unmapped(MAIL_DEADLINE_NONE, 0);
	model_advance(90 * SECOND_US);
	assert_true(scene_waits(m));
	model_advance(500 * SECOND_US);
	assert_true(m->is_present);
	model_advance(12 * SECOND_US);
	scene_work();
	model_advance(2 * SECOND_US);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	model_resolve(MODEL_KNOWN);
	assert_delivered(other);
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delay_is_reported_without_a_map),
		cmocka_unit_test(an_answer_spares_the_report),
		cmocka_unit_test(who_was_requeued_is_no_exception),
		cmocka_unit_test(who_was_mapped_to_nowhere_is_no_probe),
		cmocka_unit_test(who_waits_for_room_is_returned_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
