// SPDX-License-Identifier: ISC
/* An entry for people, and as JSON. */
#include "base/text/json.h"
#include "mail/origin.h"
#include "mail/text/text.h"
#include "queue/listing/listing.h"
#include <inttypes.h>
#include <string.h>
#include <time.h>

static const char *const outcome_names[] = {
	[QUEUE_PENDING] = "pending",
	[QUEUE_DONE] = "done",
	[QUEUE_WAIT] = "waiting",
	[QUEUE_FAIL] = "failed",
};

static bool is_undecided_delivery(const struct queue_delivery *delivery)
{
	return delivery->outcome == QUEUE_PENDING || delivery->outcome == QUEUE_WAIT;
}

/* --- for people --- */

void listing_print_heading(struct buffer *out)
{
	buffer_append_string(out, "-Queue ID-----------------  --Size-- ---Arrival Time---- "
				  "-Sender/Recipient-------\n");
}

/* In the format that users know from other systems, in their time zone. */
static void format_arrival(int64_t born_us, char text[32])
{
	time_t seconds = (time_t)(born_us / SECOND_US);
	struct tm local;

	if (localtime_r(&seconds, &local) == NULL ||
	    strftime(text, 32, "%a %b %e %H:%M:%S", &local) == 0)
		text[0] = '\0';
}

static void print_indented_address(struct buffer *out, struct str address)
{
	buffer_append_format(out, "%58s", "");
	mail_text_append(out, address, MAIL_TEXT_ASCII);
	buffer_append_byte(out, '\n');
}

static void print_in_parentheses(struct buffer *out, const char *before, struct str text)
{
	if (text.length == 0)
		return;
	buffer_append_string(out, "    (");
	buffer_append_string(out, before);
	mail_text_append(out, text, MAIL_TEXT_ASCII);
	buffer_append_string(out, ")\n");
}

static void print_wait(struct buffer *out, struct str trigger)
{
	print_in_parentheses(out, "waits for ", trigger);
}

void listing_print_why(const struct listing_entry *entry, struct buffer *out)
{
	print_in_parentheses(out, "", entry->waits_because);
	print_wait(out, entry->waits_for);
	print_in_parentheses(out, "", entry->pause);
}

/* Once its recipients are resolved, the deliveries say this. */
static void print_release(struct buffer *out, int64_t release_us)
{
	char text[TIMESTAMP_SIZE];

	timestamp_format_seconds(release_us, text);
	if (release_us > 0)
		buffer_append_format(out, "    (not before %s, as its sender has asked)\n", text);
}

static void print_deadline(struct buffer *out, const struct mail_deadline *deadline)
{
	char at[TIMESTAMP_SIZE];

	timestamp_format_seconds(deadline->at_us, at);
	if (deadline->mode != MAIL_DEADLINE_NONE)
		buffer_append_format(out, "    (to be delivered by %s, or %s)\n", at,
				     deadline->mode == MAIL_DEADLINE_RETURN
					     ? "returned to its sender"
					     : "its sender is told");
}

static void print_delivery(struct buffer *out, const struct queue_delivery *delivery)
{
	if (!is_undecided_delivery(delivery))
		return;
	print_in_parentheses(out, "", delivery->text);
	if (delivery->outcome == QUEUE_WAIT)
		print_wait(out, delivery->trigger);
	if (delivery->is_requeued)
		buffer_append_string(out, "    (its address is to be looked up anew)\n");
	print_indented_address(out, delivery->address);
}

void listing_print_hold(const struct listing_entry *entry, struct buffer *out)
{
	buffer_append_string(out, "held by the operator");
	if (entry->held_until.length > 0)
		buffer_append_format(out, " until " STR_FORMAT " is released",
				     STR_ARGUMENTS(entry->held_until));
}

void listing_print(const struct listing_entry *entry, struct buffer *out)
{
	const struct queue_control *control = entry->control;
	char id[MAIL_ID_SIZE];
	char arrival[32];

	if (control == NULL) {
		buffer_append_format(out, "%-26" PRIu64 "  (damaged at line %u)\n\n", entry->number,
				     entry->line);
		return;
	}
	mail_id_format(control->envelope->id, id);
	format_arrival(control->envelope->id.born_us, arrival);
	buffer_append_format(out, "%-26s %9" PRIu64 " %s  ", id, control->envelope->size, arrival);
	if (control->envelope->sender.length == 0)
		buffer_append_string(out, "MAILER-DAEMON");
	mail_text_append(out, control->envelope->sender, MAIL_TEXT_ASCII);
	buffer_append_byte(out, '\n');
	if (entry->is_held) {
		buffer_append_string(out, "    (");
		listing_print_hold(entry, out);
		buffer_append_string(out, ")\n");
	}
	if (control->envelope->priority != 0)
		buffer_append_format(out, "    (priority %d)\n", control->envelope->priority);
	print_deadline(out, &control->envelope->deadline);
	if (!control->is_mapped)
		print_release(out, control->envelope->release_us);
	listing_print_why(entry, out);
	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++)
		print_delivery(out, &control->deliveries[i]);
	for (size_t i = 0; !control->is_mapped && i < control->envelope->recipient_count; i++)
		print_indented_address(out, control->envelope->recipients[i].address);
	buffer_append_byte(out, '\n');
}

/* --- for programs --- */

static void append_json_time(struct buffer *out, const char *name, int64_t time_us)
{
	char text[TIMESTAMP_SIZE];

	if (time_us == 0)
		return;
	timestamp_format(time_us, text);
	json_field_text(out, name, str_from(text));
}

static void json_priority(struct buffer *out, int priority)
{
	if (priority == 0)
		return;
	json_field(out, "priority");
	buffer_append_format(out, "%d", priority);
}

static void json_deadline(struct buffer *out, const struct mail_deadline *deadline)
{
	static const char *const names[] = {
		[MAIL_DEADLINE_NOTIFY] = "notify", [MAIL_DEADLINE_RETURN] = "return"};

	if (deadline->mode == MAIL_DEADLINE_NONE)
		return;
	append_json_time(out, "deadline", deadline->at_us);
	json_field_text(out, "late", str_from(names[deadline->mode]));
}

void listing_print_pause_json(const char *name, struct str pause, struct buffer *out)
{
	struct str destination = pause;
	size_t end = 0;

	while (end + 2 < pause.length && memcmp(pause.data + end, ": ", 2) != 0)
		end++;
	destination.length = end;
	json_field(out, name);
	buffer_append_byte(out, '{');
	json_field_text(out, "destination", destination);
	json_field_text(out, "reason", str_skip(pause, end + 2));
	buffer_append_byte(out, '}');
}

/* Where it came from. */
static void json_origin(struct buffer *out, struct str received)
{
	const struct mail_origin origin = mail_origin_parse(received);
	const struct {
		const char *name;
		struct str value;
	} texts[] = {{"protocol", origin.protocol}, {"address", origin.address},
		     {"name", origin.name},         {"helo", origin.helo},
		     {"tls", origin.tls},           {"user", origin.user}};

	json_field(out, "received");
	buffer_append_byte(out, '{');
	for (size_t i = 0; i < COUNT_OF(texts); i++)
		if (texts[i].value.length > 0)
			json_field_text(out, texts[i].name, texts[i].value);
	if (origin.port > 0)
		json_field_number(out, "port", origin.port);
	if (origin.has_uid)
		json_field_number(out, "uid", origin.uid);
	buffer_append_byte(out, '}');
}

static void json_recipients(struct buffer *out, const struct mail_envelope *envelope)
{
	json_field(out, "recipients");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < envelope->recipient_count; i++) {
		const struct mail_recipient *recipient = &envelope->recipients[i];

		buffer_append_string(out, i > 0 ? ",{" : "{");
		json_field_number(out, "number", recipient->number);
		json_field_text(out, "address", recipient->address);
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

static void json_delivery(struct buffer *out, const struct queue_delivery *delivery)
{
	json_field_number(out, "number", delivery->number);
	json_field_number(out, "recipient", delivery->recipient);
	json_field_text(out, "address", delivery->address);
	json_field_text(out, "stage",
			delivery->route == QUEUE_ROUTE_REMOTE  ? STR("remote")
			: delivery->route == QUEUE_ROUTE_LOCAL ? delivery->service
							       : STR("none"));
	if (delivery->server.length > 0)
		json_field_text(out, "server", delivery->server);
	json_field_text(out, "state", str_from(outcome_names[delivery->outcome]));
	json_field_number(out, "attempts", delivery->attempts);
	append_json_time(out, "changed", delivery->changed_us);
	if (delivery->outcome == QUEUE_WAIT)
		append_json_time(out, "until", delivery->until_us);
	if (delivery->trigger.length > 0)
		json_field_text(out, "trigger", delivery->trigger);
	if (delivery->is_requeued && is_undecided_delivery(delivery)) {
		json_field(out, "requeued");
		buffer_append_string(out, "true");
	}
	if (delivery->status.length > 0)
		json_field_text(out, "status", delivery->status);
	if (delivery->text.length > 0)
		json_field_text(out, "text", delivery->text);
}

static void json_deliveries(struct buffer *out, const struct queue_control *control)
{
	json_field(out, "deliveries");
	buffer_append_byte(out, '[');
	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++) {
		buffer_append_string(out, i > 0 ? ",{" : "{");
		json_delivery(out, &control->deliveries[i]);
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

void listing_print_json(const struct listing_entry *entry, struct buffer *out)
{
	const struct queue_control *control = entry->control;
	const struct mail_envelope *envelope;
	char id[MAIL_ID_SIZE];

	buffer_append_byte(out, '{');
	if (control == NULL) {
		json_field_number(out, "number", entry->number);
		json_field_text(out, "state", STR("damaged"));
		json_field_number(out, "line", entry->line);
		buffer_append_byte(out, '}');
		return;
	}
	envelope = control->envelope;
	mail_id_format(envelope->id, id);
	json_field_text(out, "id", str_from(id));
	json_field_number(out, "number", entry->number);
	json_field_text(out, "state", entry->is_preprocessed ? STR("preprocessed") : STR("queued"));
	json_field_text(out, "stage", str_from(mail_stage_name(envelope->stage)));
	if (entry->is_held) {
		json_field(out, "held");
		buffer_append_string(out, "true");
	}
	if (entry->held_until.length > 0)
		json_field_text(out, "held_until", entry->held_until);
	if (entry->waits_for.length > 0)
		json_field_text(out, "trigger", entry->waits_for);
	if (entry->waits_because.length > 0)
		json_field_text(out, "trigger_reason", entry->waits_because);
	if (entry->pause.length > 0)
		listing_print_pause_json("pause", entry->pause, out);
	append_json_time(out, "born", envelope->id.born_us);
	append_json_time(out, "release", envelope->release_us);
	json_deadline(out, &envelope->deadline);
	json_priority(out, envelope->priority);
	json_field_number(out, "size", envelope->size);
	json_field_text(out, "sender", envelope->sender);
	json_origin(out, envelope->received);
	json_recipients(out, envelope);
	json_deliveries(out, control);
	buffer_append_byte(out, '}');
}
