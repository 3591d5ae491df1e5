// SPDX-License-Identifier: ISC
/* Messages that are to be delivered by a time that their senders have set (RFC 2852). */
#include "manager/message.h"
#include "scene.h"
#include "unit/test.h"
#include <string.h>

/* SECOND: another recipient, or NULL. */
static struct model_message *mail_to(const char *address, const char *second,
				     enum mail_deadline_mode mode, int64_t seconds)
{
	struct mail_envelope *envelope = mail_envelope_new();
	uint64_t number = model_next_number();

	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->size = 100;
	envelope->sender = STR("s@sender.example");
	envelope->deadline.mode = mode;
	mail_deadline_set(&envelope->deadline, seconds, model_wall_us);
	mail_envelope_add(envelope, str_from(address));
	if (second != NULL)
		mail_envelope_add(envelope, str_from(second));
	model_add_mail(envelope, false);
	mail_envelope_free(envelope);
	return model_find(number);
}

static struct model_message *mail_by(const char *address, enum mail_deadline_mode mode,
				     int64_t seconds)
{
	return mail_to(address, NULL, mode, seconds);
}

static struct model_message *mapped_by(const char *address, enum mail_deadline_mode mode,
				       int64_t seconds)
{
	struct model_message *m = mail_by(address, mode, seconds);

	model_resolve(MODEL_KNOWN);
	scene_work();
	return m;
}

/* The destination of its delivery, which is in flight, wants nothing for an hour. */
static void be_busy(struct model_message *m)
{
	model_say_busy(m, 1, 60 * 60 * 1000);
	scene_work();
}

/* Its failure is recorded, perhaps with others a little later, and reported. */
static void assert_returned(struct model_message *m)
{
	scene_work();
	scene_pass(2 * SECOND_US);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
}

/* At its time, not at that of its next attempt. */
static void what_is_late_is_returned_at_once(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@grey.example", MAIL_DEADLINE_RETURN, 100);
	scene_say(m, 1, "4.7.1", "");
	assert_in_range(scene_due_in(m), 99 * SECOND_US, 101 * SECOND_US);
	scene_pass(98 * SECOND_US);
	assert_true(m->is_present);
	assert_int_equal(m->reports, 0);
	scene_pass(3 * SECOND_US);
	assert_returned(m);
	assert_int_equal(m->delays, 0);
	scene_end();
}

/* An operator's hold keeps it from being tried, and its sender's time passes all the same. */
static void who_is_held_is_returned(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@grey.example", MAIL_DEADLINE_RETURN, 3600);
	scene_say(m, 1, "4.7.1", "");
	assert_string_equal(scene_order("hold", m), "ok");
	scene_pass(scene_due_in(m) + SECOND_US); /* when it would be tried again */
	assert_false(scene_is_tried(m, 1));
	assert_true(scene_waits(m));
	scene_pass(scene_due_in(m) - SECOND_US);
	assert_true(m->is_present);
	scene_pass(2 * SECOND_US);
	assert_returned(m);
	scene_end();
}

static void what_is_in_time_is_delivered(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@grey.example", MAIL_DEADLINE_RETURN, 3600);
	scene_say(m, 1, "4.7.1", "");
	scene_pass(1000 * SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	assert_int_equal(m->reports + m->successes, 0);
	scene_end();
}

/* It waits for a host that is away, and no longer than it may. */
static void who_waits_for_a_host_is_returned(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@dead.example", MAIL_DEADLINE_RETURN, 3600);
	scene_say(m, 1, "4.4.1", "host.dead");
	assert_true(scene_waits(m));
	assert_true(scene_due_in(m) <= HOUR_US + SECOND_US);
	for (int64_t left_us = HOUR_US + SECOND_US; left_us > 0; left_us -= MINUTE_US) {
		scene_pass(MINUTE_US);
		if (scene_is_tried(m, 1)) /* it probes */
			scene_say(m, 1, "4.4.1", "host.dead");
	}
	assert_returned(m);
	scene_end();
}

/* Nobody knows where it should go. */
static void who_waits_for_the_directory_is_returned(void **state)
{
	unsigned failed = model_logged(EVENT_FAILED);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mail_by("r@fast.example", MAIL_DEADLINE_RETURN, 3600);
	model_resolve(MODEL_AWAY);
	assert_true(scene_waits(m));
	assert_true(scene_due_in(m) <= HOUR_US + SECOND_US);
	for (int64_t left_us = HOUR_US + MINUTE_US; left_us > 0; left_us -= MINUTE_US) {
		model_advance(MINUTE_US);
		model_resolve(MODEL_AWAY);
	}
	assert_int_equal(model_logged(EVENT_FAILED), failed + 1);
	assert_returned(m);
	scene_end();
}

/* Its turn comes too late. */
static void who_waits_for_its_turn_is_returned(void **state)
{
	struct model_message *first[64];
	struct model_message *m;
	size_t count = 0;

	(void)state;
	scene_begin(true);
	do {
		first[count] = scene_mail("r@slow.example");
		assert_true(++count < COUNT_OF(first));
	} while (scene_is_tried(first[count - 1], 1));
	m = mapped_by("r@slow.example", MAIL_DEADLINE_RETURN, 60);
	assert_false(scene_is_tried(m, 1));
	scene_pass(61 * SECOND_US);
	for (size_t i = 0; i < count; i++)
		if (scene_is_tried(first[i], 1))
			scene_say(first[i], 1, "2.0.0", "");
	assert_returned(m);
	scene_end();
}

/* Another process reads its file, and sees that it is late. */
static void a_restart_does_not_prolong_it(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@grey.example", MAIL_DEADLINE_RETURN, 3600);
	scene_say(m, 1, "4.7.1", "");
	assert_non_null(memmem(buffer_data(&m->envelope), m->envelope.length, " by=", 4));
	assert_true(m->due_us <= m->deadline.at_us);
	scene_end();
}

/* Set forth, it is late by the clock; set back, it has the time that the clock says. */
static void it_keeps_to_the_clock_as_it_is(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@grey.example", MAIL_DEADLINE_RETURN, 3600);
	scene_say(m, 1, "4.7.1", "");
	model_wall_us += DAY_US;
	model_jumped_us += DAY_US;
	scene_pass(1000 * SECOND_US);
	assert_returned(m);
	scene_end();
}

/* That it is late is reported once, besides what is reported of any delay; it is tried on. */
static void a_delay_is_reported_at_the_deadline(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@grey.example", MAIL_DEADLINE_NOTIFY, 100);
	scene_say(m, 1, "4.7.1", "");
	scene_pass(98 * SECOND_US);
	assert_int_equal(m->delays, 0);
	scene_pass(3 * SECOND_US);
	scene_work();
	assert_int_equal(m->delays, 1);
	scene_pass(HOUR_US);
	scene_work();
	assert_int_equal(m->delays, 1);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present); /* its sender knows, whoever has it now */
	assert_int_equal(m->reports + m->successes, 0);
	scene_end();
}

static void an_earlier_report_is_not_enough(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.delaynotice_us = 50 * SECOND_US;
	scene_configure();
	m = mapped_by("r@grey.example", MAIL_DEADLINE_NOTIFY, 100);
	scene_say(m, 1, "4.7.1", "");
	scene_pass(52 * SECOND_US);
	scene_work();
	assert_int_equal(m->delays, 1);
	scene_pass(52 * SECOND_US);
	scene_work();
	assert_int_equal(m->delays, 2);
	scene_pass(100 * SECOND_US);
	scene_work();
	assert_int_equal(m->delays, 2);
	scene_end();
}

/* While its destination has had enough for now, and also behind others that wait there. */
static void a_pause_prolongs_nothing(void **state)
{
	struct model_message *first;
	struct model_message *m[2];

	(void)state;
	scene_begin(true);
	first = mapped_by("r@fast.example", MAIL_DEADLINE_NONE, 0);
	m[0] = mapped_by("r@fast.example", MAIL_DEADLINE_RETURN, 100);
	be_busy(first);
	be_busy(m[0]);
	m[1] = mapped_by("r@fast.example", MAIL_DEADLINE_RETURN, 50);
	scene_pass(48 * SECOND_US);
	assert_int_equal(m[1]->reports, 0);
	scene_pass(3 * SECOND_US);
	assert_returned(m[1]);
	assert_true(m[0]->is_present);
	scene_pass(50 * SECOND_US);
	assert_returned(m[0]);
	assert_false(scene_is_tried(first, 1));
	scene_pass(HOUR_US);
	assert_true(scene_is_tried(first, 1));
	scene_say(first, 1, "2.0.0", "");
	scene_end();
}

/* Its operator lets "remote" start nothing, or something again. */
static void let_remote_start(bool is_paused)
{
	static struct config_transport transports[4];

	memcpy(transports, scene_config.transports, sizeof transports);
	transports[0].paused = is_paused;
	scene_config.transports = transports;
	scene_configure();
}

/* The reports wait there, too. */
static void who_waits_in_a_paused_transport_is_returned(void **state)
{
	unsigned bounced = model_logged(EVENT_BOUNCED);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	let_remote_start(true);
	m = mapped_by("r@fast.example", MAIL_DEADLINE_RETURN, 100);
	scene_pass(98 * SECOND_US);
	assert_true(m->is_present);
	assert_int_equal(model_logged(EVENT_BOUNCED), bounced);
	scene_pass(3 * SECOND_US);
	scene_work();
	assert_int_equal(model_logged(EVENT_BOUNCED), bounced + 1);
	let_remote_start(false);
	scene_end();
}

/* Only so many of them may be awake, and others need that. */
static void retries_sleep_while_their_transport_is_paused(void **state)
{
	unsigned bounced = model_logged(EVENT_BOUNCED);
	struct model_message *m[3];

	(void)state;
	scene_begin(true);
	m[0] = mapped_by("r@grey.example", MAIL_DEADLINE_RETURN, HOUR_US / SECOND_US);
	m[1] = mapped_by("r@grey.example", MAIL_DEADLINE_NONE, 0);
	m[2] = mapped_by("r@fast.example", MAIL_DEADLINE_NONE, 0);
	for (size_t i = 0; i < COUNT_OF(m); i++)
		scene_say(m[i], 1, "4.7.1", "");
	scene_pass(401 * SECOND_US);
	scene_say(m[0], 1, "4.7.1", "");
	scene_say(m[1], 1, "4.7.1", "");
	model_say_busy(m[2], 1, 5000); /* one that waits in a job when the transport is paused */
	scene_work();
	assert_non_null(message_find(scene_manager, m[2]->id.number));
	let_remote_start(true);
	assert_null(message_find(scene_manager, m[2]->id.number));
	scene_pass(2000 * SECOND_US);
	for (size_t i = 0; i < COUNT_OF(m); i++)
		assert_null(message_find(scene_manager, m[i]->id.number));
	assert_int_equal(model_logged(EVENT_BOUNCED), bounced);
	scene_pass(HOUR_US - 2400 * SECOND_US);
	scene_work();
	assert_int_equal(model_logged(EVENT_BOUNCED), bounced + 1);
	let_remote_start(false);
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m[1], 1) && scene_is_tried(m[2], 1));
	scene_end();
}

/* Nor does another delivery, which is under way. */
static void what_is_under_way_prolongs_nothing(void **state)
{
	struct model_message *m;
	unsigned failed;

	(void)state;
	scene_begin(true);
	m = mail_to("r@fast.example", "r@fast2.example", MAIL_DEADLINE_RETURN, 100);
	model_resolve(MODEL_KNOWN);
	scene_work();
	be_busy(m);
	assert_true(scene_is_tried(m, 2));
	failed = model_logged(EVENT_FAILED);
	scene_pass(98 * SECOND_US);
	assert_int_equal(model_logged(EVENT_FAILED), failed);
	scene_pass(3 * SECOND_US);
	assert_int_equal(model_logged(EVENT_FAILED), failed + 1);
	assert_true(scene_is_tried(m, 2));
	scene_say(m, 2, "2.0.0", "");
	assert_returned(m);
	scene_end();
}

/* Its sender hears that it waits, once, and it goes on waiting. */
static void a_delay_is_reported_in_a_pause(void **state)
{
	struct model_message *m;
	struct model_message *beside;

	(void)state;
	scene_begin(true);
	scene_config.delaynotice_us = 200 * SECOND_US;
	scene_configure();
	m = mapped_by("r@fast.example", MAIL_DEADLINE_NOTIFY, 100);
	be_busy(m);
	beside = mapped_by("r@fast.example", MAIL_DEADLINE_NONE, 0);
	scene_pass(98 * SECOND_US);
	assert_int_equal(m->delays, 0);
	scene_pass(3 * SECOND_US);
	scene_work();
	assert_int_equal(m->delays, 1);
	assert_int_equal(beside->delays, 0);
	scene_pass(110 * SECOND_US);
	scene_work();
	assert_int_equal(beside->delays, 1);
	assert_int_equal(m->delays, 1);
	assert_false(scene_is_tried(m, 1) || scene_is_tried(beside, 1));
	scene_pass(HOUR_US);
	scene_work();
	assert_true(scene_is_tried(m, 1) && scene_is_tried(beside, 1));
	scene_say(m, 1, "2.0.0", "");
	scene_say(beside, 1, "2.0.0", "");
	assert_int_equal(m->delays, 1);
	assert_int_equal(beside->delays, 1);
	scene_end();
}

/* Another host has reported that already. */
static void what_came_late_is_no_news(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@grey.example", MAIL_DEADLINE_NOTIFY, -5);
	scene_say(m, 1, "4.7.1", "");
	scene_pass(100 * SECOND_US);
	scene_work();
	assert_int_equal(m->delays, 0);
	scene_end();
}

/* The next host, which knows of no deadline, will report nothing. */
static void who_hands_it_on_reports_that(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = mapped_by("r@fast.example", MAIL_DEADLINE_NOTIFY, 100);
	scene_say(m, 1, "2.0.0", "");
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports + m->successes, 1);
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_late_is_returned_at_once),
		cmocka_unit_test(who_is_held_is_returned),
		cmocka_unit_test(what_is_in_time_is_delivered),
		cmocka_unit_test(who_waits_for_a_host_is_returned),
		cmocka_unit_test(who_waits_for_the_directory_is_returned),
		cmocka_unit_test(who_waits_for_its_turn_is_returned),
		cmocka_unit_test(a_restart_does_not_prolong_it),
		cmocka_unit_test(it_keeps_to_the_clock_as_it_is),
		cmocka_unit_test(a_delay_is_reported_at_the_deadline),
		cmocka_unit_test(a_pause_prolongs_nothing),
		cmocka_unit_test(who_waits_in_a_paused_transport_is_returned),
		cmocka_unit_test(retries_sleep_while_their_transport_is_paused),
		cmocka_unit_test(what_is_under_way_prolongs_nothing),
		cmocka_unit_test(a_delay_is_reported_in_a_pause),
		cmocka_unit_test(an_earlier_report_is_not_enough),
		cmocka_unit_test(what_came_late_is_no_news),
		cmocka_unit_test(who_hands_it_on_reports_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
