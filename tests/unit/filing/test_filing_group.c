// SPDX-License-Identifier: ISC
/* Groups of messages, and attempts that are left by somebody who never came back. */
#include "base/arena.h"
#include "filing/doubt.h"
#include "filing/filing.h"
#include "filing_world.h"
#include "test.h"
#include <stdio.h>

enum { MESSAGES = 2 };

static const char *const IDS[MESSAGES] = {"<1@example.org>", "<2@example.org>"};
static const char USER[] = "user@example.org";

static struct world world;
static unsigned events[FILING_EVENTS];

/* One fault, at the NUMBERth CALL. */
static struct {
	enum world_fault fault;
	enum world_call call;
	unsigned number;
} plan;

static enum world_fault judge(void *context, unsigned worker, enum world_call call)
{
	(void)context;
	(void)worker;
	return plan.fault != WORLD_FINE && call == plan.call && --plan.number == 0 ? plan.fault
										   : WORLD_FINE;
}

static void plan_fault(enum world_fault fault, enum world_call call, unsigned number)
{
	plan.fault = fault;
	plan.call = call;
	plan.number = number;
}

static void count_event(void *context, const struct filing_event *event)
{
	(void)context;
	events[event->kind]++;
}

/* Both messages, each with one copy; their outcome comes into MESSAGES_OUT. */
static void file(struct world_worker *worker, struct filing_message messages_out[MESSAGES],
		 struct filing_copy copies_out[MESSAGES])
{
	struct decode_identity identities[MESSAGES] = {0};
	const struct decode_message decoded = {.subject = STR("")};
	struct filing *filing;

	world_revive(worker);
	for (size_t i = 0; i < MESSAGES; i++) {
		identities[i].id = str_from(IDS[i]);
		copies_out[i] = (struct filing_copy){.mailbox = {STR(USER), STR("INBOX")},
						     .recipient = STR(USER)};
		messages_out[i] =
			(struct filing_message){.identity = &identities[i],
						.decoded = &decoded,
						.content = {STR("\r\n"), .file = -1, .size = 2},
						.sender = STR(""),
						.copies = &copies_out[i],
						.copy_count = 1};
	}
	memset(events, 0, sizeof events);
	filing = filing_new(&worker->record, &worker->store, count_event, NULL);
	filing_group(filing, messages_out, MESSAGES);
	filing_free(filing);
}

static void assert_filed_once(struct world_worker *worker)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];

	plan_fault(WORLD_FINE, WORLD_BEGIN, 0);
	file(worker, messages, copies);
	for (size_t i = 0; i < MESSAGES; i++) {
		assert_int_equal(copies[i].verdict.class, MAIL_OK);
		assert_int_equal(world_count(&world, IDS[i], USER), 1);
	}
}

static int set_up(void **state)
{
	(void)state;
	world.judge = judge;
	world.append_max_us = 0;
	plan_fault(WORLD_FINE, WORLD_BEGIN, 0);
	world_begin(&world);
	return 0;
}

static void a_group_is_filed(void **state)
{
	(void)state;
	assert_filed_once(&world.workers[0]);
	assert_int_equal(world.made[WORLD_COMMIT], 2);
	assert_int_equal(events[FILING_FILED], 2);
	assert_filed_once(&world.workers[1]);
	assert_int_equal(world.made[WORLD_COMMIT], 3);
	assert_int_equal(events[FILING_KNOWN], 2);
}

/* The first check is before all of them. */
static void nothing_is_appended_after_the_lock_was_lost(void **state)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];

	(void)state;
	for (unsigned at = 1; at <= MESSAGES; at++) {
		world_begin(&world);
		plan_fault(WORLD_LOST, WORLD_CHECK, at);
		file(&world.workers[0], messages, copies);
		assert_int_equal(world_count(&world, IDS[0], USER), at - 1);
		assert_int_equal(world_count(&world, IDS[1], USER), 0);
		for (size_t i = 0; i < MESSAGES; i++)
			assert_int_equal(copies[i].verdict.class, MAIL_WAIT);
		assert_true(messages[0].is_lost);
		assert_filed_once(&world.workers[1]);
	}
}

/* From the first begin on there is no connection. */
static enum world_fault refuse_connections(void *context, unsigned worker, enum world_call call)
{
	(void)context;
	(void)worker;
	return call == WORLD_BEGIN ? WORLD_LOST : WORLD_FINE;
}

/* All are told that it is away; not so if only a connection was lost. */
static void a_record_that_is_away_is_nobodys_failure(void **state)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];

	(void)state;
	world.judge = refuse_connections;
	file(&world.workers[0], messages, copies);
	assert_true(messages[0].is_away && messages[1].is_away);
	world.judge = judge;
	plan_fault(WORLD_LOST, WORLD_LOOK, 1);
	file(&world.workers[0], messages, copies);
	assert_int_equal(copies[0].verdict.class, MAIL_WAIT);
	assert_false(messages[0].is_away || messages[1].is_away);
	assert_filed_once(&world.workers[0]);
}

static void one_that_is_refused_does_not_hold_up_the_other(void **state)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];

	(void)state;
	plan_fault(WORLD_REFUSED, WORLD_APPEND, 1);
	file(&world.workers[0], messages, copies);
	assert_int_equal(copies[0].verdict.class, MAIL_WAIT);
	assert_int_equal(copies[1].verdict.class, MAIL_OK);
	assert_false(messages[0].is_lost);
	assert_int_equal(world.database.rows[0].attempt_count, 0);
	assert_filed_once(&world.workers[0]);
}

static void a_message_whose_lock_another_one_has_goes_back(void **state)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];
	struct lock_name name;

	(void)state;
	lock_name_make(str_from(IDS[0]), &name);
	assert_int_equal(record_begin(&world.workers[1].record), 0);
	assert_int_equal(record_lock(&world.workers[1].record, &name), 0);
	file(&world.workers[0], messages, copies);
	assert_true(messages[0].is_busy);
	assert_false(messages[1].is_busy);
	assert_int_equal(copies[1].verdict.class, MAIL_OK);
	assert_int_equal(world_count(&world, IDS[0], USER), 0);
	record_rollback(&world.workers[1].record);
	assert_filed_once(&world.workers[0]);
}

/* Leaves an attempt of a worker whose clock is AHEAD_US, and looks whether it is there still when
 * another one has filed the message. */
static size_t attempts_left(int64_t ahead_us)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];

	world_begin(&world);
	world.workers[1].clock_us = ahead_us;
	plan_fault(WORLD_DEATH, WORLD_CHECK, 1);
	file(&world.workers[1], messages, copies);
	assert_int_equal(world.database.rows[0].attempt_count, 1);
	assert_filed_once(&world.workers[0]);
	return world.database.rows[0].attempt_count;
}

static void an_attempt_is_settled_after_a_day(void **state)
{
	(void)state;
	assert_int_equal(attempts_left(0), 1);
	assert_int_equal(attempts_left(-23 * HOUR_US), 1);
	assert_int_equal(attempts_left(-25 * HOUR_US), 0);
}

/* Others have taken it for one of somebody who is gone, before the second transaction. */
static enum world_fault forget_attempts(void *context, unsigned worker, enum world_call call)
{
	if (call == WORLD_BEGIN && world.made[WORLD_BEGIN] == 2)
		world.database.rows[0].attempt_count = 0;
	return judge(context, worker, call);
}

static void who_lost_his_attempt_begins_anew(void **state)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];

	(void)state;
	world.judge = forget_attempts;
	file(&world.workers[0], messages, copies);
	assert_true(copies[0].is_early);
	assert_false(copies[1].is_early);
	assert_int_equal(copies[0].verdict.class, MAIL_WAIT);
	assert_int_equal(copies[1].verdict.class, MAIL_OK);
	assert_int_equal(world_count(&world, IDS[0], USER), 0);
	assert_filed_once(&world.workers[0]);
}

/* And not while the append can still take effect; a clock that is far ahead does not matter. */
static void nothing_is_decided_too_early(void **state)
{
	struct filing_message messages[MESSAGES];
	struct filing_copy copies[MESSAGES];

	(void)state;
	world.append_max_us = HOUR_US;
	world_begin(&world);
	plan_fault(WORLD_DEATH, WORLD_CHECK, 1);
	file(&world.workers[1], messages, copies);
	file(&world.workers[0], messages, copies);
	assert_true(copies[0].is_early && copies[1].is_early);
	assert_false(messages[0].is_busy || messages[1].is_busy);
	assert_non_null(strstr(copies[0].verdict.text, "lost"));
	assert_int_equal(world.database.rows[0].attempt_count, 1);
	world.workers[0].clock_us = HOUR_US;
	assert_filed_once(&world.workers[0]);
	assert_int_equal(attempts_left(2 * HOUR_US), 1);
}

static void the_last_lost_are_remembered(void **state)
{
	static struct filing_doubt doubt;
	char id[40];

	(void)state;
	for (unsigned i = 0; i < FILING_DOUBT_MAX + 1; i++) {
		snprintf(id, sizeof id, "<%u@example.org>", i);
		assert_false(filing_doubt_has(&doubt, str_from(id)));
		filing_doubt_add(&doubt, str_from(id));
		assert_true(filing_doubt_has(&doubt, str_from(id)));
	}
	assert_true(filing_doubt_has(&doubt, STR("<1@example.org>")));
	assert_false(filing_doubt_has(&doubt, STR("<0@example.org>")));
}

/* Two purposes may lead to one place: it gets one copy, and both have its outcome. */
static void copies_with_one_place_are_one(void **state)
{
	static const enum world_fault faults[] = {WORLD_FINE, WORLD_REFUSED};
	const struct decode_identity identity = {.id = STR("<1@example.org>")};
	const struct decode_message decoded = {.subject = STR("")};
	struct world_worker *worker = &world.workers[0];
	struct filing_copy copies[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct filing_message message = {.identity = &identity,
						 .decoded = &decoded,
						 .content = {STR("\r\n"), .file = -1, .size = 2},
						 .copies = copies,
						 .copy_count = 2};
		struct filing *filing =
			filing_new(&worker->record, &worker->store, count_event, NULL);

		memset(events, 0, sizeof events);
		memset(copies, 0, sizeof copies);
		for (size_t j = 0; j < 2; j++) {
			copies[j].mailbox = (struct record_mailbox){STR(USER), STR("INBOX")};
			copies[j].decision.purpose = j == 0 ? STR("to+a") : STR("to+b");
		}
		world_begin(&world);
		plan_fault(faults[i], WORLD_APPEND, 1);
		filing_group(filing, &message, 1);
		filing_free(filing);
		assert_int_equal(world_count(&world, IDS[0], USER), i == 0);
		assert_int_equal(events[FILING_FILED], i == 0);
		assert_int_equal(events[FILING_FAILED], i == 1);
		for (size_t j = 0; j < 2; j++)
			assert_int_equal(copies[j].verdict.class, i == 0 ? MAIL_OK : MAIL_WAIT);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_group_is_filed, set_up),
		cmocka_unit_test_setup(nothing_is_appended_after_the_lock_was_lost, set_up),
		cmocka_unit_test_setup(a_record_that_is_away_is_nobodys_failure, set_up),
		cmocka_unit_test_setup(one_that_is_refused_does_not_hold_up_the_other, set_up),
		cmocka_unit_test_setup(a_message_whose_lock_another_one_has_goes_back, set_up),
		cmocka_unit_test_setup(an_attempt_is_settled_after_a_day, set_up),
		cmocka_unit_test_setup(who_lost_his_attempt_begins_anew, set_up),
		cmocka_unit_test_setup(nothing_is_decided_too_early, set_up),
		cmocka_unit_test(the_last_lost_are_remembered),
		cmocka_unit_test_setup(copies_with_one_place_are_one, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
