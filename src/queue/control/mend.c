// SPDX-License-Identifier: ISC
/*
 * A map of which a disk has changed some records. What they said is unknown, and what is unknown is
 * tried: whoever may have lost a delivery gets one that is to be mapped again. The manager then
 * looks its address up, and leaves out what it still knows to be decided (manager/link/remap.h): so
 * only those get a second copy whose success is lost.
 */
#include "base/panic.h"
#include "queue/control/record.h"
#include <stdint.h>
#include <stdlib.h>

/* By recipient, and then as they were. */
static int compare_recipients(const void *a, const void *b)
{
	const struct queue_delivery *first = a;
	const struct queue_delivery *second = b;
	int result =
		(first->recipient > second->recipient) - (first->recipient < second->recipient);

	return result != 0 ? result
			   : (first->number > second->number) - (first->number < second->number);
}

/* How many recipients have no delivery, though each had at least one. Deliveries are in order. */
static size_t bereft_of(const struct queue_control *control)
{
	size_t bereft = control->envelope->recipient_count;

	for (size_t i = 0; i < control->delivery_count; i++)
		bereft -= i == 0 ||
			  control->deliveries[i].recipient != control->deliveries[i - 1].recipient;
	return bereft;
}

static struct queue_delivery delivery_to_requeue(const struct mail_recipient *recipient,
						 uint32_t number)
{
	return (struct queue_delivery){.number = number,
				       .recipient = recipient->number,
				       .route = QUEUE_ROUTE_NONE,
				       .address = recipient->address,
				       .outcome = QUEUE_WAIT,
				       .trigger = STR(""),
				       .status = STR(""),
				       .text = STR(""),
				       .is_requeued = true};
}

void control_mend_map(struct queue_control *control, size_t lost, uint32_t highest)
{
	const struct mail_envelope *envelope = control->envelope;
	struct queue_delivery *deliveries =
		arena_alloc(envelope->arena, (control->delivery_count + envelope->recipient_count) *
						     sizeof *deliveries);
	bool is_only_of_bereft;
	size_t count = 0;
	size_t next = 0;

	if (control->delivery_count > 0)
		qsort(control->deliveries, control->delivery_count, sizeof *control->deliveries,
		      compare_recipients);
	is_only_of_bereft = bereft_of(control) == lost;
	for (size_t i = 0; i < envelope->recipient_count; i++) {
		const struct mail_recipient *recipient = &envelope->recipients[i];
		size_t before = count;

		while (next < control->delivery_count &&
		       control->deliveries[next].recipient == recipient->number)
			deliveries[count++] = control->deliveries[next++];
		if (highest < UINT32_MAX && (count == before || !is_only_of_bereft))
			deliveries[count++] = delivery_to_requeue(recipient, ++highest);
	}
	control->deliveries = deliveries;
	control->delivery_count = count;
	control->is_mapped = true;
	control->is_mended = true;
	control->must_be_whole = true;
}

void queue_control_map_again(struct queue_control *control)
{
	const struct mail_envelope *envelope = control->envelope;

	control->delivery_count = 0;
	control->damaged++;
	control_mend_map(control, SIZE_MAX,
			 envelope->recipients[envelope->recipient_count - 1].number);
}
