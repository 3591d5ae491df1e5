// SPDX-License-Identifier: ISC
/*
 * What is printed of a message, for people and for programs: messages with all that an entry may
 * have, by chance, against lists of what is to be there.
 */
#include "base/timestamp.h"
#include "chance.h"
#include "queue/listing/listing.h"
#include "test.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIVES = 6000, DELIVERIES = 3 };

#define BORN_US (INT64_C(1700000000) * SECOND_US + 123456)
#define BORN    "2023-11-14T22:13:20.123456Z"
#define LATER   "2023-11-14T23:13:20"

static struct buffer wanted;
static struct queue_delivery deliveries[DELIVERIES];
static struct mail_recipient recipients[DELIVERIES];
static struct mail_envelope envelope;
static struct queue_control control;
static struct listing_entry entry;
static struct buffer received;

static struct str text_or_none(const char *text)
{
	return chance(2) == 0 ? STR("") : str_from(text);
}

static void make_delivery(size_t i)
{
	static const char *const addresses[] = {"a@a.test", "b\x01@a.test", "\xc3\xa4@a.test"};

	recipients[i] = (struct mail_recipient){.number = (uint32_t)(i + 7),
						.address = str_from(addresses[i])};
	deliveries[i] = (struct queue_delivery){
		.number = (uint32_t)(i + 3),
		.recipient = (uint32_t)(i + 7),
		.route = (enum queue_route)chance(3),
		.service = STR("box"),
		.server = text_or_none("srv"),
		.address = str_from(addresses[chance(3)]),
		.outcome = (enum queue_outcome)chance(4),
		.attempts = (uint32_t)chance(3),
		.changed_us = chance(2) == 0 ? 0 : BORN_US,
		.until_us = BORN_US,
		.trigger = text_or_none("host.mx"),
		.status = text_or_none("4.7.1"),
		.text = text_or_none("come \"later\""),
		.is_requeued = chance(2) == 0,
	};
}

static struct {
	bool has_address, has_name, has_helo, has_tls, has_user, has_uid;
} origin;

static void make_origin(void)
{
	origin.has_address = chance(2) == 0;
	origin.has_name = chance(2) == 0;
	origin.has_helo = chance(2) == 0;
	origin.has_tls = chance(2) == 0;
	origin.has_user = chance(2) == 0;
	origin.has_uid = chance(2) == 0;
	buffer_reset(&received);
	buffer_append_format(
		&received, "smtp%s%s%s%s%s%s", origin.has_address ? " 192.0.2.7:53112" : "",
		origin.has_name ? " name=n.test" : "", origin.has_helo ? " helo=h.test" : "",
		origin.has_tls ? " tls=TLSv1.3" : "", origin.has_user ? " user=ann" : "",
		origin.has_uid ? " uid=0" : "");
	envelope.received = buffer_view(&received);
}

static void make_entry(void)
{
	static const char *const senders[] = {"s@x.test", "", "\xc3\xa4@x.test"};

	envelope = (struct mail_envelope){
		.id = {457, BORN_US},
		.stage = (enum mail_stage)chance(2),
		.sender = str_from(senders[chance(3)]),
		.size = chance(2) == 0 ? 0 : 123456789,
		.priority = (int)chance(3) - 1,
		.release_us = chance(2) == 0 ? 0 : BORN_US + HOUR_US,
		.deadline = {.mode = (enum mail_deadline_mode)chance(3),
			     .at_us = BORN_US + HOUR_US},
		.recipients = recipients,
		.recipient_count = 1 + chance(DELIVERIES),
	};
	control = (struct queue_control){.envelope = &envelope,
					 .is_mapped = chance(2) == 0,
					 .deliveries = deliveries,
					 .delivery_count = 1 + chance(DELIVERIES)};
	for (size_t i = 0; i < DELIVERIES; i++)
		make_delivery(i);
	make_origin();
	entry = (struct listing_entry){.number = 457,
				       .is_preprocessed = chance(2) == 0,
				       .control = &control,
				       .is_held = chance(2) == 0,
				       .held_until = text_or_none("maint"),
				       .waits_for = text_or_none("host.mx"),
				       .waits_because = text_or_none("not reached"),
				       .pause = text_or_none("[::1]:25: it: has enough")};
}

static void check_printed(struct buffer *out)
{
	buffer_append_byte(&wanted, '\0');
	buffer_append_byte(out, '\0');
	assert_string_equal(buffer_data(out), buffer_data(&wanted));
	buffer_reset(&wanted);
}

/* --- for people --- */

static void want_in_parentheses(const char *before, struct str text)
{
	if (text.length > 0)
		buffer_append_format(&wanted, "    (%s" STR_FORMAT ")\n", before,
				     STR_ARGUMENTS(text));
}

/* Control characters, and what is not ASCII, are '?'. */
static void want_address(struct str address)
{
	buffer_append_format(&wanted, "%58s", "");
	for (size_t i = 0; i < address.length; i++)
		buffer_append_byte(&wanted, address.data[i] >= ' ' ? address.data[i] : '?');
	buffer_append_byte(&wanted, '\n');
}

static void want_delivery(const struct queue_delivery *delivery)
{
	if (delivery->outcome == QUEUE_DONE || delivery->outcome == QUEUE_FAIL)
		return;
	want_in_parentheses("", delivery->text);
	if (delivery->outcome == QUEUE_WAIT)
		want_in_parentheses("waits for ", delivery->trigger);
	if (delivery->is_requeued)
		want_in_parentheses("", STR("its address is to be looked up anew"));
	want_address(delivery->address);
}

static void want_message(void)
{
	buffer_append_format(&wanted, "%-26s %9" PRIu64 " Tue Nov 14 22:13:20  %s\n",
			     "457-60a2418202240", envelope.size,
			     envelope.sender.length == 0   ? "MAILER-DAEMON"
			     : envelope.sender.data[0] < 0 ? "??@x.test"
							   : "s@x.test");
	if (entry.is_held && entry.held_until.length > 0)
		want_in_parentheses("", STR("held by the operator until maint is released"));
	else if (entry.is_held)
		want_in_parentheses("", STR("held by the operator"));
	if (envelope.priority != 0)
		buffer_append_format(&wanted, "    (priority %d)\n", envelope.priority);
	if (envelope.deadline.mode == MAIL_DEADLINE_RETURN)
		want_in_parentheses(
			"", STR("to be delivered by " LATER "Z, or returned to its sender"));
	if (envelope.deadline.mode == MAIL_DEADLINE_NOTIFY)
		want_in_parentheses("",
				    STR("to be delivered by " LATER "Z, or its sender is told"));
	if (!control.is_mapped && envelope.release_us > 0)
		want_in_parentheses("", STR("not before " LATER "Z, as its sender has asked"));
	want_in_parentheses("", entry.waits_because);
	want_in_parentheses("waits for ", entry.waits_for);
	want_in_parentheses("", entry.pause);
	for (size_t i = 0; control.is_mapped && i < control.delivery_count; i++)
		want_delivery(&deliveries[i]);
	for (size_t i = 0; !control.is_mapped && i < envelope.recipient_count; i++)
		want_address(recipients[i].address);
	buffer_append_byte(&wanted, '\n');
}

static void people_see_all_that_is_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIVES; i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};

		make_entry();
		want_message();
		listing_print(&entry, &out);
		check_printed(&out);
	}
}

static void what_is_damaged_is_its_number(void **state)
{
	static const struct listing_entry damaged = {.number = 457, .line = 3};
	struct buffer out CLEANUP(buffer_clear) = {0};

	(void)state;
	listing_print_heading(&out);
	listing_print(&damaged, &out);
	listing_print_json(&damaged, &out);
	buffer_append_string(&wanted, "-Queue ID-----------------  --Size-- ---Arrival Time---- "
				      "-Sender/Recipient-------\n"
				      "457                         (damaged at line 3)\n\n"
				      "{\"number\":457,\"state\":\"damaged\",\"line\":3}");
	check_printed(&out);
}

/* --- for programs --- */

static bool is_first_field;

static void want_field(const char *name)
{
	buffer_append_format(&wanted, "%s\"%s\":", is_first_field ? "" : ",", name);
	is_first_field = false;
}

static void want_text(const char *name, struct str text)
{
	want_field(name);
	buffer_append_byte(&wanted, '"');
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] == '"')
			buffer_append_string(&wanted, "\\\"");
		else if (text.data[i] == '\x01')
			buffer_append_string(&wanted, "\\u0001");
		else
			buffer_append_byte(&wanted, text.data[i]);
	buffer_append_byte(&wanted, '"');
}

static void want_text_if_any(const char *name, struct str text)
{
	if (text.length > 0)
		want_text(name, text);
}

static void want_number(const char *name, uint64_t value)
{
	want_field(name);
	buffer_append_format(&wanted, "%" PRIu64, value);
}

static void want_true_if(const char *name, bool is_so)
{
	if (!is_so)
		return;
	want_field(name);
	buffer_append_string(&wanted, "true");
}

static void want_open(const char *before)
{
	buffer_append_string(&wanted, before);
	is_first_field = true;
}

static void want_close(const char *after)
{
	buffer_append_string(&wanted, after);
	is_first_field = false;
}

static void want_json_origin(void)
{
	want_field("received");
	want_open("{");
	want_text("protocol", STR("smtp"));
	if (origin.has_address)
		want_text("address", STR("192.0.2.7"));
	if (origin.has_name)
		want_text("name", STR("n.test"));
	if (origin.has_helo)
		want_text("helo", STR("h.test"));
	if (origin.has_tls)
		want_text("tls", STR("TLSv1.3"));
	if (origin.has_user)
		want_text("user", STR("ann"));
	if (origin.has_address)
		want_number("port", 53112);
	if (origin.has_uid)
		want_number("uid", 0);
	want_close("}");
}

static void want_json_delivery(const struct queue_delivery *delivery)
{
	static const char *const states[] = {[QUEUE_PENDING] = "pending",
					     [QUEUE_DONE] = "done",
					     [QUEUE_WAIT] = "waiting",
					     [QUEUE_FAIL] = "failed"};

	want_number("number", delivery->number);
	want_number("recipient", delivery->recipient);
	want_text("address", delivery->address);
	want_text("stage", delivery->route == QUEUE_ROUTE_REMOTE  ? STR("remote")
			   : delivery->route == QUEUE_ROUTE_LOCAL ? STR("box")
								  : STR("none"));
	want_text_if_any("server", delivery->server);
	want_text("state", str_from(states[delivery->outcome]));
	want_number("attempts", delivery->attempts);
	if (delivery->changed_us != 0)
		want_text("changed", STR(BORN));
	if (delivery->outcome == QUEUE_WAIT)
		want_text("until", STR(BORN));
	want_text_if_any("trigger", delivery->trigger);
	want_true_if("requeued", delivery->is_requeued && (delivery->outcome == QUEUE_WAIT ||
							   delivery->outcome == QUEUE_PENDING));
	want_text_if_any("status", delivery->status);
	want_text_if_any("text", delivery->text);
}

static void want_json_lists(void)
{
	want_field("recipients");
	want_open("[");
	for (size_t i = 0; i < envelope.recipient_count; i++) {
		want_open(i > 0 ? ",{" : "{");
		want_number("number", recipients[i].number);
		want_text("address", recipients[i].address);
		want_close("}");
	}
	want_close("]");
	want_field("deliveries");
	want_open("[");
	for (size_t i = 0; control.is_mapped && i < control.delivery_count; i++) {
		want_open(i > 0 ? ",{" : "{");
		want_json_delivery(&deliveries[i]);
		want_close("}");
	}
	want_close("]");
}

static void want_json_message(void)
{
	want_open("{");
	want_text("id", STR("457-60a2418202240"));
	want_number("number", 457);
	want_text("state", entry.is_preprocessed ? STR("preprocessed") : STR("queued"));
	want_text("stage", envelope.stage == MAIL_STAGE_SUBMIT ? STR("submit") : STR("arrive"));
	want_true_if("held", entry.is_held);
	want_text_if_any("held_until", entry.held_until);
	want_text_if_any("trigger", entry.waits_for);
	want_text_if_any("trigger_reason", entry.waits_because);
	if (entry.pause.length > 0) {
		want_field("pause");
		want_open("{");
		want_text("destination", STR("[::1]:25"));
		want_text("reason", STR("it: has enough"));
		want_close("}");
	}
	want_text("born", STR(BORN));
	if (envelope.release_us > 0)
		want_text("release", STR(LATER ".123456Z"));
	if (envelope.deadline.mode != MAIL_DEADLINE_NONE) {
		want_text("deadline", STR(LATER ".123456Z"));
		want_text("late", envelope.deadline.mode == MAIL_DEADLINE_NOTIFY ? STR("notify")
										 : STR("return"));
	}
	if (envelope.priority != 0) {
		want_field("priority");
		buffer_append_format(&wanted, "%d", envelope.priority);
	}
	want_number("size", envelope.size);
	want_text("sender", envelope.sender);
	want_json_origin();
	want_json_lists();
	want_close("}");
}

static void programs_see_all_that_is_known(void **state)
{
	(void)state;
	for (unsigned i = 0; i < LIVES; i++) {
		struct buffer out CLEANUP(buffer_clear) = {0};

		make_entry();
		want_json_message();
		listing_print_json(&entry, &out);
		check_printed(&out);
	}
}

static int set_time_zone(void **state)
{
	(void)state;
	return setenv("TZ", "UTC", 1);
}

static int clear_buffers(void **state)
{
	(void)state;
	buffer_clear(&wanted);
	buffer_clear(&received);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(people_see_all_that_is_known),
		cmocka_unit_test(what_is_damaged_is_its_number),
		cmocka_unit_test(programs_see_all_that_is_known),
	};

	return cmocka_run_group_tests(tests, set_time_zone, clear_buffers);
}
