// SPDX-License-Identifier: ISC
/* What of this node's queue is in memory, for who asks: link/status.h. */
#include "base/text/json.h"
#include "log/recent.h"
#include "mail/package.h"
#include "manager/internal.h"
#include "os/clock.h"
#include <string.h>

enum {
	TRANSPORTS_TOLD = 64, /* of those with jobs */
	TRIGGERS_TOLD = 24,   /* for which the most messages wait */
};

/* --- how often --- */

static void describe_rates(const struct manager *manager, int64_t now_us, struct buffer *out)
{
	const struct {
		const char *name;
		const struct tally *tally;
	} rates[] = {
		{"taken", &manager->taken},
		{"delivered", &manager->delivered},
		{"handed_over", &manager->handed_over},
		{"deferred", &manager->deferred},
		{"failed", &manager->failed},
	};

	json_field(out, "since_start");
	buffer_append_byte(out, '{');
	for (size_t i = 0; i < COUNT_OF(rates); i++)
		json_field_number(out, rates[i].name, rates[i].tally->total);
	buffer_append_byte(out, '}');
	json_field(out, "last_minute");
	buffer_append_byte(out, '{');
	for (size_t i = 0; i < COUNT_OF(rates); i++)
		json_field_number(out, rates[i].name, tally_last_minute(rates[i].tally, now_us));
	buffer_append_byte(out, '}');
}

/* --- jobs --- */

static void describe_transports(const struct manager *manager, struct buffer *out)
{
	const struct transport *transport = NULL;
	unsigned told = 0;

	json_field(out, "transports");
	buffer_append_byte(out, '[');
	while (told < TRANSPORTS_TOLD &&
	       (transport = transports_next(manager->transports, transport)) != NULL) {
		struct transport_counts counts = transport_count(transport);

		if (counts.waiting == 0 && counts.in_flight == 0)
			continue;
		buffer_append_string(out, told++ > 0 ? ",{" : "{");
		json_field_text(out, "name", str_from(transport_name(transport)));
		json_field_number(out, "waiting", counts.waiting);
		json_field_number(out, "in_progress", counts.in_flight);
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

/* --- triggers --- */

struct longest {
	const struct trigger *list[TRIGGERS_TOLD]; /* the one with the most waiters first */
	size_t count;
	uint64_t all;
	uint64_t waiters;
};

static void note_trigger(void *context, const struct trigger *trigger)
{
	struct longest *longest = context;
	size_t place = longest->count;

	longest->all++;
	longest->waiters += trigger_waiter_count(trigger);
	while (place > 0 &&
	       trigger_waiter_count(longest->list[place - 1]) < trigger_waiter_count(trigger))
		place--;
	if (place == TRIGGERS_TOLD)
		return;
	if (longest->count < TRIGGERS_TOLD)
		longest->count++;
	memmove(&longest->list[place + 1], &longest->list[place],
		(longest->count - place - 1) * sizeof longest->list[0]);
	longest->list[place] = trigger;
}

static void describe_triggers(const struct manager *manager, struct buffer *out)
{
	struct longest longest = {.count = 0};

	triggers_each(manager->triggers, note_trigger, &longest);
	json_field_number(out, "trigger_count", longest.all);
	json_field_number(out, "waiting_for_triggers", longest.waiters);
	json_field(out, "triggers");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < longest.count; i++) {
		buffer_append_string(out, i > 0 ? ",{" : "{");
		json_field_text(out, "name", trigger_name(longest.list[i]));
		json_field_number(out, "messages", trigger_waiter_count(longest.list[i]));
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

/* --- all --- */

static void describe_memory(void *context, struct buffer *out)
{
	const struct manager *manager = context;

	json_field_time(out, "started", manager->started_us);
	describe_rates(manager, os_clock_monotonic_us(), out);
	describe_transports(manager, out);
	describe_triggers(manager, out);
}

/* --- a message --- */

struct message_lines {
	void (*each)(void *receiver, struct str line);
	void *receiver;
	struct str wanted; /* text that some line has */
	bool is_there;
};

/* What the line that "noded" has logged says: from where it came. */
static void tell_where_from(const struct mail_envelope *envelope, const struct message_lines *lines)
{
	struct buffer line CLEANUP(buffer_clear) = {0};
	struct str node;
	struct str package;

	if (!mail_package_split(envelope->handed, &node, &package))
		return;
	log_recent_begin(&line, envelope->id.born_us);
	log_event_by(log_recent_format, EVENT_NODE_TOOK, log_id(envelope->id), log_str(node, node),
		     log_str(package, package),
		     log_number(recipients, (int64_t)envelope->recipient_count),
		     log_number(size, (int64_t)envelope->size));
	lines->each(lines->receiver, buffer_view(&line));
}

/* As outcome_log() has said it, perhaps in an earlier process. */
static void tell_delivery(const struct mail_envelope *envelope,
			  const struct queue_delivery *delivery, const struct message_lines *lines)
{
	struct buffer line CLEANUP(buffer_clear) = {0};
	bool is_local = delivery->route == QUEUE_ROUTE_LOCAL;
	char until[TIMESTAMP_SIZE];

	timestamp_format_seconds(delivery->until_us, until);
	log_recent_begin(&line, delivery->changed_us);
	log_event_by(log_recent_format, EVENT_DEFERRED, log_id(envelope->id),
		     log_number(delivery, delivery->number), log_from(envelope->sender),
		     log_str(to, delivery->address),
		     log_str(by, is_local ? delivery->service : STR("remote")),
		     log_number(size, (int64_t)envelope->size),
		     log_seconds(delay, delivery->changed_us - envelope->id.born_us),
		     log_str(status, delivery->status), log_str(text, delivery->text),
		     log_string(until, until));
	lines->each(lines->receiver, buffer_view(&line));
}

static void look_for_event(void *context, struct str line)
{
	struct message_lines *lines = context;

	lines->is_there |=
		memmem(line.data, line.length, lines->wanted.data, lines->wanted.length) != NULL;
}

/* Whether this process has logged EVENT of the message ID lately. */
static bool has_recent_event(struct message_lines *lines, struct mail_id id, const char *event)
{
	struct buffer part CLEANUP(buffer_clear) = {0};
	char text[MAIL_ID_SIZE];

	mail_id_format(id, text);
	buffer_append_format(&part, " id=%s ", text);
	lines->wanted = str_from(event);
	lines->is_there = false;
	log_recent_each(buffer_view(&part), look_for_event, lines);
	return lines->is_there;
}

static void tell_found_message(struct manager *manager, const struct listing_survey_found *found,
			       struct message_lines *lines)
{
	struct queue_control *control;

	if (queue_update_load(manager->store, found->is_queued ? &found->stage : NULL,
			      found->id.number, &control, NULL) < 0)
		return; /* it has ended meanwhile */
	if (!has_recent_event(lines, found->id, " event=node_took "))
		tell_where_from(control->envelope, lines);
	if (!has_recent_event(lines, found->id, " event=deferred "))
		for (size_t i = 0; i < control->delivery_count; i++)
			if (control->deliveries[i].outcome == QUEUE_WAIT)
				tell_delivery(control->envelope, &control->deliveries[i], lines);
	queue_control_free(control);
}

static void describe_message_lines(void *context, int64_t born_us,
				   const struct listing_survey_found *found, size_t count,
				   void (*each)(void *receiver, struct str line), void *receiver)
{
	struct message_lines lines = {.each = each, .receiver = receiver};
	struct buffer part CLEANUP(buffer_clear) = {0};
	char id[MAIL_ID_SIZE];

	for (size_t i = 0; i < count; i++)
		tell_found_message(context, &found[i], &lines);
	mail_id_format((struct mail_id){1, born_us}, id); /* "1-BIRTH" */
	buffer_append_format(&part, "%s ", id + 1);
	log_recent_each(buffer_view(&part), each, receiver);
}

static size_t services_of_queue(void *context, const char *const **names_out)
{
	const struct manager *manager = context;

	return transports_services(manager->transports, names_out);
}

const struct status_handler manager_hear_status = {describe_memory, describe_message_lines,
						   services_of_queue};
