// SPDX-License-Identifier: ISC
/* What of this node's queue is in memory, for who asks: link/status.h. */
#include "base/text/json.h"
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

static size_t services_of_queue(void *context, const char *const **names_out)
{
	const struct manager *manager = context;

	return transports_services(manager->transports, names_out);
}

const struct status_handler manager_hear_status = {describe_memory, services_of_queue};
