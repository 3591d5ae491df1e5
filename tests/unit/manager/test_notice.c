// SPDX-License-Identifier: ISC
#include "manager/notice.h"
#include "test.h"
#include <string.h>

enum { BORN_US = 1000 };

struct fixture {
	struct config config;
	struct queue_delivery delivery;
	struct queue_control control;
};

static struct fixture *setup(const char *sender, unsigned notify, enum queue_outcome outcome)
{
	static struct fixture fixture;
	struct mail_envelope *envelope = mail_envelope_new();

	mail_envelope_add(envelope, STR("a@d.example"))->notify = notify;
	envelope->sender = arena_copy_str(envelope->arena, str_from(sender));
	envelope->id.born_us = BORN_US;
	fixture = (struct fixture){
		.config = {.queuelifetime_us = DAY_US},
		.delivery = {.number = 1,
			     .recipient = 1,
			     .route = QUEUE_ROUTE_REMOTE,
			     .outcome = outcome,
			     .address = STR("a@d.example")},
		.control = {envelope, &fixture.delivery, 1, true},
	};
	return &fixture;
}

static void the_end_is_told_to_those_who_want_it(void **state)
{
	static const struct {
		const char *sender;
		unsigned notify;
		enum queue_outcome outcome;
		bool is_quiet;
		bool is_told;
	} cases[] = {
		{"s@s.example", 0, QUEUE_DONE, false, false},
		{"s@s.example", MAIL_NOTIFY_SUCCESS, QUEUE_DONE, false, true},
		{"s@s.example", MAIL_NOTIFY_SUCCESS, QUEUE_DONE, true, false},
		{"s@s.example", MAIL_NOTIFY_FAILURE, QUEUE_DONE, false, false},
		{"s@s.example", MAIL_NOTIFY_NEVER, QUEUE_DONE, false, false},
		{"", MAIL_NOTIFY_SUCCESS, QUEUE_DONE, false, false},
		{"#@[]", MAIL_NOTIFY_SUCCESS, QUEUE_DONE, false, false},
		{"s@s.example", 0, QUEUE_FAIL, false, true},
		{"s@s.example", MAIL_NOTIFY_FAILURE, QUEUE_FAIL, false, true},
		{"s@s.example", MAIL_NOTIFY_SUCCESS, QUEUE_FAIL, false, false},
		{"s@s.example", MAIL_NOTIFY_NEVER, QUEUE_FAIL, false, false},
		{"", 0, QUEUE_FAIL, false, true},
		{"s@s.example", MAIL_NOTIFY_SUCCESS | MAIL_NOTIFY_DELAY, QUEUE_WAIT, false, false},
		{"s@s.example", MAIL_NOTIFY_SUCCESS, QUEUE_PENDING, false, false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct fixture *fixture = setup(cases[i].sender, cases[i].notify, cases[i].outcome);
		const struct bounce_outcome *outcomes;
		size_t count;
		size_t successes;

		fixture->delivery.is_quiet = cases[i].is_quiet;
		outcomes = notice_collect_end(&fixture->control, &fixture->config, &count);
		assert_int_equal(count, cases[i].is_told);
		assert_int_equal(notice_has_any_at_end(&fixture->control), cases[i].is_told);
		(void)notice_collect_success(&fixture->control, &fixture->config, &successes);
		assert_int_equal(successes, cases[i].outcome == QUEUE_DONE ? count : 0);
		if (count > 0)
			assert_int_equal(outcomes[0].action, cases[i].outcome == QUEUE_DONE
								     ? BOUNCE_RELAYED
								     : BOUNCE_FAILED);
		mail_envelope_free(fixture->control.envelope);
	}
}

static void a_delay_is_told_when_it_is_due(void **state)
{
	static const struct {
		const char *sender;
		unsigned notify;
		enum queue_outcome outcome;
		int64_t setting_us;
		int64_t delayed_us;
		int64_t due_us;
	} cases[] = {
		{"s@s.example", 0, QUEUE_WAIT, 0, 0, INT64_MAX},
		{"s@s.example", 0, QUEUE_WAIT, HOUR_US, 0, BORN_US + HOUR_US},
		{"s@s.example", 0, QUEUE_PENDING, HOUR_US, 0, BORN_US + HOUR_US},
		{"s@s.example", MAIL_NOTIFY_DELAY, QUEUE_WAIT, 0, 0, BORN_US + 4 * HOUR_US},
		{"s@s.example", MAIL_NOTIFY_DELAY, QUEUE_WAIT, HOUR_US, 0, BORN_US + HOUR_US},
		{"s@s.example", MAIL_NOTIFY_DELAY, QUEUE_WAIT, HOUR_US, BORN_US, INT64_MAX},
		{"s@s.example", MAIL_NOTIFY_FAILURE, QUEUE_WAIT, HOUR_US, 0, INT64_MAX},
		{"s@s.example", MAIL_NOTIFY_NEVER, QUEUE_WAIT, HOUR_US, 0, INT64_MAX},
		{"s@s.example", MAIL_NOTIFY_DELAY, QUEUE_DONE, HOUR_US, 0, INT64_MAX},
		{"s@s.example", MAIL_NOTIFY_DELAY, QUEUE_FAIL, HOUR_US, 0, INT64_MAX},
		{"s@s.example", 0, QUEUE_WAIT, DAY_US, 0, INT64_MAX},
		{"", MAIL_NOTIFY_DELAY, QUEUE_WAIT, HOUR_US, 0, INT64_MAX},
		{"#@[]", MAIL_NOTIFY_DELAY, QUEUE_WAIT, HOUR_US, 0, INT64_MAX},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct fixture *fixture = setup(cases[i].sender, cases[i].notify, cases[i].outcome);
		size_t count;

		fixture->config.delaynotice_us = cases[i].setting_us;
		fixture->delivery.delayed_us = cases[i].delayed_us;
		assert_int_equal(notice_delay_due_us(&fixture->control, &fixture->config),
				 cases[i].due_us);
		if (cases[i].due_us != INT64_MAX) {
			(void)notice_collect_delay(&fixture->control, &fixture->config,
						   cases[i].due_us, &count);
			assert_int_equal(count, 1);
			fixture->delivery.delayed_us = BORN_US;
			assert_int_equal(notice_delay_due_us(&fixture->control, &fixture->config),
					 INT64_MAX);
		}
		mail_envelope_free(fixture->control.envelope);
	}
}

/* RFC 2852: the passing of the time that the sender has set, besides any other delay. */
static void a_deadline_that_passes_is_told(void **state)
{
	enum { AT_US = BORN_US + 7 };
	static const struct {
		const char *sender;
		unsigned notify;
		enum mail_deadline_mode mode;
		bool is_told;
		int64_t setting_us;
		int64_t delayed_us;
		int64_t due_us;
		size_t count; /* in a report at that time */
	} cases[] = {
		{"s@s.example", 0, MAIL_DEADLINE_NOTIFY, false, 0, 0, AT_US, 1},
		{"s@s.example", MAIL_NOTIFY_DELAY, MAIL_DEADLINE_NOTIFY, false, 0, 0, AT_US, 1},
		{"s@s.example", MAIL_NOTIFY_FAILURE, MAIL_DEADLINE_NOTIFY, false, 0, 0, INT64_MAX},
		{"s@s.example", MAIL_NOTIFY_NEVER, MAIL_DEADLINE_NOTIFY, false, 0, 0, INT64_MAX},
		{"", 0, MAIL_DEADLINE_NOTIFY, false, 0, 0, INT64_MAX},
		{"s@s.example", 0, MAIL_DEADLINE_NOTIFY, true, 0, 0, INT64_MAX},
		{"s@s.example", 0, MAIL_DEADLINE_RETURN, false, 0, 0, INT64_MAX},
		{"s@s.example", 0, MAIL_DEADLINE_NOTIFY, false, 0, AT_US, INT64_MAX},
		{"s@s.example", 0, MAIL_DEADLINE_NOTIFY, false, 0, AT_US - 1, AT_US, 1},
		{"s@s.example", 0, MAIL_DEADLINE_NOTIFY, false, 5, 0, BORN_US + 5, 1},
		{"s@s.example", 0, MAIL_DEADLINE_NOTIFY, false, 9, 0, AT_US, 1},
		{"s@s.example", 0, MAIL_DEADLINE_NOTIFY, true, 9, 0, BORN_US + 9, 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct fixture *fixture = setup(cases[i].sender, cases[i].notify, QUEUE_WAIT);
		size_t count;

		fixture->control.envelope->deadline = (struct mail_deadline){
			.mode = cases[i].mode, .is_told = cases[i].is_told, .at_us = AT_US};
		fixture->config.delaynotice_us = cases[i].setting_us;
		fixture->delivery.delayed_us = cases[i].delayed_us;
		assert_int_equal(notice_delay_due_us(&fixture->control, &fixture->config),
				 cases[i].due_us);
		if (cases[i].due_us != INT64_MAX) {
			(void)notice_collect_delay(&fixture->control, &fixture->config,
						   cases[i].due_us, &count);
			assert_int_equal(count, cases[i].count);
		}
		mail_envelope_free(fixture->control.envelope);
	}
}

/* What is not told by default is told when the deadline passes, not with what is told before. */
static void who_asked_for_nothing_is_told_only_of_the_deadline(void **state)
{
	struct fixture *fixture = setup("s@s.example", 0, QUEUE_WAIT);
	size_t count;

	(void)state;
	fixture->control.envelope->deadline =
		(struct mail_deadline){.mode = MAIL_DEADLINE_NOTIFY, .at_us = BORN_US + 7};
	(void)notice_collect_delay(&fixture->control, &fixture->config, BORN_US + 6, &count);
	assert_int_equal(count, 0);
	(void)notice_collect_delay(&fixture->control, &fixture->config, BORN_US + 7, &count);
	assert_int_equal(count, 1);
	mail_envelope_free(fixture->control.envelope);
}

static void who_sends_it_on_tells(void **state)
{
	static const struct {
		struct mail_deadline deadline;
		const char *sender;
		unsigned notify;
		enum queue_route route;
		bool is_timed;
		bool is_wanted;
	} cases[] = {
		{{MAIL_DEADLINE_NONE}, "s@s.example", 0, QUEUE_ROUTE_REMOTE, false, false},
		{{MAIL_DEADLINE_NOTIFY}, "s@s.example", 0, QUEUE_ROUTE_REMOTE, false, true},
		{{MAIL_DEADLINE_NOTIFY}, "s@s.example", 0, QUEUE_ROUTE_REMOTE, true, false},
		{{MAIL_DEADLINE_NOTIFY}, "s@s.example", 0, QUEUE_ROUTE_LOCAL, false, false},
		{{MAIL_DEADLINE_NOTIFY}, "", 0, QUEUE_ROUTE_REMOTE, false, false},
		{{MAIL_DEADLINE_NOTIFY},
		 "s@s.example",
		 MAIL_NOTIFY_NEVER,
		 QUEUE_ROUTE_REMOTE,
		 false,
		 false},
		{{MAIL_DEADLINE_NOTIFY},
		 "s@s.example",
		 MAIL_NOTIFY_FAILURE,
		 QUEUE_ROUTE_REMOTE,
		 false,
		 true},
		{{MAIL_DEADLINE_NOTIFY, .is_told = true},
		 "s@s.example",
		 0,
		 QUEUE_ROUTE_REMOTE,
		 false,
		 false},
		{{MAIL_DEADLINE_NOTIFY, .is_traced = true},
		 "s@s.example",
		 0,
		 QUEUE_ROUTE_REMOTE,
		 true,
		 true},
		{{MAIL_DEADLINE_RETURN}, "s@s.example", 0, QUEUE_ROUTE_REMOTE, true, false},
		{{MAIL_DEADLINE_RETURN, .is_traced = true},
		 "s@s.example",
		 0,
		 QUEUE_ROUTE_REMOTE,
		 true,
		 true},
		{{MAIL_DEADLINE_RETURN, .is_traced = true},
		 "s@s.example",
		 MAIL_NOTIFY_NEVER,
		 QUEUE_ROUTE_REMOTE,
		 true,
		 false},
		{{MAIL_DEADLINE_RETURN, .is_traced = true},
		 "s@s.example",
		 0,
		 QUEUE_ROUTE_LOCAL,
		 true,
		 false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct fixture *fixture = setup(cases[i].sender, cases[i].notify, QUEUE_DONE);

		fixture->control.envelope->deadline = cases[i].deadline;
		fixture->control.envelope->deadline.at_us = BORN_US + 7;
		fixture->delivery.route = cases[i].route;
		assert_int_equal(notice_is_relay_wanted(&fixture->control, &fixture->delivery,
							cases[i].is_timed),
				 cases[i].is_wanted);
		assert_false(notice_has_any_at_end(&fixture->control));
		fixture->delivery.is_announced = true;
		assert_true(notice_has_any_at_end(&fixture->control));
		mail_envelope_free(fixture->control.envelope);
	}
}

/* Names of services and users, and the addresses that an address leads to, are the log's. */
static void a_sender_is_told_nothing_of_our_inside(void **state)
{
	static const struct {
		enum queue_route route;
		const char *status;
		bool is_told;
	} cases[] = {
		{QUEUE_ROUTE_NONE, "4.3.5", false},  {QUEUE_ROUTE_NONE, "5.4.6", false},
		{QUEUE_ROUTE_NONE, "4.4.6", false},  {QUEUE_ROUTE_NONE, "4.4.3", false},
		{QUEUE_ROUTE_NONE, "5.4.7", false},  {QUEUE_ROUTE_NONE, "5.1.1", true},
		{QUEUE_ROUTE_LOCAL, "4.3.5", false}, {QUEUE_ROUTE_LOCAL, "5.4.6", true},
		{QUEUE_ROUTE_LOCAL, "5.2.2", true},  {QUEUE_ROUTE_REMOTE, "4.3.5", true},
		{QUEUE_ROUTE_REMOTE, "4.4.3", true}, {QUEUE_ROUTE_REMOTE, "5.4.6", true},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct fixture *fixture = setup("s@s.example", 0, QUEUE_FAIL);
		const struct bounce_outcome *outcomes;
		size_t count;

		fixture->delivery.route = cases[i].route;
		fixture->delivery.status = str_from(cases[i].status);
		fixture->delivery.text = STR("service dovecot");
		outcomes = notice_collect_end(&fixture->control, &fixture->config, &count);
		assert_int_equal(count, 1);
		assert_int_equal(str_equal(outcomes[0].text, STR("service dovecot")),
				 cases[i].is_told);
		assert_true(outcomes[0].text.length > 0);
		mail_envelope_free(fixture->control.envelope);
	}
}

/* One address of the envelope leads to several, another to one. */
/* RFC 8689 section 5: what came by REQUIRETLS goes back without its text, unless that was asked
 * for; a binary body never. */
static void the_text_goes_back_to_those_who_may_have_it(void **state)
{
	static const struct {
		enum mail_ret ret;
		bool require_tls;
		bool has_text;
	} cases[] = {
		{MAIL_RET_NONE, false, true},    {MAIL_RET_NONE, true, false},
		{MAIL_RET_FULL, false, true},    {MAIL_RET_FULL, true, true},
		{MAIL_RET_HEADERS, true, false}, {MAIL_RET_HEADERS, false, false},
	};

	(void)state;
	for (size_t i = 0; i < 2 * COUNT_OF(cases); i++) {
		struct fixture *fixture = setup("s@s.example", 0, QUEUE_FAIL);
		struct mail_envelope *envelope = fixture->control.envelope;
		struct notice notice = {.sender = STR(""),
					.recipient = STR("s@s.example"),
					.original = STR("Subject: it\n\nthe text\n")};
		struct buffer out = {0};

		envelope->ret = cases[i / 2].ret;
		envelope->require_tls = cases[i / 2].require_tls;
		envelope->binary = i % 2 == 1;
		envelope->size = notice.original.length;
		fixture->config.hostname = "mx.example.net";
		fixture->config.bouncefrom = "MAILER-DAEMON";
		fixture->config.bouncemaxbytes = 10000;
		notice.outcomes =
			notice_collect_end(&fixture->control, &fixture->config, &notice.count);
		(void)notice_write(&notice, &fixture->control, &fixture->config, &out);
		buffer_append_byte(&out, '\0');
		assert_non_null(strstr(buffer_data(&out), "Subject: it"));
		assert_int_equal(strstr(buffer_data(&out), "the text") != NULL,
				 cases[i / 2].has_text && !envelope->binary);
		buffer_clear(&out);
		mail_envelope_free(envelope);
	}
}

/* A report may quote so much of a message, and what is needed to find the end of its last line. */
static void as_much_as_may_be_quoted_is_read(void **state)
{
	enum { MAX = 1000, MORE = 65536 };
	struct fixture *fixture = setup("s@s.example", 0, QUEUE_FAIL);
	struct mail_envelope *envelope = fixture->control.envelope;

	(void)state;
	for (uint64_t size = MAX + MORE - 1; size <= MAX + MORE + 1; size++) {
		envelope->size = size;
		fixture->config.bouncemaxbytes = 0;
		assert_int_equal(notice_original_max(&fixture->control, &fixture->config), size);
		fixture->config.bouncemaxbytes = MAX;
		assert_int_equal(notice_original_max(&fixture->control, &fixture->config),
				 size < MAX + MORE ? size : MAX + MORE);
	}
	mail_envelope_free(envelope);
}

static struct queue_control *map_to_several(struct fixture *fixture)
{
	static struct queue_delivery deliveries[5];
	const struct queue_delivery all[COUNT_OF(deliveries)] = {
		{.number = 1,
		 .recipient = 1,
		 .address = STR("tom@inside.example"),
		 .outcome = QUEUE_FAIL,
		 .route = QUEUE_ROUTE_REMOTE,
		 .status = STR("5.1.1"),
		 .text = STR("mx.inside.example: 550 <Tom@Inside.example>: who is tom@inside?")},
		{.number = 2,
		 .recipient = 1,
		 .address = STR("a@d.example"),
		 .outcome = QUEUE_FAIL,
		 .status = STR("5.2.2"),
		 .text = STR("a@d.example is full")},
		{.number = 3,
		 .recipient = 1,
		 .address = STR("ann@inside.example"),
		 .outcome = QUEUE_DONE,
		 .status = STR("2.0.0")},
		{.number = 4,
		 .recipient = 2,
		 .address = STR("x@inside.example"),
		 .outcome = QUEUE_FAIL,
		 .status = STR("5.1.1"),
		 .text = STR("no x")},
		{.number = 5,
		 .recipient = 2,
		 .address = STR(""),
		 .outcome = QUEUE_WAIT,
		 .status = STR("4.4.1"),
		 .text = STR("later")},
	};
	struct mail_envelope *envelope = fixture->control.envelope;

	mail_envelope_add(envelope, STR("b@d.example"));
	for (size_t i = 0; i < envelope->recipient_count; i++)
		envelope->recipients[i].notify =
			MAIL_NOTIFY_SUCCESS | MAIL_NOTIFY_FAILURE | MAIL_NOTIFY_DELAY;
	memcpy(deliveries, all, sizeof all);
	fixture->control.deliveries = deliveries;
	fixture->control.delivery_count = COUNT_OF(deliveries);
	return &fixture->control;
}

static void the_address_that_was_written_is_reported(void **state)
{
	static const struct {
		enum config_reported setting;
		size_t count;
		const char *addresses[4];
		const char *text;
	} cases[] = {
		{CONFIG_REPORTED_WRITTEN,
		 3,
		 {"a@d.example", "a@d.example", "b@d.example"},
		 "mx.inside.example: 550 <a@d.example>: who is tom@inside?"},
		{CONFIG_REPORTED_MAPPED,
		 4,
		 {"tom@inside.example", "a@d.example", "ann@inside.example", "x@inside.example"},
		 "mx.inside.example: 550 <Tom@Inside.example>: who is tom@inside?"},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct fixture *fixture = setup("s@s.example", 0, QUEUE_FAIL);
		struct queue_control *control = map_to_several(fixture);
		const struct bounce_outcome *outcomes;
		size_t count;

		fixture->config.report_addresses = cases[i].setting;
		outcomes = notice_collect_end(control, &fixture->config, &count);
		assert_int_equal(count, cases[i].count);
		for (size_t j = 0; j < count; j++)
			assert_true(
				str_equal(outcomes[j].address, str_from(cases[i].addresses[j])));
		assert_true(str_equal(outcomes[0].text, str_from(cases[i].text)));
		outcomes = notice_collect_success(control, &fixture->config, &count);
		assert_int_equal(count, 1);
		assert_int_equal(outcomes[0].action, BOUNCE_DELIVERED);
		fixture->config.delaynotice_us = HOUR_US;
		outcomes =
			notice_collect_delay(control, &fixture->config, BORN_US + HOUR_US, &count);
		assert_int_equal(count, 1);
		assert_true(str_equal(outcomes[0].text, STR("later")));
		mail_envelope_free(control->envelope);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_told_to_those_who_want_it),
		cmocka_unit_test(a_delay_is_told_when_it_is_due),
		cmocka_unit_test(a_deadline_that_passes_is_told),
		cmocka_unit_test(who_asked_for_nothing_is_told_only_of_the_deadline),
		cmocka_unit_test(who_sends_it_on_tells),
		cmocka_unit_test(a_sender_is_told_nothing_of_our_inside),
		cmocka_unit_test(the_text_goes_back_to_those_who_may_have_it),
		cmocka_unit_test(as_much_as_may_be_quoted_is_read),
		cmocka_unit_test(the_address_that_was_written_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
