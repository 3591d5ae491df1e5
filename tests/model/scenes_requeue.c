// SPDX-License-Identifier: ISC
/* What was mapped is mapped anew: by an operator's order, or since there is no such postmaster. */
#include "scene.h"
#include "unit/test.h"
#include <string.h>

static bool control_has(const struct model_message *m, const char *text)
{
	return memmem(buffer_data(&m->control), m->control.length, text, strlen(text)) != NULL;
}

/* The order, as far as the disk and the question. */
static void requeue(struct model_message *m)
{
	assert_string_equal(scene_order("requeue", m), "ok");
	scene_work();
}

static void work_for_a_second(void)
{
	for (unsigned i = 0; i < 10; i++) {
		model_advance(SECOND_US / 10);
		scene_work();
	}
}

/* One recipient, whose deliveries are numbered from 2 on. */
static struct model_message *alias(const char *const *targets)
{
	static const char *const addresses[] = {"alias@local.example", NULL};
	struct model_message *m = model_mail_to("s@sender.example", addresses, 100);

	m->recipients = 5;
	for (uint32_t i = 1; i <= 5; i++)
		m->decided[i] = '2';
	for (uint32_t i = 0; targets[i] != NULL; i++)
		m->decided[2 + i] = 0;
	model_resolve_to(targets);
	scene_work();
	return m;
}

static void what_waits_goes_where_its_address_leads_now(void **state)
{
	static const char *const now[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@dead.example");
	scene_say(m, 1, "4.4.1", "host.dead");
	assert_true(scene_waits(m));
	requeue(m);
	assert_true(
		control_has(m, "\nrequeue: 1 #")); /* a crash now, and it is asked all the same */
	assert_false(scene_is_tried(m, 1));
	model_resolve_to(now);
	assert_false(scene_is_tried(m, 1)); /* not before the map is on the disk */
	scene_work();
	assert_true(scene_is_tried(m, 1));
	assert_string_equal(model_destination_of(m, 1), "fast.example");
	assert_true(control_has(m, "\nmap: 1 remote <r@fast.example> #"));
	assert_false(control_has(m, "remote <r@dead.example>") || control_has(m, "requeue:"));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	scene_end();
}

static void what_leads_there_still_is_tried_at_once(void **state)
{
	static const char *const same[] = {"r@grey.example", NULL};
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	assert_true(scene_due_in(m) > MINUTE_US);
	requeue(m);
	model_resolve_to(same);
	scene_work();
	assert_true(control_has(m, "tried=1"));
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

static void nobody_gets_it_twice(void **state)
{
	static const char *const once[] = {"a@fast.example", "b@grey.example", NULL};
	static const char *const now[] = {"a@FAST.example", "c@slow.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = alias(once);
	scene_say(m, 2, "2.0.0", "");
	scene_say(m, 3, "4.7.1", "");
	requeue(m);
	m->decided[3] = '2'; /* nobody's any more */
	m->decided[4] = 0;   /* a number that was never used */
	model_resolve_to(now);
	scene_work();
	assert_true(scene_is_tried(m, 4));
	assert_string_equal(model_destination_of(m, 4), "slow.example");
	assert_true(control_has(m, "done: 2 ") && !control_has(m, "b@grey.example"));
	scene_say(m, 4, "2.0.0", "");
	assert_false(m->is_present);
	scene_end();
}

/* The old map is in force until the new one is on the disk; a lost process is waited for. */
static void an_order_waits_for_the_directory(void **state)
{
	static const char *const now[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	requeue(m);
	model_resolve(MODEL_AWAY);
	assert_true(scene_waits(m));
	assert_true(m->due_us <= model_wall_us); /* another process looks at once */
	assert_true(control_has(m, "\nmap: 1 remote <r@grey.example> #"));
	model_directory_is_back();
	model_advance(SECOND_US);
	model_resolve_to(now);
	scene_work();
	assert_string_equal(model_destination_of(m, 1), "fast.example");
	scene_end();
}

static void who_is_gone_is_reported(void **state)
{
	static const char *const now[] = {"gone@grey.example", NULL};
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	requeue(m);
	m->is_given_up = true;
	model_resolve_to(now);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

static void a_hold_outlasts_it(void **state)
{
	static const char *const now[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	assert_string_equal(scene_order("hold", m), "ok");
	requeue(m);
	model_resolve_to(now);
	scene_work();
	assert_false(scene_is_tried(m, 1));
	assert_true(control_has(m, "\nmap: 1 remote <r@fast.example> #"));
	assert_string_equal(scene_order("release", m), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

static void what_is_under_way_ends_first(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@fast.example");
	assert_string_equal(scene_order("requeue", m), "err a delivery is under way; ask again");
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	scene_end();
}

/* Where the disk fails the old map holds, and the order with it. */
static void a_map_that_is_not_written_is_none(void **state)
{
	static const char *const now[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	requeue(m);
	model_disk.fails = true;
	model_resolve_to(now);
	scene_work();
	assert_false(scene_is_tried(m, 1));
	assert_true(control_has(m, "\nmap: 1 remote <r@grey.example> #"));
	model_disk.fails = false;
	scene_pass(MINUTE_US);
	scene_work();
	assert_true(scene_is_tried(m, 1));
	assert_true(control_has(m, "\nmap: 1 remote <r@fast.example> #"));
	scene_end();
}

/* Who heard of the delay does not hear of it again. */
static void a_delay_is_told_once(void **state)
{
	static const char *const now[] = {"r@slow.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.delaynotice_us = HOUR_US;
	scene_configure();
	m = scene_mail("r@grey.example");
	scene_say(m, 1, "4.7.1", "");
	while (m->delays == 0) {
		scene_pass(10 * MINUTE_US);
		if (scene_is_tried(m, 1))
			scene_say(m, 1, "4.7.1", "");
		scene_work();
	}
	model_resolve(MODEL_KNOWN); /* the report's recipient */
	requeue(m);
	work_for_a_second(); /* records of retries wait for company */
	model_resolve_to(now);
	work_for_a_second();
	scene_say(m, 1, "4.7.1", "");
	scene_pass(2 * HOUR_US);
	assert_int_equal(m->delays, 1);
	scene_end();
}

static void who_was_never_mapped_is_mapped(void **state)
{
	static const char *const addresses[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = model_mail_to("s@sender.example", addresses, 100);
	model_resolve(MODEL_LATER);
	requeue(m);
	model_resolve(MODEL_KNOWN);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* What its host is blocked by may be of another route: it tries, whatever others wait for. */
static void it_tries_a_host_that_is_blocked(void **state)
{
	static const char *const same[] = {"r@dead.example", NULL};
	struct model_message *m;
	struct model_message *other;

	(void)state;
	scene_begin(true);
	other = scene_mail("r@dead.example");
	scene_say(other, 1, "4.4.1", "host.dead");
	m = scene_mail("r@dead.example");
	assert_true(scene_waits(m));
	requeue(m);
	model_resolve_to(same);
	scene_work();
	assert_true(scene_is_tried(m, 1) && !scene_is_tried(other, 1));
	scene_say(m, 1, "2.0.0", "");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(other, 1));
	scene_end();
}

/* However many are requeued at a time: they are mapped as memory allows. */
static void many_wait_for_room(void **state)
{
	static const char *const now[] = {"r@fast.example", NULL};
	struct model_message *m[2];

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < 2; i++) {
		m[i] = scene_mail("r@grey.example");
		scene_say(m[i], 1, "4.7.1", "");
	}
	scene_manager->share.limit = 8 * 9; /* an eighth of it is one message */
	for (size_t i = 0; i < 2; i++)
		requeue(m[i]);
	assert_int_equal(scene_manager->in_state[MESSAGE_MAPPING], 1);
	model_resolve_to(now);
	scene_work();
	model_advance(2 * SECOND_US);
	assert_int_equal(scene_manager->in_state[MESSAGE_MAPPING], 1);
	model_resolve_to(now);
	scene_work();
	assert_true(scene_is_tried(m[0], 1) && scene_is_tried(m[1], 1));
	scene_end();
}

/* --- the postmaster --- */

/* His mail is the node's own postmaster's where his service has no mailbox of his. */
static void mail_for_a_missing_postmaster_is_mapped_anew(void **state)
{
	static const char *const nodes[] = {"hugo@local.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("Postmaster+x@local.example", "nobody@local.example", NULL);
	scene_say(m, 2, "5.1.1", "");
	scene_say(m, 1, "5.1.1", "");
	assert_true(control_has(m, "\nrequeue: 1 #"));
	m->decided[1] = 0; /* by his service, but not for good */
	model_resolve_to(nodes);
	scene_work();
	assert_true(scene_is_tried(m, 1));
	assert_true(control_has(m, "\nmap: 1 local local <hugo@local.example> #"));
	scene_say(m, 1, "2.0.0", "");
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1); /* of the other one */
	scene_end();
}

/* If that is the same mailbox there is nobody left to have it. */
static void a_postmaster_who_is_missing_here_too_is_reported(void **state)
{
	static const char *const nodes[] = {"postmaster@local.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("postmaster@local.example");
	scene_say(m, 1, "5.1.1", "");
	assert_int_equal(m->reports, 0);
	model_resolve_to(nodes);
	scene_work();
	assert_false(scene_is_tried(m, 1));
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_waits_goes_where_its_address_leads_now),
		cmocka_unit_test(what_leads_there_still_is_tried_at_once),
		cmocka_unit_test(nobody_gets_it_twice),
		cmocka_unit_test(an_order_waits_for_the_directory),
		cmocka_unit_test(who_is_gone_is_reported),
		cmocka_unit_test(a_hold_outlasts_it),
		cmocka_unit_test(what_is_under_way_ends_first),
		cmocka_unit_test(a_map_that_is_not_written_is_none),
		cmocka_unit_test(a_delay_is_told_once),
		cmocka_unit_test(who_was_never_mapped_is_mapped),
		cmocka_unit_test(it_tries_a_host_that_is_blocked),
		cmocka_unit_test(many_wait_for_room),
		cmocka_unit_test(mail_for_a_missing_postmaster_is_mapped_anew),
		cmocka_unit_test(a_postmaster_who_is_missing_here_too_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
