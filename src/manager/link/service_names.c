// SPDX-License-Identifier: ISC
#include "manager/link/service_names.h"
#include "log/event.h"
#include "manager/outcome.h"
#include "queue/update.h"
#include <stdio.h>

static bool is_at_place(const struct queue_delivery *delivery, const struct queue_delivery *other)
{
	return delivery->route == other->route && (delivery->route != QUEUE_ROUTE_LOCAL ||
						   str_equal(delivery->service, other->service));
}

static bool is_any_open_at_place(const struct queue_control *control,
				 const struct queue_delivery *place)
{
	for (size_t i = 0; i < control->delivery_count; i++)
		if (is_at_place(&control->deliveries[i], place) &&
		    outcome_is_open(&control->deliveries[i]))
			return true;
	return false;
}

static void leave_place(struct queue_store *store, const struct queue_control *control,
			const struct queue_delivery *delivery)
{
	char service[QUEUE_SERVICE_MAX + 1];
	int error;

	snprintf(service, sizeof service, STR_FORMAT, STR_ARGUMENTS(delivery->service));
	error = queue_update_leave(store, control->envelope->id.number,
				   delivery->route == QUEUE_ROUTE_REMOTE ? NULL : service);
	if (error < 0)
		log_event(EVENT_QUEUE_ERROR, log_id(control->envelope->id),
			  log_string(operation, "leave"), log_error(error));
}

/* Whether DELIVERY was the last open one at its place: it is decided, and no other is open. */
static bool has_left(const struct queue_control *control, const struct queue_delivery *delivery)
{
	return !outcome_is_open(delivery) && delivery->route != QUEUE_ROUTE_NONE &&
	       !is_any_open_at_place(control, delivery);
}

void service_names_remove_finished(struct queue_store *store, const struct queue_control *control,
				   const unsigned char *news)
{
	const struct queue_delivery *deliveries = control->deliveries;

	for (size_t i = 0; i < control->delivery_count; i++) {
		bool is_first = news[i] != 0;

		for (size_t j = 0; is_first && j < i; j++)
			is_first = news[j] == 0 || !is_at_place(&deliveries[j], &deliveries[i]) ||
				   outcome_is_open(&deliveries[j]);
		if (is_first && has_left(control, &deliveries[i]))
			leave_place(store, control, &deliveries[i]);
	}
}

void service_names_remove_former(struct queue_store *store, const struct queue_control *control,
				 const struct queue_delivery *former, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool is_first = former[i].route != QUEUE_ROUTE_NONE;

		for (size_t j = 0; is_first && j < i; j++)
			is_first = !is_at_place(&former[j], &former[i]);
		if (is_first && !is_any_open_at_place(control, &former[i]))
			leave_place(store, control, &former[i]);
	}
}
