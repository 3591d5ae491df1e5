// SPDX-License-Identifier: ISC
/* What a message waits for if its control file does not show it. */
#include "os/clock.h"
#include "queue/listing/listing.h"
#include "queue/trigger.h"

/* Whether a delivery could be tried now as far as its records show. */
static bool is_due(const struct queue_control *control)
{
	int64_t now_us = os_clock_wall_us();

	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++) {
		const struct queue_delivery *delivery = &control->deliveries[i];

		if (delivery->outcome == QUEUE_PENDING ||
		    (delivery->outcome == QUEUE_WAIT && delivery->until_us <= now_us))
			return true;
	}
	return !control->is_mapped;
}

static bool has_record_of_trigger(const struct queue_control *control, struct str trigger)
{
	for (size_t i = 0; control->is_mapped && i < control->delivery_count; i++)
		if (control->deliveries[i].outcome == QUEUE_WAIT &&
		    str_equal(control->deliveries[i].trigger, trigger))
			return true;
	return false;
}

static void learn_trigger(struct queue_store *store, struct str name, struct listing_entry *entry)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct arena *arena = entry->control->envelope->arena;

	if (queue_trigger_kind(name) == QUEUE_TRIGGER_HOLD || /* holds are found elsewhere */
	    has_record_of_trigger(entry->control, name))
		return;
	entry->waits_for = arena_copy_str(arena, name);
	if (queue_trigger_read_reason(store, name, &reason) == 0)
		entry->waits_because = arena_copy_str(arena, buffer_view(&reason));
}

void listing_learn_why(struct queue_store *store, listing_ask_why *ask, void *context,
		       struct listing_entry *entry)
{
	struct buffer why CLEANUP(buffer_clear) = {0};
	struct str text;

	if (ask == NULL || entry->control == NULL || !is_due(entry->control))
		return;
	ask(context, entry->control->envelope->id, &why);
	text = buffer_view(&why);
	if (text.length > 2 && text.data[0] == '(')
		entry->pause = arena_copy_str(entry->control->envelope->arena,
					      str_slice(text.data + 1, text.length - 2));
	else if (text.length > 0)
		learn_trigger(store, text, entry);
}
