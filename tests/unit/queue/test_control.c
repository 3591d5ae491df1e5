// SPDX-License-Identifier: ISC
#include "queue/control/control.h"
#include "test.h"
#include <errno.h>
#include <string.h>

#define HEAD \
	"stagepost 1\nid: 457-660b1182f1e21\nstage: arrive\nborn: 2026-11-20T08:33:11.482913Z\n"
#define ENVELOPE                                                              \
	HEAD "from: <a@example.org>\nsize: 10\nto: 1 <b@example.net>\nto: 2 " \
	     "<c@example.net>\nend:\n"
#define MAP                                                                       \
	"map: 1 local mailbox <b@example.net>\nmap: 2 remote 3 <d@example.com>\n" \
	"mapped: directory=42 count=2\n"

static struct mail_envelope *sample_envelope(void)
{
	struct mail_envelope *envelope = mail_envelope_new();
	struct mail_recipient *recipient;

	envelope->id = (struct mail_id){457, 1795163591482913};
	envelope->stage = MAIL_STAGE_ARRIVE;
	envelope->ret = MAIL_RET_HEADERS;
	envelope->utf8 = true;
	envelope->binary = true;
	envelope->sender = STR("lisa@example.com");
	envelope->envid = STR("QQ314159");
	envelope->is_held = true;
	envelope->release_us = 1795200000 * SECOND_US;
	envelope->priority = -4;
	envelope->deadline =
		(struct mail_deadline){MAIL_DEADLINE_NOTIFY, true, true, 1795210000 * SECOND_US};
	envelope->received = STR("smtp 192.0.2.7:53112 helo=mail.example.com");
	envelope->size = 18233;
	recipient = mail_envelope_add(envelope, STR("\"a > b\\\" \"@example.net"));
	recipient->notify = MAIL_NOTIFY_FAILURE | MAIL_NOTIFY_DELAY;
	recipient->original = STR("rfc822;scuba@example.net");
	recipient = mail_envelope_add(envelope, STR("j\xc3\xb6rg@example.net"));
	recipient->notify = MAIL_NOTIFY_NEVER;
	recipient->original = STR("utf-8;j\xc3\xb6rg@example.net");
	return envelope;
}

static void priorities_have_their_ends(void **state)
{
	(void)state;
	for (int priority = -MAIL_PRIORITY_MAX - 1; priority <= MAIL_PRIORITY_MAX + 1; priority++) {
		bool is_good = priority >= -MAIL_PRIORITY_MAX && priority <= MAIL_PRIORITY_MAX;
		struct mail_envelope *envelope = sample_envelope();
		struct queue_control *control;
		struct buffer text = {0};

		envelope->priority = priority;
		assert_int_equal(queue_control_write_envelope(&text, envelope),
				 is_good ? 0 : -EINVAL);
		if (is_good) {
			assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL),
					 0);
			assert_int_equal(control->envelope->priority, priority);
			queue_control_free(control);
		}
		buffer_clear(&text);
		mail_envelope_free(envelope);
	}
}

static void envelope_survives_a_round(void **state)
{
	struct mail_envelope *envelope = sample_envelope();
	struct queue_control *control;
	struct buffer text = {0};

	(void)state;
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL), 0);
	assert_int_equal(control->envelope->id.number, 457);
	assert_int_equal(control->envelope->id.born_us, envelope->id.born_us);
	assert_int_equal(control->envelope->stage, MAIL_STAGE_ARRIVE);
	assert_int_equal(control->envelope->ret, MAIL_RET_HEADERS);
	assert_true(control->envelope->utf8);
	assert_true(control->envelope->binary);
	assert_true(control->envelope->is_held);
	assert_int_equal(control->envelope->release_us, 1795200000 * SECOND_US);
	assert_int_equal(control->envelope->priority, -4);
	assert_int_equal(control->envelope->deadline.mode, MAIL_DEADLINE_NOTIFY);
	assert_true(control->envelope->deadline.is_traced && control->envelope->deadline.is_told);
	assert_int_equal(control->envelope->deadline.at_us, 1795210000 * SECOND_US);
	assert_int_equal(control->envelope->size, 18233);
	assert_true(str_equal(control->envelope->sender, envelope->sender));
	assert_true(str_equal(control->envelope->envid, envelope->envid));
	assert_true(str_equal(control->envelope->received, envelope->received));
	assert_int_equal(control->envelope->recipient_count, 2);
	for (size_t i = 0; i < 2; i++) {
		const struct mail_recipient *a = &control->envelope->recipients[i];
		const struct mail_recipient *b = &envelope->recipients[i];

		assert_true(str_equal(a->address, b->address));
		assert_true(str_equal(a->original, b->original));
		assert_int_equal(a->number, b->number);
		assert_int_equal(a->notify, b->notify);
	}
	assert_false(control->is_mapped);
	assert_false(queue_control_is_finished(control));
	queue_control_free(control);
	mail_envelope_free(envelope);
	buffer_clear(&text);
}

static void unsafe_values_are_not_written(void **state)
{
	static const struct str bad[] = {STR("a\nb@c"), STR("a\rb@c"), STR("a\0b@c"), STR("a>b@c"),
					 STR("a\"b@c"), STR("a\tb@c"), STR("a\x7f@c")};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct mail_envelope *envelope = sample_envelope();
		struct buffer text = {0};

		envelope->sender = bad[i];
		assert_int_equal(queue_control_write_envelope(&text, envelope), -EINVAL);
		envelope->sender = STR("");
		envelope->recipients[1].address = bad[i];
		assert_int_equal(queue_control_write_envelope(&text, envelope), -EINVAL);
		envelope->recipients[1].address = STR("x@y");
		envelope->envid = STR("a b");
		assert_int_equal(queue_control_write_envelope(&text, envelope), -EINVAL);
		assert_int_equal(text.length, 0);
		envelope->envid = STR("");
		envelope->sender = STR("#@[]");
		assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
		buffer_clear(&text);
		mail_envelope_free(envelope);
	}
}

static void envelopes_are_read_strictly(void **state)
{
	static const struct {
		const char *text;
		int result;
	} cases[] = {
		{ENVELOPE, 0},
		{"", -ENODATA},
		{"stagepost 1", -ENODATA},
		{"stagepost 2\n", -ENODATA},
		{"stagepost 3\n", -EPROTO},
		{"mail 1\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 1 <c@d>\n", -ENODATA},
		{HEAD "from: <a@b>\nsize: 1\nto: 1 <c@d>\nend:", -ENODATA},
		{HEAD "from: <a@b>\nsize: 1\nend:\n", -EBADMSG},
		{HEAD "size: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nfrom: <a@b>\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: x\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 0 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 1 <c@d\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 1 <>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 1 <c@d> notify=often\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 2 <c@d>\nto: 2 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a\t@b>\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <>\nsize: 1\nto: 1 <c@d>\nend:\n", 0},
		{HEAD "from: <#@[]>\nsize: 1\nfuture: x\nto: 1 <c@d> later=7\nend:\n", 0},
		{HEAD "from: <a@b> later smtputf8 x=1\nsize: 1\nto: 1 <c@d> later\nend:\n", 0},
		{HEAD "from: <a@b> priority=9\nsize: 1\nto: 1 <c@d>\nend:\n", 0},
		{HEAD "from: <a@b> priority=10\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> priority=-\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> priority\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> by=2026-11-20T08:33:11Z;rt\nsize: 1\nto: 1 <c@d>\nend:\n", 0},
		{HEAD "from: <a@b> by\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> by=2026-11-20T08:33:11Z\nsize: 1\nto: 1 <c@d>\nend:\n",
		 -EBADMSG},
		{HEAD "from: <a@b> release\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> release=2026-11-20T08:33:11.500000Z\nsize: 1\nto: 1 "
		      "<c@d>\nend:\n",
		 -EBADMSG},
		{HEAD "from: <a@b> ret=some\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> ret\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> envid\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b> envid=\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>  x\nsize: 1\nto: 1 <c@d>\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 1 <c@d> orcpt\nend:\n", -EBADMSG},
		{HEAD "from: <a@b>\nsize: 1\nto: 1 <c@d> notify\nend:\n", -EBADMSG},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_control *control = NULL;
		unsigned line = 0;
		int result = queue_control_parse(str_from(cases[i].text), &control, &line);

		if (result != cases[i].result)
			fail_msg("case %zu: %d, line %u", i, result, line);
		queue_control_free(control);
	}
}

static void map_counts_when_it_is_whole(void **state)
{
	static const struct {
		const char *text;
		bool is_mapped;
	} cases[] = {
		{ENVELOPE MAP, true},
		{ENVELOPE "map: 1 remote <b@c>\n", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory=1 count=1", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory=1 count=2\n", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory=1\n", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory=x count=1\n", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory=1 count=x\n", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory=1 count=x count=1\n", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory count=1\n", false},
		{ENVELOPE "map: 1 remote <b@c>\nmapped: directory=1 count=0\n", false},
		/* a cut block, its torn line ended, then a new one */
		{ENVELOPE "map: 1 remote <b@c>\nmap: 2 rem\n" MAP, true},
		{ENVELOPE "map: 1 remote <b@c>\n" MAP, true},
		/* a number twice, a stranger */
		{ENVELOPE "map: 1 remote <b@c>\nmap: 2 remote 1 <d@c>\n"
			  "mapped: directory=1 count=2\n",
		 false},
		{ENVELOPE
		 "map: 1 local box server=s.example:24 <b@c>\nmapped: directory=1 count=1\n",
		 true},
		{ENVELOPE "map: 1 local box server=S <b@c>\nmapped: directory=1 count=1\n", false},
		{ENVELOPE "map: 1 remote server=s.example:24 <b@c>\nmapped: directory=1 count=1\n",
		 false},
		{ENVELOPE "map: 7 remote <b@c>\nmapped: directory=1 count=1\n", false},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct queue_control *control = NULL;

		assert_int_equal(queue_control_parse(str_from(cases[i].text), &control, NULL), 0);
		if (control->is_mapped != cases[i].is_mapped)
			fail_msg("case %zu", i);
		queue_control_free(control);
	}
}

static void hole_in_a_map_voids_it(void **state)
{
	static const char text[] = ENVELOPE MAP;
	const size_t first = sizeof ENVELOPE - 1;
	const size_t last = sizeof text - 1 - sizeof "mapped: directory=42 count=2\n";

	(void)state;
	for (size_t i = first; i < last; i++) {
		struct queue_control *control = NULL;
		char copy[sizeof text];

		memcpy(copy, text, sizeof copy);
		copy[i] = '\0';
		assert_int_equal(
			queue_control_parse(str_slice(copy, sizeof copy - 1), &control, NULL), 0);
		assert_false(control->is_mapped);
		queue_control_free(control);
	}
}

static void last_outcome_counts(void **state)
{
	struct queue_delivery outcomes[] = {
		{.number = 1,
		 .outcome = QUEUE_WAIT,
		 .changed_us = 5 * SECOND_US,
		 .until_us = 9 * SECOND_US,
		 .trigger = STR("host.mx.example.org"),
		 .status = STR("4.4.1"),
		 .text = STR("connection refused")},
		{.number = 3, .outcome = QUEUE_FAIL, .changed_us = 6 * SECOND_US},
		{.number = 1,
		 .outcome = QUEUE_DONE,
		 .changed_us = 7 * SECOND_US,
		 .status = STR("2.0.0"),
		 .text = STR("stored")},
	};
	struct queue_control *control;
	struct buffer text = {0};

	(void)state;
	buffer_append_string(&text, ENVELOPE MAP);
	for (size_t i = 0; i < COUNT_OF(outcomes); i++) {
		assert_int_equal(queue_control_write_outcome(&text, &outcomes[i]), 0);
		assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL), 0);
		for (size_t k = 0; k < control->delivery_count; k++) {
			const struct queue_delivery *d = &control->deliveries[k];

			if (d->number != outcomes[i].number)
				continue;
			assert_int_equal(d->outcome, outcomes[i].outcome);
			assert_int_equal(d->changed_us, outcomes[i].changed_us);
			assert_int_equal(d->until_us, outcomes[i].until_us);
			assert_true(str_equal(d->trigger, outcomes[i].trigger));
			assert_true(str_equal(d->status, outcomes[i].status));
			assert_true(str_equal(d->text, outcomes[i].text));
		}
		assert_int_equal(queue_control_is_finished(control), i == 2);
		queue_control_free(control);
	}
	outcomes[0].text = STR("a\nb");
	assert_int_equal(queue_control_write_outcome(&text, &outcomes[0]), -EINVAL);
	buffer_clear(&text);
}

static void notices_are_remembered(void **state)
{
	struct queue_delivery delayed = {.number = 1, .delayed_us = 5 * SECOND_US};
	struct queue_delivery quiet = {
		.number = 3, .outcome = QUEUE_DONE, .status = STR("2.0.0"), .is_quiet = true};
	struct queue_delivery relayed = {
		.number = 3, .outcome = QUEUE_DONE, .status = STR("2.0.0"), .is_announced = true};
	struct queue_delivery requeued = {.number = 1};
	struct queue_control *control;
	struct buffer text = {0};

	(void)state;
	buffer_append_string(&text, ENVELOPE MAP);
	assert_int_equal(queue_control_write_delayed(&text, &delayed), 0);
	assert_int_equal(queue_control_write_requeued(&text, &requeued), 0);
	assert_int_equal(queue_control_write_outcome(&text, &quiet), 0);
	assert_int_equal(queue_control_write_outcome(&text, &relayed), 0);
	buffer_append_string(&text, "delayed: 3 yesterday\ndelayed: 99 2026-11-20T08:33:11Z\n"
				    "quiet: 1 x\nquiet: 99\nquiet: \n"
				    "relayed: 1 x\nrelayed: 99\nrelayed: \n"
				    "requeue: 3 x\nrequeue: 99\nrequeue: \n");
	assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL), 0);
	for (size_t i = 0; i < control->delivery_count; i++) {
		const struct queue_delivery *d = &control->deliveries[i];

		assert_int_equal(d->delayed_us, d->number == 1 ? delayed.delayed_us : 0);
		assert_int_equal(d->is_quiet, d->number == 3);
		assert_int_equal(d->is_announced, d->number == 3);
		assert_int_equal(d->is_requeued, d->number == 1);
		assert_int_equal(d->outcome, d->number == 3 ? QUEUE_DONE : QUEUE_PENDING);
	}
	queue_control_free(control);
	delayed.delayed_us = 0;
	assert_int_equal(queue_control_write_delayed(&text, &delayed), -EINVAL);
	requeued.number = 0;
	assert_int_equal(queue_control_write_requeued(&text, &requeued), -EINVAL);
	buffer_clear(&text);
}

/* Whatever the bytes: an answer, within bounds. */
static void damage_is_survived(void **state)
{
	static const char text[] =
		ENVELOPE MAP "done: 1 2026-11-20T08:33:11Z 2.0.0 stored\n"
			     "wait: 3 2026-11-20T08:33:14Z "
			     "until=2026-11-20T08:40:01Z trigger=x 4.4.1 no\n"
			     "delayed: 3 2026-11-20T12:33:11Z\nquiet: 1\nrelayed: 1\n"
			     "requeue: 3\n";
	unsigned seed = 1;

	(void)state;
	for (unsigned round = 0; round < 20000; round++) {
		struct queue_control *control = NULL;
		char copy[sizeof text];
		size_t length = sizeof text - 1;

		memcpy(copy, text, sizeof copy);
		for (unsigned i = 0; i < 1 + round % 4; i++) {
			seed = seed * 1103515245u + 12345u;
			copy[(seed >> 8) % length] = (char)(seed >> 3);
		}
		if (round % 3 == 0)
			length = (seed >> 8) % length;
		if (queue_control_parse(str_slice(copy, length), &control, NULL) == 0)
			queue_control_free(control);
	}
}

static int write_outcome(struct queue_delivery delivery)
{
	struct buffer text = {0};
	int result = queue_control_write_outcome(&text, &delivery);

	assert_true(result == 0 || text.length == 0);
	buffer_clear(&text);
	return result;
}

static void unsafe_outcomes_are_not_written(void **state)
{
	const struct queue_delivery good = {.number = 1,
					    .outcome = QUEUE_WAIT,
					    .changed_us = SECOND_US,
					    .until_us = SECOND_US,
					    .status = STR("4.4.1"),
					    .trigger = STR("host.x"),
					    .text = STR("not now")};
	struct queue_delivery bad = good;

	(void)state;
	assert_int_equal(write_outcome(good), 0);
	bad.number = 0;
	assert_int_equal(write_outcome(bad), -EINVAL);
	bad = good;
	bad.status = STR("said=1");
	assert_int_equal(write_outcome(bad), -EINVAL);
	bad.status = STR("4.4.1 x");
	assert_int_equal(write_outcome(bad), -EINVAL);
	bad = good;
	bad.trigger = STR("host x");
	assert_int_equal(write_outcome(bad), -EINVAL);
	bad.outcome = QUEUE_PENDING; /* nothing is written of it */
	assert_int_equal(write_outcome(bad), 0);
}

static void unsafe_maps_are_not_written(void **state)
{
	const struct queue_delivery good = {.number = 3,
					    .recipient = 1,
					    .route = QUEUE_ROUTE_LOCAL,
					    .service = STR("mailbox"),
					    .address = STR("a@b")};
	struct queue_delivery bad[] = {good, good, good, good, good};
	struct buffer text = {0};

	(void)state;
	assert_int_equal(queue_control_write_map(&text, &good, 1, 7), 0);
	assert_true(str_equal(buffer_view(&text), STR("map: 1 local mailbox 3 <a@b>\n"
						      "mapped: directory=7 count=1\n")));
	buffer_reset(&text);
	bad[0].server = STR("[2001:db8::7]:24");
	assert_int_equal(queue_control_write_map(&text, bad, 1, 7), 0);
	assert_true(str_equal(buffer_view(&text),
			      STR("map: 1 local mailbox server=[2001:db8::7]:24 3 <a@b>\n"
				  "mapped: directory=7 count=1\n")));
	buffer_reset(&text);
	bad[0].server = STR("s.example:24 x");
	assert_int_equal(queue_control_write_map(&text, bad, 1, 7), -EINVAL);
	bad[0].server = STR("S.example:24");
	assert_int_equal(queue_control_write_map(&text, bad, 1, 7), -EINVAL);
	bad[0].server = STR("s.example:24");
	bad[0].route = QUEUE_ROUTE_REMOTE;
	assert_int_equal(queue_control_write_map(&text, bad, 1, 7), -EINVAL);
	bad[0] = good;
	bad[0].number = 0;
	bad[1].recipient = 0;
	bad[2].service = STR("mail box");
	bad[3].address = STR("");
	bad[4].address = STR("a>@b");
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		assert_false(queue_delivery_is_writable(&bad[i]));
		assert_int_equal(queue_control_write_map(&text, &bad[i], 1, 7), -EINVAL);
		assert_int_equal(text.length, 0);
	}
	buffer_clear(&text);
}

static void envelopes_that_are_none_are_not_written(void **state)
{
	struct buffer text = {0};

	(void)state;
	for (unsigned fault = 0; fault < 6; fault++) {
		struct mail_envelope *envelope = sample_envelope();

		envelope->id.number = fault == 0 ? 0 : 457;
		envelope->id.born_us = fault == 1 ? -1 : 5;
		envelope->recipient_count = fault == 2 ? 0 : 2;
		if (fault == 3)
			envelope->recipients[1].number = 1;
		if (fault == 4)
			envelope->recipients[1].address = STR("");
		if (fault == 5)
			envelope->recipients[1].original = STR("a b");
		assert_int_equal(queue_control_write_envelope(&text, envelope), -EINVAL);
		assert_int_equal(text.length, 0);
		mail_envelope_free(envelope);
	}
}

static void the_whole_message_may_be_asked_for(void **state)
{
	struct mail_envelope *envelope = sample_envelope();
	struct queue_control *control;
	struct buffer text = {0};

	(void)state;
	envelope->ret = MAIL_RET_FULL;
	assert_int_equal(queue_control_write_envelope(&text, envelope), 0);
	assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL), 0);
	assert_int_equal(control->envelope->ret, MAIL_RET_FULL);
	queue_control_free(control);
	mail_envelope_free(envelope);
	buffer_clear(&text);
}

/* Whether it was tried is known after a restart, too. */
static void who_was_not_tried_is_known(void **state)
{
	static const struct {
		const char *status;
		uint32_t attempts;
		const char *record;
		uint32_t again;
	} cases[] = {
		{"", 0, "wait: 1 2026-11-20T08:33:11Z until=2026-11-21T00:00:00Z tried=0 - held\n",
		 0},
		{"4.3.5", 0, "wait: 1 2026-11-20T08:33:11Z until=2026-11-21T00:00:00Z 4.3.5 held\n",
		 1},
		{"", 1, "wait: 1 2026-11-20T08:33:11Z until=2026-11-21T00:00:00Z - held\n", 1},
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		const struct queue_delivery delivery = {.number = 1,
							.recipient = 1,
							.outcome = QUEUE_WAIT,
							.attempts = cases[i].attempts,
							.changed_us = 1795163591 * SECOND_US,
							.until_us = 1795219200 * SECOND_US,
							.status = str_from(cases[i].status),
							.text = STR("held")};
		struct queue_control *control;
		struct buffer text = {0};

		buffer_append_string(&text, ENVELOPE MAP);
		assert_int_equal(queue_control_write_outcome(&text, &delivery), 0);
		assert_true(str_equal(str_skip(buffer_view(&text), strlen(ENVELOPE MAP)),
				      str_from(cases[i].record)));
		assert_int_equal(queue_control_parse(buffer_view(&text), &control, NULL), 0);
		assert_int_equal(control->deliveries[0].outcome, QUEUE_WAIT);
		assert_int_equal(control->deliveries[0].attempts, cases[i].again);
		queue_control_free(control);
		buffer_clear(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_was_not_tried_is_known),
		cmocka_unit_test(envelope_survives_a_round),
		cmocka_unit_test(priorities_have_their_ends),
		cmocka_unit_test(unsafe_values_are_not_written),
		cmocka_unit_test(envelopes_are_read_strictly),
		cmocka_unit_test(map_counts_when_it_is_whole),
		cmocka_unit_test(hole_in_a_map_voids_it),
		cmocka_unit_test(last_outcome_counts),
		cmocka_unit_test(notices_are_remembered),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(unsafe_outcomes_are_not_written),
		cmocka_unit_test(unsafe_maps_are_not_written),
		cmocka_unit_test(envelopes_that_are_none_are_not_written),
		cmocka_unit_test(the_whole_message_may_be_asked_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
