// SPDX-License-Identifier: ISC
#include "base/panic.h"
#include "manager/outcome.h"
#include "manager/wait/schedule.h"
#include "test.h"

static const int64_t BORN_US = INT64_C(1700000000) * SECOND_US;

static struct outcome_terms terms_at(int64_t age_us)
{
	return (struct outcome_terms){.start_us = BORN_US,
				      .lifetime_us = DAY_US,
				      .skip = SCHEDULE_SKIP_REMOTE,
				      .now_us = BORN_US + age_us};
}

static void a_report_is_an_outcome(void **state)
{
	static const struct {
		const char *status;
		int64_t age_us;
		enum queue_outcome outcome;
		const char *then;
	} cases[] = {
		{"2.0.0", 0, QUEUE_DONE, "2.0.0"},
		{"2.0.0", 2 * DAY_US, QUEUE_DONE, "2.0.0"},
		{"5.1.1", 0, QUEUE_FAIL, "5.1.1"},
		{"4.4.1", 0, QUEUE_WAIT, "4.4.1"},
		{"4.4.1", DAY_US - 1, QUEUE_WAIT, "4.4.1"},
		{"4.4.1", DAY_US, QUEUE_FAIL, "5.4.7"},
		{"5.1.1", DAY_US, QUEUE_FAIL, "5.1.1"},
		{"9.9.9", 0, QUEUE_WAIT, "9.9.9"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct outcome_terms terms = terms_at(cases[i].age_us);
		struct arena *arena = arena_new();
		struct queue_delivery delivery = {.number = 1, .attempts = 3};
		const struct ipc_job_report report = {.number = 1,
						      .status = str_from(cases[i].status),
						      .text = STR("so it is"),
						      .trigger = STR("host.a")};

		outcome_report(arena, &delivery, &report, &terms);
		assert_int_equal(delivery.outcome, cases[i].outcome);
		assert_int_equal(outcome_is_open(&delivery), cases[i].outcome == QUEUE_WAIT);
		assert_true(str_equal(delivery.status, str_from(cases[i].then)));
		assert_int_equal(delivery.changed_us, terms.now_us);
		assert_true(str_equal(delivery.trigger, STR("host.a")));
		if (cases[i].outcome == QUEUE_WAIT) {
			assert_int_equal(delivery.attempts, 4);
			assert_int_equal(delivery.until_us,
					 schedule_next(BORN_US, terms.now_us, terms.skip, 3, 0));
		}
		arena_free(arena);
	}
}

/* Mail for the postmaster ends with somebody (RFC 5321 section 4.5.1). */
static void a_postmaster_without_mailbox_is_redirected(void **state)
{
	static const struct {
		const char *recipient;
		const char *address;
		enum queue_route route;
		const char *status;
		bool is_redirected;
	} cases[] = {
		{"postmaster@a.example", "postmaster@a.example", QUEUE_ROUTE_LOCAL, "5.1.1", true},
		{"PostMaster@a.example", "PostMaster@a.example", QUEUE_ROUTE_LOCAL, "5.1.10", true},
		{"postmaster", "postmaster+x@a.example", QUEUE_ROUTE_LOCAL, "5.1.3", true},
		{"postmaster@a.example", "hugo@a.example", QUEUE_ROUTE_LOCAL, "5.1.1", true},
		{"info@a.example", "postmaster@a.example", QUEUE_ROUTE_LOCAL, "5.1.6", true},
		{"ann@a.example", "ann@a.example", QUEUE_ROUTE_LOCAL, "5.1.1", false},
		{"postmasters@a.example", "x@a.example", QUEUE_ROUTE_LOCAL, "5.1.1", false},
		{"postmaster@a.example", "x@b.example", QUEUE_ROUTE_REMOTE, "5.1.1", false},
		{"postmaster@a.example", "postmaster@a.example", QUEUE_ROUTE_LOCAL, "5.1.7", false},
		{"postmaster@a.example", "postmaster@a.example", QUEUE_ROUTE_LOCAL, "5.7.1", false},
		{"postmaster@a.example", "postmaster@a.example", QUEUE_ROUTE_LOCAL, "4.1.1", false},
		{"postmaster@a.example", "postmaster@a.example", QUEUE_ROUTE_LOCAL, "2.1.1", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct outcome_terms terms = terms_at(0);
		struct arena *arena = arena_new();
		const struct mail_recipient recipient = {.address = str_from(cases[i].recipient)};
		struct queue_delivery delivery = {.number = 1,
						  .route = cases[i].route,
						  .address = str_from(cases[i].address)};
		const struct ipc_job_report report = {.status = str_from(cases[i].status),
						      .text = STR("no such user")};

		outcome_report(arena, &delivery, &report, &terms);
		assert_int_equal(outcome_redirect(&delivery, &recipient, BORN_US + 1),
				 cases[i].is_redirected);
		assert_int_equal(outcome_is_redirected(&delivery), cases[i].is_redirected);
		assert_int_equal(delivery.is_requeued, cases[i].is_redirected);
		assert_true(str_equal(delivery.status, str_from(cases[i].status)));
		if (cases[i].is_redirected) {
			assert_int_equal(delivery.outcome, QUEUE_WAIT);
			assert_int_equal(delivery.until_us, BORN_US + 1);
			assert_int_equal(delivery.attempts, 1);
		}
		arena_free(arena);
	}
}

/* The last reply is what a sender wants to know of. */
static void what_waited_too_long_says_why(void **state)
{
	struct arena *arena = arena_new();
	struct queue_delivery delivery = {.outcome = QUEUE_WAIT, .text = STR("nobody is there")};

	(void)state;
	outcome_expire(arena, &delivery, BORN_US);
	assert_int_equal(delivery.outcome, QUEUE_FAIL);
	assert_int_equal(delivery.changed_us, BORN_US);
	assert_true(str_equal(delivery.text,
			      STR("not delivered in time; the last attempt: nobody is there")));
	arena_free(arena);
}

/* It is not tried again, however long a message may wait. */
static void what_is_late_is_returned(void **state)
{
	static const struct {
		enum mail_deadline_mode mode;
		int64_t age_us;
		const char *status;
		enum queue_outcome outcome;
		const char *text;
	} cases[] = {
		{MAIL_DEADLINE_RETURN, HOUR_US - 1, "4.4.1", QUEUE_WAIT, "no"},
		{MAIL_DEADLINE_RETURN, HOUR_US, "4.4.1", QUEUE_FAIL,
		 "not delivered by 2023-11-14T23:13:20Z, as its sender has asked; the last "
		 "attempt: no"},
		{MAIL_DEADLINE_RETURN, HOUR_US, "2.0.0", QUEUE_DONE, "no"},
		{MAIL_DEADLINE_RETURN, HOUR_US, "5.1.1", QUEUE_FAIL, "no"},
		{MAIL_DEADLINE_NOTIFY, HOUR_US, "4.4.1", QUEUE_WAIT, "no"},
		{MAIL_DEADLINE_NOTIFY, DAY_US, "4.4.1", QUEUE_FAIL,
		 "not delivered in time; the last attempt: no"},
		{MAIL_DEADLINE_NONE, HOUR_US, "4.4.1", QUEUE_WAIT, "no"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct outcome_terms terms = terms_at(cases[i].age_us);
		struct arena *arena = arena_new();
		struct queue_delivery delivery = {.number = 1};
		const struct ipc_job_report report = {
			.number = 1, .status = str_from(cases[i].status), .text = STR("no")};

		terms.deadline.mode = cases[i].mode;
		terms.deadline.at_us = BORN_US + HOUR_US;
		outcome_report(arena, &delivery, &report, &terms);
		assert_int_equal(delivery.outcome, cases[i].outcome);
		assert_true(str_equal(delivery.text, str_from(cases[i].text)));
		arena_free(arena);
	}
}

static void what_was_never_tried_is_returned(void **state)
{
	const struct mail_deadline deadline = {.mode = MAIL_DEADLINE_RETURN, .at_us = BORN_US};
	struct arena *arena = arena_new();
	struct queue_delivery delivery = {.number = 1};

	(void)state;
	outcome_miss(arena, &delivery, &deadline, BORN_US);
	assert_int_equal(delivery.outcome, QUEUE_FAIL);
	assert_true(str_equal(delivery.status, STR("5.4.7")));
	assert_true(
		str_equal(delivery.text,
			  STR("not delivered by 2023-11-14T22:13:20Z, as its sender has asked")));
	arena_free(arena);
}

/* The first three times a helper that ended says nothing of the next host. */
static void an_interruption_waits_a_moment(void **state)
{
	const struct outcome_terms terms = terms_at(100 * SECOND_US);
	struct queue_delivery delivery = {.trigger = STR("host.a")};
	struct arena *arena = arena_new();

	(void)state;
	for (uint32_t attempt = 1; attempt <= 5; attempt++) {
		outcome_interrupt(arena, &delivery, &terms);
		assert_int_equal(delivery.outcome, QUEUE_WAIT);
		assert_int_equal(delivery.attempts, attempt);
		assert_int_equal(delivery.until_us,
				 attempt <= 3 ? terms.now_us + 2 * SECOND_US
					      : schedule_next(BORN_US, terms.now_us, terms.skip,
							      attempt - 1, 0));
		assert_true(str_equal(delivery.status, STR("4.3.0")));
		assert_int_equal(delivery.trigger.length, 0);
	}
	arena_free(arena);
}

/* Other nodes count what they refuse, and what waits for them, as attempts, too: that the helper
 * ended then is no reason to wait for minutes. */
static void an_interrupted_hand_over_waits_as_a_refused_one(void **state)
{
	struct outcome_terms terms = terms_at(100 * SECOND_US);
	struct queue_delivery delivery = {.attempts = 9};
	struct arena *arena = arena_new();

	(void)state;
	terms.is_handed = true;
	outcome_interrupt(arena, &delivery, &terms);
	assert_int_equal(delivery.outcome, QUEUE_WAIT);
	assert_int_equal(delivery.attempts, 10);
	assert_int_equal(delivery.until_us, terms.now_us + 20 * SECOND_US);
	delivery.attempts = 0;
	outcome_interrupt(arena, &delivery, &terms);
	assert_int_equal(delivery.until_us, terms.now_us + 2 * SECOND_US);
	delivery.attempts = 9;
	terms.lifetime_us = terms.now_us - terms.start_us; /* but not for ever */
	outcome_interrupt(arena, &delivery, &terms);
	assert_int_equal(delivery.outcome, QUEUE_FAIL);
	arena_free(arena);
}

/* A message that no helper survives, or that cannot be read, ends as well. */
static void what_is_interrupted_each_time_expires(void **state)
{
	struct outcome_terms terms = terms_at(100 * SECOND_US);
	struct queue_delivery delivery = {.number = 1};
	struct arena *arena = arena_new();

	(void)state;
	terms.lifetime_us = terms.now_us - terms.start_us;
	for (uint32_t attempt = 1; attempt <= 3; attempt++) {
		outcome_interrupt(arena, &delivery, &terms);
		assert_int_equal(delivery.outcome, QUEUE_WAIT);
	}
	terms.lifetime_us++;
	outcome_interrupt(arena, &delivery, &terms);
	assert_int_equal(delivery.outcome, QUEUE_WAIT);
	terms.lifetime_us--;
	outcome_interrupt(arena, &delivery, &terms);
	assert_int_equal(delivery.outcome, QUEUE_FAIL);
	assert_true(str_equal(delivery.status, STR("5.4.7")));
	arena_free(arena);
}

static void an_operator_gives_up(void **state)
{
	static const struct {
		bool is_bounce;
		enum queue_outcome outcome;
		const char *status;
	} cases[] = {{true, QUEUE_FAIL, "5.7.0"}, {false, QUEUE_DONE, "2.7.0"}};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_delivery delivery = {.outcome = QUEUE_WAIT, .trigger = STR("host.a")};

		outcome_give_up(&delivery, cases[i].is_bounce, BORN_US);
		assert_int_equal(delivery.outcome, cases[i].outcome);
		assert_int_equal(delivery.is_quiet, !cases[i].is_bounce);
		assert_true(str_equal(delivery.status, str_from(cases[i].status)));
		assert_int_equal(delivery.trigger.length, 0);
		assert_int_equal(delivery.changed_us, BORN_US);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_report_is_an_outcome),
		cmocka_unit_test(a_postmaster_without_mailbox_is_redirected),
		cmocka_unit_test(what_waited_too_long_says_why),
		cmocka_unit_test(what_is_late_is_returned),
		cmocka_unit_test(what_was_never_tried_is_returned),
		cmocka_unit_test(an_interruption_waits_a_moment),
		cmocka_unit_test(an_interrupted_hand_over_waits_as_a_refused_one),
		cmocka_unit_test(what_is_interrupted_each_time_expires),
		cmocka_unit_test(an_operator_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
