// SPDX-License-Identifier: ISC
/* Destinations that start no job for a while. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "manager/turn/internal.h"
#include <stdlib.h>
#include <string.h>

/* Retries do not stay awake for longer, because few messages may be awake to be retried. */
static const int64_t LONG_US = 10 * SECOND_US;

bool destination_is_paused(const struct destination *destination)
{
	return heap_has(&destination->pause);
}

/* Who was paused first comes first among those whose pauses end together. */
static int64_t in_order(struct transport *transport, int64_t until_us)
{
	if (until_us <= transport->last_pause_us &&
	    until_us > transport->last_pause_us - SECOND_US / 1000)
		until_us = transport->last_pause_us + 1;
	transport->last_pause_us = until_us;
	return until_us;
}

static void keep_pause_reason(struct destination *destination, struct str reason)
{
	free(destination->pause_reason);
	destination->pause_reason = memory_alloc(reason.length + 1);
	memcpy(destination->pause_reason, reason.data, reason.length);
	destination->pause_reason[reason.length] = '\0';
}

void destination_pause(struct destination *destination, int64_t now_us,
		       const struct transport_pause_terms *terms)
{
	struct transport *transport = destination->transport;
	int64_t until_us = terms->until_us;

	if (until_us <= now_us ||
	    (destination_is_paused(destination) && destination->pause.key <= until_us))
		return;
	heap_put(&transport->pauses, &destination->pause, in_order(transport, until_us));
	keep_pause_reason(destination, terms->reason);
	destination->is_for_place = terms->is_for_place;
	destination->is_paused_long = until_us - now_us >= LONG_US;
	destination_update(destination);
}

static void resume_destination(struct destination *destination)
{
	heap_remove(&destination->transport->pauses, &destination->pause);
	destination->is_paused_long = false;
	free(destination->pause_reason);
	destination->pause_reason = NULL;
	flow_wake_parked(&destination->retries);
	destination_update(destination);
}

void destination_end_pause_for_place(struct destination *destination)
{
	if (destination_is_paused(destination) && destination->is_for_place)
		resume_destination(destination);
}

void transport_end_pauses(struct transport *transport, int64_t now_us)
{
	struct heap_node *first;

	while ((first = heap_first(&transport->pauses)) != NULL && first->key <= now_us)
		resume_destination(CONTAINER_OF(first, struct destination, pause));
}

static struct transport_pause pause_of(const struct destination *destination, int64_t now_us)
{
	return (struct transport_pause){
		.destination = destination->name[0] != '\0' ? destination->name
							    : destination->transport->name,
		.left_us = destination->pause.key > now_us ? destination->pause.key - now_us : 0,
		.waiting = destination->waiting,
		.reason = destination->pause_reason,
	};
}

bool transport_pause_of(const struct transport *transport, struct str destination, int64_t now_us,
			struct transport_pause *pause_out)
{
	const struct destination *found = destination_find(transport, destination);

	if (transport->is_paused) {
		*pause_out = (struct transport_pause){
			.destination = transport->name,
			.waiting = transport->waiting,
			.reason = "the transport is paused by its setting",
		};
		return true;
	}
	if (found == NULL || !destination_is_paused(found))
		return false;
	*pause_out = pause_of(found, now_us);
	return true;
}

bool transports_pause_of_waiters(const struct transports *transports, const struct waiters *waiters,
				 int64_t now_us, struct transport_pause *pause_out)
{
	const struct destination *destination;
	const struct transport *transport;

	if (waiters == NULL || waiters->owner != transports)
		return false;
	destination = CONTAINER_OF(waiters, struct flow, parked)->destination;
	transport = destination->transport;
	if (transport_pause_of(transport, str_from(destination->name), now_us, pause_out))
		return true;
	*pause_out = (struct transport_pause){
		.destination = destination->name[0] != '\0' ? destination->name : transport->name,
		.waiting = destination->waiting,
		.reason = "there is no room in memory for more of its mail; this message is tried "
			  "when others are done",
	};
	return true;
}

bool transport_next_pause(const struct transport *transport, struct str after, int64_t now_us,
			  struct transport_pause *pause_out)
{
	const struct destination *destination = transport->destinations;

	if (after.length > 0) {
		destination = destination_find(transport, after);
		if (destination != NULL)
			destination = destination->hh.next;
	}
	while (destination != NULL && !destination_is_paused(destination))
		destination = destination->hh.next;
	if (destination == NULL)
		return false;
	*pause_out = pause_of(destination, now_us);
	return true;
}
