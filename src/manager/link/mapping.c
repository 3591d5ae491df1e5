// SPDX-License-Identifier: ISC
#include "manager/link/mapping.h"
#include "base/panic.h"
#include "manager/outcome.h"
#include <stdlib.h>
#include <string.h>

static struct queue_delivery *add_delivery(struct mapping *mapping)
{
	if (mapping->count == mapping->capacity) {
		size_t capacity = mapping->capacity > 0 ? mapping->capacity * 2 : 4;
		struct queue_delivery *deliveries =
			arena_alloc(mapping->envelope->arena, capacity * sizeof *deliveries);

		if (mapping->count > 0)
			memcpy(deliveries, mapping->deliveries,
			       mapping->count * sizeof *deliveries);
		mapping->deliveries = deliveries;
		mapping->capacity = capacity;
	}
	return &mapping->deliveries[mapping->count++];
}

static enum queue_outcome outcome_of_status(struct str status)
{
	if (status.length == 0 || status.data[0] == '4')
		return QUEUE_PENDING;
	return status.data[0] == '2' ? QUEUE_DONE : QUEUE_FAIL;
}

/* A target that is already decided has no place; any other has one. */
static bool is_acceptable_target(const struct mapping *mapping, const struct ipc_job_target *target)
{
	const struct queue_delivery delivery = {.number = target->recipient,
						.recipient = target->recipient,
						.route = (enum queue_route)target->route,
						.service = target->service,
						.server = target->server,
						.address = target->address};

	return target->route <= QUEUE_ROUTE_NONE &&
	       mapping->count < MAPPING_DELIVERIES_MAX + mapping->envelope->recipient_count &&
	       (target->route == QUEUE_ROUTE_NONE) == (target->status.length > 0) &&
	       (target->route == QUEUE_ROUTE_LOCAL) == (target->service.length > 0) &&
	       queue_delivery_is_writable(&delivery) &&
	       mail_envelope_find(mapping->envelope, target->recipient) != NULL;
}

/* A message with more deliveries could not be kept: all those of the recipient become one failed
 * delivery, and so do those of the recipients that follow. */
static void refuse_recipient(struct mapping *mapping, uint32_t recipient, int64_t now_us)
{
	size_t count = mapping->count;

	if (mapping->is_overfull && count > 0 &&
	    mapping->deliveries[count - 1].recipient == recipient)
		return;
	while (count > 0 && mapping->deliveries[count - 1].recipient == recipient)
		count--;
	mapping->is_overfull = true;
	mapping->count = count;
	*add_delivery(mapping) = (struct queue_delivery){
		.recipient = recipient,
		.route = QUEUE_ROUTE_NONE,
		.address = mail_envelope_find(mapping->envelope, recipient)->address,
		.outcome = QUEUE_FAIL,
		.status = STR("5.4.6"),
		.text = STR("the message becomes too many deliveries"),
		.changed_us = now_us,
	};
}

bool mapping_add(struct mapping *mapping, const struct ipc_job_target *target, bool too_old,
		 int64_t now_us)
{
	struct arena *arena = mapping->envelope->arena;
	struct queue_delivery *delivery;

	if (!is_acceptable_target(mapping, target))
		return false;
	if (mapping->is_overfull || mapping->count == MAPPING_DELIVERIES_MAX) {
		refuse_recipient(mapping, target->recipient, now_us);
		return true;
	}
	delivery = add_delivery(mapping);
	*delivery = (struct queue_delivery){
		.recipient = target->recipient,
		.route = (enum queue_route)target->route,
		.service = arena_copy_str(arena, target->service),
		.server = arena_copy_str(arena, target->server),
		.address = arena_copy_str(arena, target->address),
		.outcome = outcome_of_status(target->status),
		.status = arena_copy_str(arena, target->status),
		.text = arena_copy_str(arena, target->text),
	};
	if (delivery->outcome != QUEUE_PENDING)
		delivery->changed_us = now_us;
	if (target->status.length == 0 || target->status.data[0] != '4')
		return true;
	mapping->text = delivery->text;
	if (too_old)
		outcome_expire(arena, delivery, now_us);
	else
		mapping->is_unresolved = true;
	return true;
}

static int compare_deliveries(const void *a, const void *b)
{
	const struct queue_delivery *one = a;
	const struct queue_delivery *other = b;

	if (one->recipient != other->recipient)
		return one->recipient < other->recipient ? -1 : 1;
	return one->number < other->number ? -1 : 1;
}

/* Parts may be answered in any order. */
static void sort_deliveries(struct mapping *mapping)
{
	bool is_sorted = true;

	for (size_t i = 0; i < mapping->count; i++) {
		mapping->deliveries[i].number = (uint32_t)i;
		is_sorted &= i == 0 || mapping->deliveries[i - 1].recipient <=
					       mapping->deliveries[i].recipient;
	}
	if (!is_sorted)
		qsort(mapping->deliveries, mapping->count, sizeof *mapping->deliveries,
		      compare_deliveries);
}

/* The only delivery of a recipient keeps the recipient's number; others get new ones. */
void mapping_number(struct mapping *mapping)
{
	const struct mail_envelope *envelope = mapping->envelope;
	uint32_t next = envelope->recipients[envelope->recipient_count - 1].number + 1;

	sort_deliveries(mapping);
	for (size_t i = 0; i < mapping->count; i++) {
		struct queue_delivery *delivery = &mapping->deliveries[i];
		bool is_alone =
			(i == 0 || delivery[-1].recipient != delivery->recipient) &&
			(i + 1 == mapping->count || delivery[1].recipient != delivery->recipient);

		delivery->number = is_alone ? delivery->recipient : next++;
	}
}

bool mapping_is_whole(const struct mapping *mapping)
{
	const struct mail_envelope *envelope = mapping->envelope;
	bool *is_there = memory_alloc_zero(envelope->recipient_count, sizeof *is_there);
	size_t count = 0;

	for (size_t i = 0; i < mapping->count; i++) {
		const struct mail_recipient *recipient =
			mail_envelope_find(envelope, mapping->deliveries[i].recipient);
		bool *is_this = &is_there[recipient - envelope->recipients];

		count += !*is_this;
		*is_this = true;
	}
	free(is_there);
	return count == envelope->recipient_count;
}
