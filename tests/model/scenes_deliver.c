// SPDX-License-Identifier: ISC
/* Which deliveries are tried when, what a helper is given, and what its reports say of others. */
#include "scene.h"
#include "unit/test.h"
#include <string.h>

/* --- what a message waits for --- */

/* Its times are not looked at then; afterwards they are. */
static void who_is_released_is_tried_once(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@grey.example");
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "4.7.1", "host.event");
	assert_true(scene_waits(m));
	scene_pass(30 * SECOND_US);
	assert_false(scene_is_tried(m, 1));
	assert_string_equal(model_give_order("trigger host.event"), "ok");
	scene_pass(SECOND_US / 10);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "4.7.1", "");
	assert_false(scene_waits(m));
	scene_pass(10 * SECOND_US);
	assert_false(scene_is_tried(m, 1));
	scene_end();
}

static void one_probes_and_the_others_wait(void **state)
{
	struct model_message *one;
	struct model_message *other;

	(void)state;
	scene_begin(true);
	one = scene_mail("r@dead.example");
	scene_say(one, 1, "4.4.1", "host.dead");
	other = scene_mail("r@dead.example");
	scene_work();
	assert_false(scene_is_tried(other, 1));
	assert_true(scene_waits(other));
	scene_pass(59 * SECOND_US);
	assert_false(scene_is_tried(one, 1));
	scene_pass(2 * SECOND_US);
	assert_true(scene_is_tried(one, 1)); /* long before its time */
	assert_false(scene_is_tried(other, 1));
	scene_say(one, 1, "4.4.1", "host.dead");
	assert_int_equal(model_logged(EVENT_TRIGGER_RELEASED), 1); /* that of the scene before */
	scene_pass(115 * SECOND_US);
	assert_false(scene_is_tried(one, 1));
	assert_false(scene_is_tried(other, 1));
	scene_pass(10 * SECOND_US);
	assert_true(scene_is_tried(other, 1)); /* its turn */
	scene_say(other, 1, "2.0.0", "");
	scene_pass(SECOND_US / 10);
	assert_true(scene_is_tried(one, 1));
	scene_say(one, 1, "2.0.0", "");
	assert_false(one->is_present || other->is_present);
	scene_end();
}

/* The host answers the first of them: the others, which are with it, were to wait for that. */
static void who_has_just_been_tried_is_not_due(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@dead.example", "s@dead.example", NULL);
	scene_say(m, 1, "4.4.1", "host.dead");
	scene_say(m, 2, "4.4.1", "host.dead");
	scene_pass(61 * SECOND_US);
	assert_true(scene_is_tried(m, 1));
	assert_true(scene_is_tried(m, 2));
	scene_say(m, 1, "4.7.1", "");
	scene_say(m, 2, "4.7.1", "");
	scene_pass(SECOND_US);
	assert_false(scene_is_tried(m, 1));
	assert_false(scene_is_tried(m, 2));
	scene_end();
}

/* One that is awake, for another of its recipients is with a helper; but not who was told to come
 * later. */
static void who_is_awake_is_released_too(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@dead.example", "s@slow.example", "t@late.example");
	scene_say(m, 1, "4.4.1", "host.dead");
	scene_say(m, 3, "4.7.1", "");
	assert_string_equal(model_give_order("trigger host.dead"), "ok");
	scene_say(m, 2, "2.0.0", "");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	assert_false(scene_is_tried(m, 3));
	scene_end();
}

/* It was told to come later, and then its host cannot be reached, before it sleeps. */
static void who_waits_for_a_time_is_not_released(void **state)
{
	struct model_message *later;
	struct model_message *other;

	(void)state;
	scene_begin(true);
	later = scene_mail_to("r@dead.example", "s@slow.example", NULL);
	other = scene_mail("r@dead.example");
	scene_say(later, 1, "4.7.1", "");
	scene_say(other, 1, "4.4.1", "host.dead");
	scene_say(later, 2, "2.0.0", "");
	assert_string_equal(model_give_order("trigger host.dead"), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(other, 1));
	scene_say(other, 1, "2.0.0", "");
	scene_pass(SECOND_US);
	assert_false(scene_is_tried(later, 1));
	scene_end();
}

/* It got as far as to another obstacle. */
static void another_trigger_releases_the_first(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@dead.example");
	scene_say(m, 1, "4.4.1", "host.a");
	scene_pass(61 * SECOND_US);
	scene_say(m, 1, "4.4.1", "host.b");
	assert_false(model_has_trigger("host.a"));
	assert_true(model_has_trigger("host.b"));
	scene_end();
}

/* What waits for its turn there waits for the trigger, as does what comes; other hosts' does not.
 * Who was not reached may try less at the same time. */
static void nobody_tries_where_nobody_was_reached(void **state)
{
	struct model_message *dead[6];
	struct model_message *other[2];
	unsigned tried = 0;

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < 4; i++)
		dead[i] = scene_mail("r@dead.example");
	other[0] = scene_mail("r@fast.example");
	scene_say(dead[0], 1, "4.4.1", "host.dead");
	dead[4] = scene_mail("r@DEAD.Example");
	other[1] = scene_mail("r@fast.example");
	scene_work();
	assert_true(scene_is_tried(other[1], 1));
	assert_true(scene_is_tried(dead[1], 1)); /* it was before */
	for (size_t i = 2; i < 5; i++)
		assert_false(scene_is_tried(dead[i], 1));
	scene_pass(5 * SECOND_US);
	for (size_t i = 2; i < 5; i++)
		assert_true(scene_waits(dead[i]));
	scene_say(dead[1], 1, "2.0.0", ""); /* somebody is there after all */
	assert_false(model_has_trigger("host.dead"));
	scene_pass(SECOND_US / 10);
	for (size_t i = 0; i < 5; i++)
		tried += i != 1 && scene_is_tried(dead[i], 1);
	assert_int_equal(tried, 2);
	scene_end();
}

/* Of a service that is away, too: what is new, or waits for its turn, is not tried; one probes. */
static void nobody_tries_a_service_that_is_away(void **state)
{
	struct model_message *m[4];
	struct model_message *tried[4];
	size_t count = 0;

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < 3; i++)
		m[i] = scene_mail("r@extra.example");
	assert_false(scene_is_tried(m[2], 1));
	scene_say(m[0], 1, "4.4.1", "service.extra");
	scene_say(m[1], 1, "4.4.1", "service.extra");
	m[3] = scene_mail("r@extra.example");
	scene_pass(5 * SECOND_US);
	for (size_t i = 0; i < 4; i++)
		assert_true(scene_waits(m[i]));
	scene_pass(MINUTE_US);
	for (size_t i = 0; i < 4; i++)
		if (scene_is_tried(m[i], 1))
			tried[count++] = m[i];
	assert_int_equal(count, 1);
	scene_say(tried[0], 1, "2.0.0", "");
	assert_false(model_has_trigger("service.extra"));
	scene_pass(SECOND_US / 10);
	for (size_t i = 0; i < 4; i++)
		count += m[i] != tried[0] && scene_is_tried(m[i], 1);
	assert_int_equal(count, 1 + 2); /* as many as the service has places */
	scene_end();
}

/* Resolve looks out for it, and the next one does. */
static void a_helper_may_miss_the_directory(void **state)
{
	struct model_message *m;
	unsigned asked = model_asked_back();

	(void)state;
	scene_begin(true);
	m = scene_mail("r@list.example");
	scene_say(m, 1, "4.4.3", "directory");
	assert_int_equal(model_asked_back(), asked + 1);
	model_lose("resolve");
	model_connect_helpers();
	assert_int_equal(model_asked_back(), asked + 2);
	model_directory_is_back();
	scene_pass(SECOND_US / 10);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* Who waits while another one probes is not tried, so nobody else looks at its age. */
static void what_never_comes_is_waited_for_until_the_end(void **state)
{
	struct model_message *probe;
	struct model_message *m;

	(void)state;
	scene_begin(true);
	probe = scene_mail("r@dead.example");
	scene_say(probe, 1, "4.4.1", "host.dead");
	m = scene_mail("r@dead.example");
	scene_work();
	scene_pass(61 * SECOND_US);
	assert_true(scene_is_tried(probe, 1)); /* and does not end */
	for (int64_t passed_us = HOUR_US; passed_us < MODEL_LIFETIME_US; passed_us += HOUR_US) {
		scene_pass(HOUR_US);
		scene_work();
		assert_true(m->is_present);
		assert_false(scene_is_tried(m, 1));
		assert_int_equal(m->reports, 0);
	}
	assert_true(scene_waits(m));
	scene_pass(HOUR_US);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	assert_true(scene_is_tried(probe, 1));
	scene_say(probe, 1, "2.0.0", "");
	scene_end();
}

/* One of its deliveries waits for a host, another one takes long: it is awake, and nobody sleeps.
 */
static void who_is_awake_keeps_a_trigger(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@dead.example", "r@slow.example", NULL);
	scene_say(m, 1, "4.4.1", "host.dead");
	scene_pass(20 * MINUTE_US);
	scene_work();
	assert_true(model_has_trigger("host.dead"));
	scene_say(m, 2, "2.0.0", "");
	assert_true(scene_waits(m)); /* what is done does not count */
	scene_pass(30 * MINUTE_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* Where not all wait for the same it looks again after a while, or when the first is due. */
static void who_waits_for_two_things_looks_again(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@dead.example", "r@grey.example", "r@fast.example");
	scene_say(m, 1, "4.4.1", "host.dead");
	scene_pass(350 * SECOND_US); /* its time is near, and nothing is known of the host */
	scene_say(m, 2, "4.7.1", "");
	scene_say(m, 3, "2.0.0", "");
	assert_false(scene_waits(m));
	assert_int_equal(scene_due_in(m), 5 * MINUTE_US);
	scene_end();
}

static void what_is_done_is_not_due(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@grey.example", "r@fast.example", NULL);
	scene_say(m, 2, "2.0.0", "");
	scene_say(m, 1, "4.7.1", "");
	assert_in_range(scene_due_in(m), 300 * SECOND_US, 400 * SECOND_US);
	scene_end();
}

/* --- what a helper is given --- */

/* Each recipient has a sender of his own, whom a bounce is known by. */
static void each_has_the_sender_made_of_his_address(void **state)
{
	static const char *const addresses[] = {"one@fast.example", "two@fast.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = model_mail_to("list-@sender.example-@[]", addresses, 100);
	model_resolve(MODEL_KNOWN);
	assert_non_null(strstr(model_sender_of(m, 1), "one"));
	assert_non_null(strstr(model_sender_of(m, 2), "two"));
	assert_string_equal(model_destination_of(m, 1), "fast.example");
	scene_end();
}

static void a_recipient_may_be_two_deliveries(void **state)
{
	static const char *const addresses[] = {"alias@local.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = model_mail_to("s@sender.example", addresses, 100);
	m->recipients = 3; /* the deliveries that it becomes are its second and third */
	m->decided[1] = '2';
	model_resolve(MODEL_DOUBLED);
	assert_true(scene_is_tried(m, 2));
	assert_true(scene_is_tried(m, 3));
	assert_string_equal(model_destination_of(m, 2), "");
	scene_end();
}

/* Large ones by a file, which is closed; the others by value (the helper looks). */
static void a_large_message_is_a_file(void **state)
{
	static const char *const addresses[] = {"r@fast.example", NULL};
	struct model_message *m[2];

	(void)state;
	scene_begin(true);
	for (uint64_t i = 0; i < 2; i++) {
		m[i] = model_mail_to("s@sender.example", addresses, QUEUE_BY_VALUE_MAX + i);
		model_resolve(MODEL_KNOWN);
		assert_true(scene_is_tried(m[i], 1));
		assert_int_equal(model_disk.open_files, 0);
	}
	scene_end();
}

/* --- limits --- */

/* Whatever the domains of its addresses are. */
static void a_service_is_one_destination(void **state)
{
	struct transport *local;

	(void)state;
	scene_begin(true);
	local = transports_find(scene_manager->transports, STR("local"));
	(void)scene_mail_to("r@local.example", "r@local1.example", "r@local2.example");
	assert_int_equal(transport_count(local).destinations, 1);
	assert_int_equal(transport_count(local).in_flight, 1); /* they go together */
	scene_end();
}

static void a_limit_that_is_raised_holds_at_once(void **state)
{
	struct model_message *m[3];

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < 3; i++)
		m[i] = scene_mail("r@local.example");
	assert_true(scene_is_tried(m[2], 1));
	for (size_t i = 0; i < 3; i++)
		scene_say(m[i], 1, "2.0.0", "");
	scene_config.transports[1].paused = true;
	scene_configure();
	m[0] = scene_mail("r@local.example");
	assert_false(scene_is_tried(m[0], 1));
	scene_config.transports[1].paused = false;
	scene_configure();
	assert_true(scene_is_tried(m[0], 1));
	scene_end();
}

static void a_service_that_is_not_configured_is_waited_for(void **state)
{
	struct model_message *m;
	struct str control;

	(void)state;
	scene_begin(false);
	m = scene_mail("r@extra.example");
	scene_work();
	assert_true(m->is_at_s5);
	control = buffer_view(&m->control);
	assert_non_null(memmem(control.data, control.length, "4.3.5", 5));
	assert_int_equal(scene_due_in(m), 10 * MINUTE_US);
	scene_end();
}

/* After a restart, and of one whose turn had not come when the service went. */
static void what_a_service_was_for_expires(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(false);
	m = scene_mail("r@extra.example");
	scene_work();
	for (int64_t passed_us = 0; passed_us <= MODEL_LIFETIME_US; passed_us += HOUR_US) {
		scene_pass(HOUR_US);
		scene_work();
	}
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

static void who_waits_for_his_turn_sees_the_service_go(void **state)
{
	enum { PLACES = 2 };
	struct model_message *m[PLACES + 1];

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i <= PLACES; i++)
		m[i] = scene_mail("r@extra.example");
	assert_false(scene_is_tried(m[PLACES], 1));
	scene_config.transport_count--;
	scene_config.service_count--;
	scene_configure();
	scene_work();
	assert_int_equal(scene_due_in(m[PLACES]), 10 * MINUTE_US);
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_released_is_tried_once),
		cmocka_unit_test(one_probes_and_the_others_wait),
		cmocka_unit_test(another_trigger_releases_the_first),
		cmocka_unit_test(nobody_tries_where_nobody_was_reached),
		cmocka_unit_test(nobody_tries_a_service_that_is_away),
		cmocka_unit_test(a_helper_may_miss_the_directory),
		cmocka_unit_test(what_never_comes_is_waited_for_until_the_end),
		cmocka_unit_test(who_is_awake_keeps_a_trigger),
		cmocka_unit_test(who_waits_for_two_things_looks_again),
		cmocka_unit_test(what_is_done_is_not_due),
		cmocka_unit_test(each_has_the_sender_made_of_his_address),
		cmocka_unit_test(a_recipient_may_be_two_deliveries),
		cmocka_unit_test(what_a_service_was_for_expires),
		cmocka_unit_test(who_waits_for_his_turn_sees_the_service_go),
		cmocka_unit_test(a_large_message_is_a_file),
		cmocka_unit_test(a_service_is_one_destination),
		cmocka_unit_test(a_limit_that_is_raised_holds_at_once),
		cmocka_unit_test(a_service_that_is_not_configured_is_waited_for),
		cmocka_unit_test(who_has_just_been_tried_is_not_due),
		cmocka_unit_test(who_is_awake_is_released_too),
		cmocka_unit_test(who_waits_for_a_time_is_not_released),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
