// SPDX-License-Identifier: ISC
/* What becomes of each field of a delivery, whatever was in it before; and what is logged of it. */
#include "base/timestamp.h"
#include "heard.h"
#include "ipc/job.h"
#include "manager/outcome.h"
#include "manager/wait/schedule.h"
#include "test.h"
#include <stdio.h>
#include <string.h>

#define START_US    (INT64_C(1700000000) * SECOND_US)
#define LIFETIME_US (5 * DAY_US)

static struct arena *arena;

/* What an earlier attempt has left. */
static struct queue_delivery delivery_with(enum queue_outcome outcome, uint32_t attempts)
{
	return (struct queue_delivery){.number = 3,
				       .recipient = 7,
				       .route = QUEUE_ROUTE_REMOTE,
				       .address = STR("a@a.test"),
				       .outcome = outcome,
				       .attempts = attempts,
				       .changed_us = 5,
				       .until_us = 6,
				       .trigger = STR("host.mx"),
				       .status = STR("4.4.1"),
				       .text = STR("before")};
}

/* "OUTCOME ATTEMPTS CHANGED UNTIL STATUS|TEXT|TRIGGER", the times from the start in seconds. */
static const char *show(const struct queue_delivery *delivery)
{
	static const char *const outcomes[] = {[QUEUE_PENDING] = "pending",
					       [QUEUE_DONE] = "done",
					       [QUEUE_WAIT] = "wait",
					       [QUEUE_FAIL] = "fail"};
	static char text[512];

	snprintf(text, sizeof text,
		 "%s %u %lld %lld " STR_FORMAT "|" STR_FORMAT "|" STR_FORMAT "%s%s",
		 outcomes[delivery->outcome], delivery->attempts,
		 (long long)(delivery->changed_us > 6 ? delivery->changed_us - START_US
						      : delivery->changed_us),
		 (long long)(delivery->until_us > 6 ? delivery->until_us - START_US
						    : delivery->until_us),
		 STR_ARGUMENTS(delivery->status), STR_ARGUMENTS(delivery->text),
		 STR_ARGUMENTS(delivery->trigger), delivery->is_quiet ? " quiet" : "",
		 delivery->is_requeued ? " requeued" : "");
	return text;
}

static struct outcome_terms terms_at(int64_t age_us, bool is_missed)
{
	return (struct outcome_terms){
		.start_us = START_US,
		.deadline = {.mode = MAIL_DEADLINE_RETURN,
			     .at_us = is_missed ? START_US + age_us : START_US + age_us + 1},
		.lifetime_us = LIFETIME_US,
		.skip = 10,
		.now_us = START_US + age_us,
		.random = 4};
}

static const int64_t ages_us[] = {DAY_US, LIFETIME_US - 1, LIFETIME_US};

static void damage_is_waited_for_until_it_is_too_old(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(ages_us) * 2; i++) {
		const struct outcome_terms terms = terms_at(ages_us[i / 2], i % 2 == 1);
		struct queue_delivery delivery = delivery_with(QUEUE_PENDING, 2);
		char wanted[256];

		if (i % 2 == 1 || ages_us[i / 2] == LIFETIME_US)
			snprintf(wanted, sizeof wanted,
				 "fail 2 %lld 0 5.3.0|the disk of this host has damaged the "
				 "message|",
				 (long long)ages_us[i / 2]);
		else
			snprintf(wanted, sizeof wanted,
				 "wait 3 %lld %lld 4.3.0|the disk of this host has damaged the "
				 "message; it is held|",
				 (long long)ages_us[i / 2], (long long)LIFETIME_US);
		outcome_damage(&delivery, &terms);
		assert_string_equal(show(&delivery), wanted);
	}
}

/* Two seconds each for three times; then as after any failure. */
static void interruptions_are_short_at_first(void **state)
{
	(void)state;
	for (uint32_t attempts = 0; attempts < 5; attempts++)
		for (size_t i = 0; i < COUNT_OF(ages_us); i++) {
			const struct outcome_terms terms = terms_at(ages_us[i], false);
			struct queue_delivery delivery = delivery_with(QUEUE_PENDING, attempts);
			int64_t until_us = ages_us[i] + 2 * SECOND_US;
			char wanted[256];

			if (attempts >= 3)
				until_us = schedule_next(START_US, terms.now_us, terms.skip,
							 attempts, terms.random) -
					   START_US;
			snprintf(wanted, sizeof wanted, "wait %u %lld %lld 4.3.0|%s|", attempts + 1,
				 (long long)ages_us[i], (long long)until_us,
				 "the delivery was interrupted");
			if (attempts >= 3 && ages_us[i] == LIFETIME_US)
				snprintf(wanted, sizeof wanted, "fail %u %lld %lld %s|%s%s|",
					 attempts + 1, (long long)ages_us[i], (long long)until_us,
					 MAIL_STATUS_EXPIRED,
					 MAIL_NOT_DELIVERED "in time" MAIL_LAST_ATTEMPT,
					 "the delivery was interrupted");
			outcome_interrupt(arena, &delivery, &terms);
			assert_string_equal(show(&delivery), wanted);
		}
}

static void what_is_put_off_was_not_tried(void **state)
{
	struct queue_delivery delivery = delivery_with(QUEUE_PENDING, 2);

	(void)state;
	(void)heard_take();
	outcome_postpone(arena, (struct mail_id){457, 1}, &delivery, START_US, START_US + HOUR_US);
	assert_string_equal(
		show(&delivery),
		"wait 2 0 3600000000 |held until 2023-11-14T23:13:20Z, as its sender has "
		"asked|");
	assert_string_equal(heard_take(), "postponed id=457-1 delivery=3 to=a@a.test "
					  "until=2023-11-14T23:13:20Z\n");
	assert_true(outcome_is_postponed(&delivery, START_US + HOUR_US, START_US + HOUR_US - 1));
	assert_false(outcome_is_postponed(&delivery, START_US + HOUR_US, START_US + HOUR_US));
	assert_false(outcome_is_postponed(&delivery, START_US + HOUR_US + 1, START_US));
	delivery.outcome = QUEUE_PENDING;
	assert_false(outcome_is_postponed(&delivery, START_US + HOUR_US, START_US));
}

static void who_is_given_up_waits_for_nothing(void **state)
{
	struct queue_delivery delivery = delivery_with(QUEUE_WAIT, 2);

	(void)state;
	outcome_give_up(&delivery, true, START_US + 7);
	assert_string_equal(show(&delivery),
			    "fail 2 7 6 5.7.0|returned by the operator of the mail system|");
	delivery = delivery_with(QUEUE_WAIT, 2);
	outcome_give_up(&delivery, false, START_US + 7);
	assert_string_equal(show(&delivery), "done 2 7 6 2.7.0|removed by the operator| quiet");
	delivery.is_quiet = true;
	outcome_give_up(&delivery, true, START_US + 7);
	assert_false(delivery.is_quiet);
	delivery = delivery_with(QUEUE_WAIT, 2);
	outcome_defer(&delivery, START_US + 7, START_US + 8, "4.3.5", "why");
	assert_string_equal(show(&delivery), "wait 2 7 8 4.3.5|why|");
}

/* Of all three kinds; old, missed, or for a place in a class of hosts. */
static void a_report_decides_or_schedules(void **state)
{
	static const struct {
		const char *status, *trigger;
	} reports[] = {{"2.0.0", ""},
		       {"5.1.1", ""},
		       {"4.7.1", ""},
		       {"4.4.1", "host.b"},
		       {"4.4.5", "class.192.0.2.0-24"}};

	(void)state;
	for (size_t n = 0; n < COUNT_OF(reports) * COUNT_OF(ages_us) * 2; n++) {
		size_t r = n % COUNT_OF(reports);
		int64_t age_us = ages_us[n / COUNT_OF(reports) % COUNT_OF(ages_us)];
		bool is_missed = n >= COUNT_OF(reports) * COUNT_OF(ages_us);
		const struct outcome_terms terms = terms_at(age_us, is_missed);
		const struct ipc_job_report report = {.status = str_from(reports[r].status),
						      .text = STR("said"),
						      .trigger = str_from(reports[r].trigger)};
		struct queue_delivery delivery = delivery_with(QUEUE_WAIT, 2);
		int64_t until_us = r == 4 ? age_us + SECOND_US
					  : schedule_next(START_US, terms.now_us, terms.skip, 2,
							  terms.random) -
						    START_US;
		char at[TIMESTAMP_SIZE];
		char wanted[300];

		timestamp_format_seconds(terms.deadline.at_us, at);
		if (r < 2)
			snprintf(wanted, sizeof wanted, "%s 2 %lld 6 %s|said|",
				 r == 0 ? "done" : "fail", (long long)age_us, reports[r].status);
		else if (is_missed)
			snprintf(wanted, sizeof wanted,
				 "fail 3 %lld %lld %s|%sby %s, as its sender has "
				 "asked%ssaid|%s",
				 (long long)age_us, (long long)until_us, MAIL_STATUS_EXPIRED,
				 MAIL_NOT_DELIVERED, at, MAIL_LAST_ATTEMPT, reports[r].trigger);
		else if (age_us == LIFETIME_US)
			snprintf(wanted, sizeof wanted, "fail 3 %lld %lld %s|%sin time%ssaid|%s",
				 (long long)age_us, (long long)until_us, MAIL_STATUS_EXPIRED,
				 MAIL_NOT_DELIVERED, MAIL_LAST_ATTEMPT, reports[r].trigger);
		else
			snprintf(wanted, sizeof wanted, "wait 3 %lld %lld %s|said|%s",
				 (long long)age_us, (long long)until_us, reports[r].status,
				 reports[r].trigger);
		outcome_report(arena, &delivery, &report, &terms);
		assert_string_equal(show(&delivery), wanted);
	}
}

static void only_who_wants_it_back_misses_it(void **state)
{
	static const enum mail_deadline_mode modes[] = {MAIL_DEADLINE_NONE, MAIL_DEADLINE_NOTIFY,
							MAIL_DEADLINE_RETURN};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(modes); i++) {
		const struct mail_deadline deadline = {.mode = modes[i], .at_us = START_US};

		assert_false(outcome_is_missed(&deadline, START_US - 1));
		assert_int_equal(outcome_is_missed(&deadline, START_US),
				 modes[i] == MAIL_DEADLINE_RETURN);
	}
}

/* Without an attempt before there is none to be told of. */
static void what_was_never_tried_has_no_last_attempt(void **state)
{
	const struct mail_deadline deadline = {.mode = MAIL_DEADLINE_RETURN, .at_us = START_US};
	struct queue_delivery delivery = delivery_with(QUEUE_PENDING, 0);

	(void)state;
	delivery.text = STR("");
	outcome_miss(arena, &delivery, &deadline, START_US + 9);
	assert_true(str_equal(
		delivery.text,
		STR(MAIL_NOT_DELIVERED "by 2023-11-14T22:13:20Z, as its sender has asked")));
	assert_int_equal(delivery.changed_us, START_US + 9);
}

/* --- the log --- */

static void each_outcome_is_logged(void **state)
{
	static const char *const events[] = {
		[QUEUE_DONE] = "delivered", [QUEUE_WAIT] = "deferred", [QUEUE_FAIL] = "failed"};
	static const char *const routes[] = {[QUEUE_ROUTE_REMOTE] = "remote",
					     [QUEUE_ROUTE_LOCAL] = "box",
					     [QUEUE_ROUTE_NONE] = "none"};
	static struct mail_recipient recipient = {.number = 7};
	const struct ipc_job_report report = {
		.tls = {STR("TLSv1.3"), STR("cipher"), STR("may"), STR("no")},
		.source = STR("src")};
	const struct mail_envelope envelope = {.id = {457, START_US},
					       .sender = STR("s@x.test"),
					       .size = 11,
					       .recipients = &recipient,
					       .recipient_count = 1};

	(void)state;
	for (unsigned n = 0; n < 3 * 3 * 4; n++) {
		struct queue_delivery delivery = delivery_with((enum queue_outcome)(1 + n % 3), 1);
		bool is_other = n / 9 % 2 == 1;
		bool has_report = n / 18 == 1;
		char wanted[512];

		recipient.address = is_other ? STR("o@o.test") : delivery.address;
		delivery.route = (enum queue_route)(n / 3 % 3);
		delivery.service = STR("box");
		delivery.server = STR("srv");
		delivery.changed_us = START_US + 5;
		delivery.until_us = START_US + HOUR_US;
		snprintf(wanted, sizeof wanted,
			 "%s id=457-60a24181e4000 delivery=3 from=s@x.test to=a@a.test%s by=%s "
			 "server=srv size=11 delay=5 status=4.4.1 text=before%s%s\n",
			 events[delivery.outcome], is_other ? " original=o@o.test" : "",
			 routes[delivery.route],
			 delivery.outcome == QUEUE_WAIT ? " until=2023-11-14T23:13:20Z" : "",
			 has_report ? " tls=TLSv1.3 cipher=cipher policy=may verified=no source=src"
				    : "");
		(void)heard_take();
		outcome_log(&envelope, &delivery, has_report ? &report : NULL);
		assert_string_equal(heard_take(), wanted);
	}
}

static int open_arena(void **state)
{
	(void)state;
	arena = arena_new();
	return 0;
}

static int free_arena(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_is_waited_for_until_it_is_too_old),
		cmocka_unit_test(interruptions_are_short_at_first),
		cmocka_unit_test(what_is_put_off_was_not_tried),
		cmocka_unit_test(who_is_given_up_waits_for_nothing),
		cmocka_unit_test(a_report_decides_or_schedules),
		cmocka_unit_test(only_who_wants_it_back_misses_it),
		cmocka_unit_test(what_was_never_tried_has_no_last_attempt),
		cmocka_unit_test(each_outcome_is_logged),
	};

	return cmocka_run_group_tests(tests, open_arena, free_arena);
}
