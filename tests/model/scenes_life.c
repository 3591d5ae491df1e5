// SPDX-License-Identifier: ISC
/* What becomes of a message: its mapping, its records and reports, orders, and the manager's end.
 */
#include "ipc/pack.h"
#include "manager/message.h"
#include "scene.h"
#include "unit/test.h"
#include <errno.h>
#include <string.h>

/* --- to be mapped --- */

/* It is looked for where it is. */
static void who_finds_no_memory_is_mapped_later(void **state)
{
	static const char *const addresses[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_manager->share.limit = 0;
	m = model_mail_to("s@sender.example", addresses, 100);
	assert_true(scene_waits(m));
	scene_manager->share.limit = SHARE_UNITS;
	wake_schedule(scene_manager->wake);
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* An order to give it up needs no directory. */
static void who_is_not_mapped_can_be_given_up(void **state)
{
	static const char *const addresses[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = model_mail_to("s@sender.example", addresses, 100);
	model_resolve(MODEL_AWAY);
	assert_true(scene_waits(m));
	assert_in_range(scene_due_in(m), MODEL_LIFETIME_US - SECOND_US, MODEL_LIFETIME_US);
	m->is_given_up = true;
	assert_string_equal(scene_order("bounce", m), "ok");
	model_resolve(MODEL_AWAY);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

/* Another reason than the directory's absence: it is asked less and less often, and at last no
 * more. */
static void who_cannot_be_mapped_is_asked_about_again(void **state)
{
	static const char *const addresses[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = model_mail_to("s@sender.example", addresses, 100);
	model_resolve(MODEL_LATER);
	assert_false(scene_waits(m));
	assert_int_equal(scene_due_in(m), 2 * SECOND_US);
	model_advance(10 * SECOND_US);
	model_resolve(MODEL_LATER);
	assert_int_equal(scene_due_in(m), 5 * SECOND_US);
	model_advance(HOUR_US);
	model_resolve(MODEL_LATER);
	assert_int_equal(scene_due_in(m), MINUTE_US);
	model_advance(MODEL_LIFETIME_US);
	model_resolve(MODEL_LATER);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

static void one_asks_for_the_directory(void **state)
{
	static const char *const addresses[] = {"r@fast.example", NULL};
	unsigned asked = model_asked_back();
	struct model_message *m[2];

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < 2; i++)
		m[i] = model_mail_to("s@sender.example", addresses, 100);
	model_resolve(MODEL_AWAY);
	assert_int_equal(model_asked_back(), asked + 1);
	model_directory_is_back();
	scene_pass(SECOND_US / 10);
	assert_true(scene_is_tried(m[0], 1) && scene_is_tried(m[1], 1));
	scene_end();
}

/* It may be read later: that is no reason to read it all the time, nor to forget it. */
static void what_cannot_be_read_is_read_later(void **state)
{
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	model_disk.is_closed = true;
	scene_pass(401 * SECOND_US);
	assert_in_range(scene_due_in(m), 9 * MINUTE_US, 10 * MINUTE_US);
	model_disk.is_closed = false;
	scene_pass(10 * MINUTE_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* An order cannot be kept until it is read: it is not carried out later, either. */
static void what_cannot_be_read_takes_no_order(void **state)
{
	static const char *const words[] = {"bounce", "remove", "requeue"};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(words); i++) {
		struct model_message *m;

		scene_begin(true);
		m = scene_mail("r@grey.example");
		scene_say(m, 1, "4.7.1", "");
		model_disk.is_closing = true; /* after its birth was read */
		assert_string_equal(scene_order(words[i], m), "err it cannot be read; ask again");
		model_disk.is_closed = model_disk.is_closing = false;
		scene_pass(11 * MINUTE_US);
		assert_true(scene_is_tried(m, 1));
		scene_end();
	}
}

/* Who asks for what he has seen on the disk would take "no such message" for its end. */
static void what_is_not_known_is_not_gone(void **state)
{
	static const char *const addresses[] = {"r@fast.example", NULL};
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	model_disk.is_closed = true;
	assert_string_equal(scene_order("hold", m), "err it cannot be read; ask again");
	model_disk.is_closed = false;
	assert_string_equal(scene_order("hold", m), "ok");
	model_queue_lost();
	m = model_mail_to("s@sender.example", addresses, 100);
	model_queue_connects();
	assert_string_equal(scene_order("hold", m), "err it is being worked on; ask again");
	scene_work();
	assert_string_equal(scene_order("hold", m), "ok");
	scene_end();
}

static void damage_is_told_from_failures(void **state)
{
	static const int damages[] = {-EBADMSG, -ENODATA, -EFBIG, -EINVAL};
	static const int failures[] = {-EIO, -EMFILE, -ENOENT, -ENOMEM, -EACCES, 0};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(damages); i++)
		assert_true(message_is_damage(damages[i]));
	for (size_t i = 0; i < COUNT_OF(failures); i++)
		assert_false(message_is_damage(failures[i]));
}

/* By a scan: the log says so once. */
static void who_was_found_is_logged_once(void **state)
{
	unsigned logged = model_logged(EVENT_MESSAGE_FOUND);
	static const char *const addresses[] = {"r@grey.example", NULL};
	struct model_message *m;

	(void)state;
	scene_begin(true);
	model_queue_lost();
	m = model_mail_to("s@sender.example", addresses, 100);
	model_queue_connects();
	model_answer_removals();
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	assert_int_equal(model_logged(EVENT_MESSAGE_FOUND), logged + 1);
	scene_say(m, 1, "4.7.1", "");
	scene_pass(450 * SECOND_US);
	assert_true(scene_is_tried(m, 1));
	assert_int_equal(model_logged(EVENT_MESSAGE_FOUND), logged + 1);
	scene_end();
}

/* --- records --- */

static bool is_recorded_now(void)
{
	model_run_tasks();
	return model_disk_works();
}

/* What is new is written at once; of a retry together with others' while new mail comes. */
static void new_mail_is_recorded_first(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@grey.example");
	assert_false(wake_is_quiet(scene_manager->wake));
	model_say(m, 1, "4.7.1", "");
	assert_true(is_recorded_now());
	scene_work();
	scene_pass(401 * SECOND_US);
	assert_true(wake_is_quiet(scene_manager->wake));
	(void)scene_mail("r@slow.example");
	model_say(m, 1, "4.7.1", "");
	assert_false(is_recorded_now());
	scene_pass(SECOND_US / 4);
	assert_true(is_recorded_now());
	scene_end();
}

/* Others of its deliveries that end meanwhile do not put it off. */
static void news_waits_for_a_quarter_of_a_second(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@slow.example", "r@fast.example", "r@local.example");
	model_say(m, 2, "2.0.0", "");
	scene_pass(SECOND_US / 5);
	model_say(m, 3, "2.0.0", "");
	assert_false(is_recorded_now());
	scene_pass(SECOND_US / 20);
	assert_true(is_recorded_now());
	scene_end();
}

/* The directory has decided about one, while another one is tried for long. */
static void what_the_directory_decided_is_recorded(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("gone@fast.example", "r@slow.example", NULL);
	m->decided[1] = '5';
	assert_false(is_recorded_now());
	scene_pass(SECOND_US / 4);
	assert_true(is_recorded_now());
	assert_true(m->bounce > 0);
	assert_true(scene_is_tried(m, 2));
	scene_end();
}

static void a_failure_is_in_the_record_for_the_report(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@none.example", "r@grey.example", NULL);
	scene_say(m, 1, "5.1.1", "");
	scene_say(m, 2, "4.7.1", "");
	assert_true(m->is_at_s5);
	assert_true(m->bounce > 0);
	scene_end();
}

/* The helper has said nothing. */
static void an_interruption_is_recorded(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@fast.example");
	scene_say(m, 1, NULL, "");
	assert_true(m->is_at_s5);
	assert_int_equal(scene_due_in(m), 2 * SECOND_US);
	scene_end();
}

static unsigned attempts_to_record(unsigned seconds)
{
	unsigned before = model_logged(EVENT_QUEUE_ERROR);

	for (unsigned i = 0; i < seconds; i++) {
		scene_pass(SECOND_US);
		scene_work();
	}
	return model_logged(EVENT_QUEUE_ERROR) - before;
}

/* What was decided stays in memory, and is written less and less often. */
static void what_cannot_be_recorded_is_written_again(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@none.example", "r@grey.example", NULL);
	model_disk.fails = true;
	scene_say(m, 1, "5.1.1", "");
	scene_say(m, 2, "4.7.1", "");
	assert_int_equal(attempts_to_record(9), 0);
	assert_int_equal(attempts_to_record(2), 1);
	assert_int_equal(attempts_to_record(18), 0);
	assert_int_equal(attempts_to_record(3), 1);
	assert_int_equal(attempts_to_record(37), 0);
	assert_int_equal(attempts_to_record(4), 1);
	model_disk.fails = false;
	scene_pass(2 * MINUTE_US);
	scene_work();
	assert_true(m->is_at_s5);
	scene_end();
}

/* A delivery that ends meanwhile is no reason to be faster. */
static void what_could_not_be_recorded_is_not_hurried(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@none.example", "r@slow.example", NULL);
	model_disk.fails = true;
	model_say(m, 1, "5.1.1", "");
	scene_pass(SECOND_US);
	assert_true(is_recorded_now());
	model_say(m, 2, "4.7.1", "");
	assert_false(is_recorded_now());
	scene_end();
}

/* That it waits need not be known: it is tried again, but not at once. */
static void who_only_waits_sleeps_without_a_record(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@fast.example");
	model_disk.fails = true;
	scene_say(m, 1, NULL, "");
	assert_int_equal(scene_due_in(m), 10 * SECOND_US);
	model_disk.fails = false;
	scene_pass(11 * SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* --- reports --- */

static void a_report_that_is_refused_comes_later(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@none.example");
	model_disk.refuses = true;
	scene_say(m, 1, "5.1.1", "");
	assert_int_equal(scene_due_in(m), MINUTE_US);
	model_disk.refuses = false;
	scene_pass(MINUTE_US + SECOND_US);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

/* As long as the record of what was reported is there, the message is; but that was reported. */
static void a_record_of_failures_goes_first(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@none.example");
	model_disk.keeps = true;
	scene_say(m, 1, "5.1.1", "");
	assert_true(m->is_present);
	assert_int_equal(scene_due_in(m), MINUTE_US);
	for (unsigned i = 0; i < 10; i++) {
		scene_pass(MINUTE_US + SECOND_US);
		scene_work();
		assert_true(m->is_present);
	}
	model_disk.keeps = false;
	scene_pass(MINUTE_US + SECOND_US);
	scene_work();
	assert_false(m->is_present);
	assert_int_equal(m->reports, 1);
	scene_end();
}

/* --- clocks --- */

/* The clock was set while it was tried: the time of its next attempt is one by the new clock. */
static void a_time_is_one_of_the_clock_as_it_is(void **state)
{
	struct model_message *m;
	int64_t due_us;

	(void)state;
	(void)scene_begin_deferred();
	scene_pass(2 * MINUTE_US); /* the clock has been looked at */
	m = scene_mail("r@slow.example");
	model_wall_us += HOUR_US;
	scene_say(m, 1, "4.7.1", "");
	due_us = scene_due_in(m);
	assert_in_range(due_us, 2000 * SECOND_US, 2800 * SECOND_US);
	scene_pass(due_us - SECOND_US);
	assert_false(scene_is_tried(m, 1));
	scene_pass(2 * SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* --- orders --- */

/* What is under way is being tried: once. */
static void who_is_tried_is_not_tried_twice_by_an_order(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@grey.example", "r@slow.example", NULL);
	assert_string_equal(scene_order("retry", m), "ok");
	scene_say(m, 1, "4.7.1", "");
	scene_say(m, 2, "4.7.1", "");
	scene_pass(SECOND_US);
	assert_false(scene_is_tried(m, 1));
	assert_false(scene_is_tried(m, 2));
	scene_end();
}

/* One of its deliveries is under way: the others are tried when that ends. */
static void who_is_awake_is_retried_as_well(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail_to("r@grey.example", "r@slow.example", NULL);
	scene_say(m, 1, "4.7.1", "");
	assert_string_equal(scene_order("retry", m), "ok");
	scene_say(m, 2, "2.0.0", "");
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

static void who_is_held_is_released(void **state)
{
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	assert_string_equal(scene_order("release", m), "err it is not held");
	assert_string_equal(scene_order("hold", m), "ok");
	assert_string_equal(scene_order("retry", m), "err it is held");
	scene_pass(HOUR_US);
	assert_false(scene_is_tried(m, 1));
	assert_int_equal(scene_due_in(m), INT64_MAX);
	assert_string_equal(scene_order("release", m), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

static void orders_are_roots_and_the_owners(void **state)
{
	(void)state;
	scene_begin(true);
	assert_string_equal(model_give_order("trigger x"), "err nothing waits for that");
	model_orderer = 4;
	assert_string_equal(model_give_order("trigger x"), "err nothing waits for that");
	model_orderer = 3;
	assert_string_equal(model_give_order("trigger x"),
			    "err only root and the queue's owner may give orders");
	scene_end();
}

/* --- the others --- */

/* Each helper is heard for what is its own. */
static void helpers_are_who_they_say(void **state)
{
	static const char *const services[] = {"remote", "local", "extra"};

	(void)state;
	for (uid_t user = 0; user < 5; user++) {
		scene_begin(true);
		for (size_t i = 0; i < COUNT_OF(services); i++)
			model_lose(services[i]);
		model_lose("resolve");
		for (size_t i = 0; i < MODEL_HELPERS; i++)
			model_users[i] = user;
		model_connect_helpers();
		assert_int_equal(helpers_can_resolve(scene_manager->helpers), user == 1);
		assert_int_equal(helpers_with_place(scene_manager->helpers, "local") != NULL,
				 user == 3);
		assert_int_equal(helpers_with_place(scene_manager->helpers, "remote") != NULL,
				 user == 2);
		scene_end();
	}
}

static void tell_load(uint64_t committing_us)
{
	struct buffer body = {0};

	pack_u64(&body, committing_us);
	model_tell(QUEUE_PROTOCOL_LOAD, buffer_view(&body));
	buffer_clear(&body);
}

/* In thousandths, of the time since it was asked. */
static void the_disk_is_as_busy_as_it_was_lately(void **state)
{
	(void)state;
	scene_begin(true);
	(void)queue_link_disk_load(scene_manager->queue);
	tell_load(50000);
	model_advance(100000);
	assert_int_equal(queue_link_disk_load(scene_manager->queue), 500);
	model_advance(100000);
	assert_int_equal(queue_link_disk_load(scene_manager->queue), 0);
	tell_load(450000);
	model_advance(100000);
	assert_int_equal(queue_link_disk_load(scene_manager->queue), 1000);
	scene_end();
}

/* --- a new configuration, and the end --- */

/* A file that people removed releases as an order does, at the next scan. */
static void a_scan_reads_the_triggers(void **state)
{
	struct model_message *m;
	char name[MAIL_ID_SIZE + 8] = "hold.";

	(void)state;
	m = scene_begin_deferred();
	assert_string_equal(scene_order("hold", m), "ok");
	mail_id_format(m->id, name + strlen(name));
	assert_true(model_has_trigger(name));
	scene_pass(HOUR_US / 2);
	assert_int_equal(queue_trigger_release(model_store, str_from(name)), 0);
	scene_pass(MINUTE_US);
	assert_false(scene_is_tried(m, 1));
	scene_pass(HOUR_US / 2);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

static void what_is_waited_for_is_told(void **state)
{
	struct model_message *tried;
	struct model_message *untried;

	(void)state;
	scene_begin(true);
	tried = scene_mail("r@dead.example");
	assert_string_equal(scene_order("why", tried),
			    "ok (dead.example: a delivery is under way)");
	scene_say(tried, 1, "4.4.1", "host.dead");
	assert_string_equal(scene_order("why", tried), "ok host.dead");
	untried = scene_mail("r@dead.example");
	assert_true(scene_waits(untried));
	assert_string_equal(scene_order("why", untried), "ok host.dead");
	assert_string_equal(scene_order("hold", untried), "ok");
	assert_string_equal(model_give_order("why 999999"), "err no such message");
	scene_end();
}

/* --- to wait for any event --- */

static void set_trigger(const char *name)
{
	while (queue_trigger_set_until(model_store, str_from(name), 0, STR(""), STR("")) < 0)
		continue; /* the disk fails now and then */
}

static struct model_message *begin_waiting_for_the_moon(void)
{
	struct model_message *m;

	scene_begin(true);
	set_trigger("the.moon");
	m = model_mail_that_waits("r@fast.example", "the.moon");
	model_resolve(MODEL_KNOWN);
	return m;
}

static void a_message_waits_for_what_its_envelope_names(void **state)
{
	struct model_message *m;

	(void)state;
	m = begin_waiting_for_the_moon();
	assert_true(scene_waits(m));
	assert_string_equal(scene_order("why", m), "ok the.moon");
	scene_pass(DAY_US);
	assert_true(scene_waits(m));
	assert_string_equal(model_give_order("trigger the.moon"), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_say(m, 1, "4.2.0", "");
	assert_string_equal(model_give_order("wait the.moon"), "ok");
	scene_pass(DAY_US); /* it is due, and set again */
	assert_string_equal(scene_order("why", m), "ok the.moon");
	scene_end();
}

static void what_is_not_set_is_not_waited_for(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = model_mail_that_waits("r@fast.example", "the.moon");
	model_resolve(MODEL_KNOWN);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* Unlike one that is held until it is released. */
static void an_event_that_never_comes_returns_the_mail(void **state)
{
	struct model_message *m;

	(void)state;
	for (int is_held = 0; is_held < 2; is_held++) {
		scene_begin(true);
		set_trigger("the.moon");
		m = is_held ? scene_mail("r@grey.example")
			    : model_mail_that_waits("r@fast.example", "the.moon");
		model_resolve(MODEL_KNOWN);
		if (is_held) {
			scene_say(m, 1, "4.7.1", "");
			assert_string_equal(scene_order_until("hold", m, "the.moon"), "ok");
		}
		scene_pass(MODEL_LIFETIME_US - HOUR_US);
		assert_true(m->is_present);
		assert_int_equal(m->reports, 0);
		scene_pass(2 * HOUR_US);
		scene_work();
		assert_false(m->is_present);
		assert_int_equal(m->reports, 1);
		scene_end();
	}
}

static void a_hold_ends_with_its_event(void **state)
{
	struct model_message *m;
	char name[MAIL_ID_SIZE + 8] = "hold.";

	(void)state;
	m = scene_begin_deferred();
	assert_string_equal(scene_order_until("hold", m, "hold.1-1"),
			    "err that is no name of a trigger to wait for");
	assert_string_equal(scene_order_until("hold", m, "the.moon"), "ok");
	assert_string_equal(scene_order_until("hold", m, "the.sun"), "err it is held");
	mail_id_format(m->id, name + strlen(name));
	assert_true(model_has_trigger(name) && model_has_trigger("the.moon"));
	scene_pass(DAY_US);
	assert_string_equal(scene_order("why", m), "ok the.moon");
	assert_string_equal(model_give_order("trigger the.moon"), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	assert_false(model_has_trigger(name));
	scene_end();
}

/* The file of what several were held until is removed by hand: each that wakes ends its own hold
 * while the triggers are being read. */
static void a_scan_ends_holds_until_what_is_gone(void **state)
{
	struct model_message *m[10];

	(void)state;
	scene_begin(true);
	for (size_t i = 0; i < COUNT_OF(m); i++) {
		m[i] = scene_mail("r@grey.example");
		scene_say(m[i], 1, "4.7.1", "");
		assert_string_equal(scene_order_until("hold", m[i], "the.moon"), "ok");
	}
	scene_pass(DAY_US);
	assert_int_equal(queue_trigger_release(model_store, STR("the.moon")), 0);
	scene_pass(HOUR_US);
	for (size_t i = 0; i < COUNT_OF(m); i++) {
		char name[MAIL_ID_SIZE + 8] = "hold.";

		mail_id_format(m[i]->id, name + strlen(name));
		assert_false(model_has_trigger(name));
	}
	scene_end();
}

static void a_hold_until_an_event_can_be_released(void **state)
{
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	assert_string_equal(scene_order_until("hold", m, "the.moon"), "ok");
	scene_pass(DAY_US);
	assert_true(scene_waits(m));
	assert_string_equal(scene_order("release", m), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m, 1));
	assert_true(model_has_trigger("the.moon"));
	scene_end();
}

/* As by an order, when a scan notices that its file was removed. */
static void a_hold_until_an_event_may_be_removed_by_hand(void **state)
{
	struct model_message *m;
	char name[MAIL_ID_SIZE + 8] = "hold.";

	(void)state;
	m = scene_begin_deferred();
	assert_string_equal(scene_order_until("hold", m, "the.moon"), "ok");
	scene_pass(HOUR_US / 2);
	assert_true(scene_waits(m));
	mail_id_format(m->id, name + strlen(name));
	assert_int_equal(queue_trigger_release(model_store, str_from(name)), 0);
	scene_pass(HOUR_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* It goes on to wait for what its envelope names. */
static void a_released_hold_is_not_a_released_event(void **state)
{
	struct model_message *m;

	(void)state;
	m = begin_waiting_for_the_moon();
	assert_string_equal(scene_order_until("hold", m, "the.moon"), "ok");
	assert_string_equal(scene_order("release", m), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_waits(m));
	assert_string_equal(scene_order("why", m), "ok the.moon");
	scene_end();
}

/* A hold whose file cannot be read is not taken for one without an end. */
static void a_hold_ends_though_it_could_not_be_read(void **state)
{
	struct model_message *m;

	(void)state;
	m = scene_begin_deferred();
	assert_string_equal(scene_order_until("hold", m, "the.moon"), "ok");
	scene_restart(0);
	model_disk.hides = true;
	scene_pass(HOUR_US / 4);
	assert_true(scene_waits(m));
	model_disk.hides = false;
	assert_string_equal(model_give_order("trigger the.moon"), "ok");
	scene_pass(6 * MINUTE_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* What was there before it began may be held: it is found when that is known. New mail is not. */
static void who_cannot_read_the_triggers_finds_no_mail(void **state)
{
	struct model_message *held;
	struct model_message *free;
	struct model_message *new;

	(void)state;
	held = scene_begin_deferred();
	assert_string_equal(scene_order("hold", held), "ok");
	free = scene_mail("r@slow.example");
	scene_say(free, 1, "4.7.1", "");
	model_disk.hides = true;
	scene_restart(0);
	scene_pass(10 * SECOND_US);
	assert_false(scene_is_tried(held, 1));
	assert_false(scene_is_tried(free, 1));
	assert_string_equal(scene_order("retry", held), "err the queue is not there yet");
	model_tell(QUEUE_PROTOCOL_MISSED, STR(""));
	scene_pass(SECOND_US);
	assert_false(scene_is_tried(held, 1));
	new = scene_mail("r@fast.example");
	assert_true(scene_is_tried(new, 1));
	model_disk.hides = false;
	scene_pass(MINUTE_US);
	assert_in_range(scene_due_in(free), 1, 400 * SECOND_US); /* it is found */
	scene_pass(400 * SECOND_US);
	assert_true(scene_is_tried(free, 1));
	assert_true(scene_waits(held));
	assert_string_equal(scene_order("retry", held), "err it is held");
	assert_string_equal(scene_order("release", held), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(held, 1));
	scene_end();
}

/* It counts as set until the triggers are read again. */
static void what_cannot_be_looked_at_is_waited_for(void **state)
{
	struct model_message *m[2];

	(void)state;
	scene_begin(true);
	set_trigger("the.moon");
	model_disk.hides = true;
	m[0] = model_mail_that_waits("r@fast.example", "the.moon");
	m[1] = model_mail_that_waits("r@fast.example", "the.sun");
	model_resolve(MODEL_KNOWN);
	assert_true(scene_waits(m[0]) && scene_waits(m[1]));
	model_disk.hides = false;
	scene_pass(HOUR_US + SECOND_US);
	assert_true(scene_waits(m[0]));
	assert_true(scene_is_tried(m[1], 1));
	assert_string_equal(model_give_order("trigger the.moon"), "ok");
	scene_pass(SECOND_US);
	assert_true(scene_is_tried(m[0], 1));
	scene_end();
}

static void a_probe_comes_as_is_configured(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.probe_delay_us = 5 * MINUTE_US;
	scene_configure();
	m = scene_mail("r@dead.example");
	scene_say(m, 1, "4.4.1", "host.dead");
	scene_pass(4 * MINUTE_US);
	assert_false(scene_is_tried(m, 1));
	scene_pass(MINUTE_US + SECOND_US);
	assert_true(scene_is_tried(m, 1));
	scene_end();
}

/* The address for double bounces is one of today. */
static void reports_are_as_configured(void **state)
{
	static const char *const addresses[] = {"r@none.example", NULL};
	unsigned bounced = model_logged(EVENT_BOUNCED);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.doublebounceto = "";
	scene_configure();
	m = model_mail_to("", addresses, 100);
	model_resolve(MODEL_KNOWN);
	scene_say(m, 1, "5.1.1", "");
	assert_false(m->is_present);
	assert_int_equal(model_logged(EVENT_BOUNCED), bounced);
	scene_end();
}

/* A report that is on its way is waited for. */
static void the_end_waits_for_a_report(void **state)
{
	struct model_message *m;

	(void)state;
	scene_begin(true);
	m = scene_mail("r@none.example");
	model_say(m, 1, "5.1.1", "");
	while (model_disk_works())
		model_answer_removals();
	scene_stop();
	assert_int_equal(m->reports, 0);
	assert_false(scene_has_stopped());
	scene_work();
	assert_int_equal(m->reports, 1);
	assert_true(scene_has_stopped());
	scene_end();
}

/* One that is due is left to the next manager. */
static void the_end_begins_no_report_of_a_delay(void **state)
{
	unsigned notified = model_logged(EVENT_NOTIFIED);
	struct model_message *m;

	(void)state;
	scene_begin(true);
	scene_config.delaynotice_us = HOUR_US;
	scene_configure();
	m = scene_mail("r@slow.example");
	scene_pass(2 * HOUR_US);
	scene_stop();
	scene_say(m, 1, "4.7.1", "");
	assert_int_equal(model_logged(EVENT_NOTIFIED), notified);
	assert_true(scene_has_stopped());
	scene_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_finds_no_memory_is_mapped_later),
		cmocka_unit_test(who_is_not_mapped_can_be_given_up),
		cmocka_unit_test(who_cannot_be_mapped_is_asked_about_again),
		cmocka_unit_test(one_asks_for_the_directory),
		cmocka_unit_test(what_cannot_be_read_is_read_later),
		cmocka_unit_test(what_cannot_be_read_takes_no_order),
		cmocka_unit_test(what_is_not_known_is_not_gone),
		cmocka_unit_test(damage_is_told_from_failures),
		cmocka_unit_test(who_was_found_is_logged_once),
		cmocka_unit_test(new_mail_is_recorded_first),
		cmocka_unit_test(news_waits_for_a_quarter_of_a_second),
		cmocka_unit_test(what_the_directory_decided_is_recorded),
		cmocka_unit_test(a_failure_is_in_the_record_for_the_report),
		cmocka_unit_test(an_interruption_is_recorded),
		cmocka_unit_test(what_cannot_be_recorded_is_written_again),
		cmocka_unit_test(what_could_not_be_recorded_is_not_hurried),
		cmocka_unit_test(who_only_waits_sleeps_without_a_record),
		cmocka_unit_test(a_report_that_is_refused_comes_later),
		cmocka_unit_test(a_record_of_failures_goes_first),
		cmocka_unit_test(a_time_is_one_of_the_clock_as_it_is),
		cmocka_unit_test(who_is_awake_is_retried_as_well),
		cmocka_unit_test(who_is_tried_is_not_tried_twice_by_an_order),
		cmocka_unit_test(who_is_held_is_released),
		cmocka_unit_test(orders_are_roots_and_the_owners),
		cmocka_unit_test(helpers_are_who_they_say),
		cmocka_unit_test(the_disk_is_as_busy_as_it_was_lately),
		cmocka_unit_test(a_scan_reads_the_triggers),
		cmocka_unit_test(what_is_waited_for_is_told),
		cmocka_unit_test(a_message_waits_for_what_its_envelope_names),
		cmocka_unit_test(what_is_not_set_is_not_waited_for),
		cmocka_unit_test(an_event_that_never_comes_returns_the_mail),
		cmocka_unit_test(a_hold_ends_with_its_event),
		cmocka_unit_test(a_scan_ends_holds_until_what_is_gone),
		cmocka_unit_test(a_hold_until_an_event_can_be_released),
		cmocka_unit_test(a_hold_until_an_event_may_be_removed_by_hand),
		cmocka_unit_test(a_released_hold_is_not_a_released_event),
		cmocka_unit_test(a_hold_ends_though_it_could_not_be_read),
		cmocka_unit_test(who_cannot_read_the_triggers_finds_no_mail),
		cmocka_unit_test(what_cannot_be_looked_at_is_waited_for),
		cmocka_unit_test(a_probe_comes_as_is_configured),
		cmocka_unit_test(reports_are_as_configured),
		cmocka_unit_test(the_end_waits_for_a_report),
		cmocka_unit_test(the_end_begins_no_report_of_a_delay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
