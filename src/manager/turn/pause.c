// SPDX-License-Identifier: ISC
/* Destinations that start no job for a while. */
#include "base/panic.h"
#include "base/timestamp.h"
#include "manager/turn/internal.h"

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

void destination_pause(struct destination *destination, int64_t now_us, int64_t until_us)
{
	struct transport *transport = destination->transport;

	if (until_us <= now_us ||
	    (destination_is_paused(destination) && destination->pause.key <= until_us))
		return;
	heap_put(&transport->pauses, &destination->pause, in_order(transport, until_us));
	destination->is_paused_long = until_us - now_us >= LONG_US;
	destination_update(destination);
}

static void resume(struct destination *destination)
{
	heap_remove(&destination->transport->pauses, &destination->pause);
	destination->is_paused_long = false;
	flow_wake_parked(&destination->retries);
	destination_update(destination);
}

void transport_end_pauses(struct transport *transport, int64_t now_us)
{
	struct heap_node *first;

	while ((first = heap_first(&transport->pauses)) != NULL && first->key <= now_us)
		resume(CONTAINER_OF(first, struct destination, pause));
}
