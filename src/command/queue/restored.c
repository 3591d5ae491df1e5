// SPDX-License-Identifier: ISC
#include "command/queue/restored.h"
#include "log/event.h"
#include "os/clock.h"
#include "queue/listing/listing.h"
#include "queue/trigger.h"
#include <inttypes.h>
#include <stdio.h>

/* Recipients who are still to get it. */
static int64_t count_open(const struct queue_control *control)
{
	int64_t count = 0;

	if (!control->is_mapped)
		return (int64_t)control->envelope->recipient_count;
	for (size_t i = 0; i < control->delivery_count; i++)
		count += control->deliveries[i].outcome == QUEUE_PENDING ||
			 control->deliveries[i].outcome == QUEUE_WAIT;
	return count;
}

/* As an event that makes one message of another has them: so "stagepost trace" goes on with the
 * new id. */
static void log_restored(const struct queue_control *control, uint64_t old, uint64_t number)
{
	const struct mail_envelope *envelope = control->envelope;
	char now[MAIL_ID_SIZE] = "";

	if (number != old)
		mail_id_format(envelope->id, now);
	log_event(EVENT_MESSAGE_RESTORED, log_id((struct mail_id){old, envelope->id.born_us}),
		  log_string(message, now), log_from(envelope->sender),
		  log_number(recipients, count_open(control)),
		  log_number(size, (int64_t)envelope->size));
}

static int hold_restored(struct queue_store *store, struct mail_id id)
{
	char name[LISTING_HOLD_SIZE];

	return queue_trigger_set(store, listing_hold_name(id, name), os_clock_wall_us(),
				 STR("restored from a backup"));
}

int queue_restored_keep(struct queue_restored *restored, uint64_t old, uint64_t number)
{
	struct listing_entry entry;
	char text[24];
	int result;

	snprintf(text, sizeof text, "%" PRIu64, number);
	result = listing_find(restored->store, str_from(text), &entry);
	if (result < 0)
		return result;
	restored->count++;
	if (entry.control == NULL) { /* the manager says what is wrong with it */
		log_event(EVENT_MESSAGE_RESTORED, log_number(number, (int64_t)number));
		return 0;
	}
	if (restored->is_to_hold)
		result = hold_restored(restored->store, entry.control->envelope->id);
	if (result == 0)
		log_restored(entry.control, old, number);
	queue_control_free(entry.control);
	return result;
}
