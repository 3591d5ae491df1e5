// SPDX-License-Identifier: ISC
/* A domain or a service: which of its flows is next, and what was learnt about it. */
#include "base/panic.h"
#include "manager/turn/internal.h"
#include <stdlib.h>

enum {
	FIRST_WINDOW = 2,
	RETRY_TURN = 8,    /* every eighth turn is for retries */
	ORDINARY_TURN = 3, /* of eight: ordinary mail goes before urgent mail */
	LOW_ROUND = 32,
	LOW_TURN = 11, /* of 32, instead: what can wait does */
};

static const int64_t FAST_US = 1000000;

struct destination *destination_find(const struct transport *transport, struct str name)
{
	struct destination *destination;

	HASH_FIND(hh, transport->destinations, name.data, name.length, destination);
	return destination;
}

struct destination *destination_get(struct transport *transport, struct str name)
{
	struct destination *destination = destination_find(transport, name);

	if (destination != NULL)
		return destination;
	destination = memory_alloc_zero(1, sizeof *destination);
	destination->transport = transport;
	destination->window = FIRST_WINDOW;
	destination->is_host = name.length > 0;
	destination->speed = destination->is_host ? SPEED_NEW : SPEED_FAST;
	destination->retries = (struct flow){.key = FLOW_RETRIES, .destination = destination};
	destination->name = memory_alloc(name.length + 1);
	memcpy(destination->name, name.data, name.length);
	destination->name[name.length] = '\0';
	HASH_ADD_KEYPTR(hh, transport->destinations, destination->name, name.length, destination);
	return destination;
}

static uint32_t jobs_allowed_to_destination(const struct destination *destination)
{
	const struct transport *transport = destination->transport;

	if (!destination->is_host)
		return transport->concurrency;
	return destination->window < transport->destination_concurrency
		       ? destination->window
		       : transport->destination_concurrency;
}

/* --- rings --- */

static void set_ready(struct destination *destination, bool is_ready)
{
	struct destination **ring = &destination->transport->ready[destination->speed];

	if (is_ready && !destination->is_ready)
		DL_APPEND2(*ring, destination, previous, next);
	else if (!is_ready && destination->is_ready)
		DL_DELETE2(*ring, destination, previous, next);
	destination->is_ready = is_ready;
}

static void set_idle(struct destination *destination, bool is_idle)
{
	struct transport *transport = destination->transport;

	if (is_idle && !destination->is_idle) {
		DL_APPEND2(transport->idle, destination, previous, next);
		transport->idle_count++;
	} else if (!is_idle && destination->is_idle) {
		DL_DELETE2(transport->idle, destination, previous, next);
		transport->idle_count--;
	}
	destination->is_idle = is_idle;
}

void destination_update(struct destination *destination)
{
	bool is_idle = destination->waiting == 0 && destination->in_flight == 0 &&
		       destination->flows == NULL && destination->retries.parked.count == 0 &&
		       !destination->retries.is_starved && /* a message is about to sleep there */
		       destination->obstacle == NULL && !heap_has(&destination->pause);

	set_idle(destination, false);
	set_ready(destination,
		  destination->waiting > 0 && !heap_has(&destination->pause) &&
			  destination->in_flight < jobs_allowed_to_destination(destination));
	set_idle(destination, is_idle);
}

void destination_free(struct destination *destination)
{
	struct flow *flow;
	struct flow *next;

	set_ready(destination, false);
	set_idle(destination, false);
	heap_remove(&destination->transport->pauses, &destination->pause);
	HASH_ITER (hh, destination->flows, flow, next) {
		HASH_DELETE(hh, destination->flows, flow);
		free(flow);
	}
	HASH_DELETE(hh, destination->transport->destinations, destination);
	free(destination->pause_reason);
	free(destination->name);
	free(destination);
}

/* --- flows --- */

struct flow *destination_flow(struct destination *destination, uint32_t key)
{
	struct flow *flow;

	if (key == FLOW_RETRIES)
		return &destination->retries;
	HASH_FIND(hh, destination->flows, &key, sizeof key, flow);
	if (flow != NULL)
		return flow;
	flow = memory_alloc_zero(1, sizeof *flow);
	flow->key = key;
	flow->destination = destination;
	HASH_ADD(hh, destination->flows, key, sizeof flow->key, flow);
	return flow;
}

void destination_forget_flow(struct destination *destination, struct flow *flow)
{
	if (flow == &destination->retries || !flow_is_empty(flow))
		return;
	flow_stop_starving(flow);
	HASH_DELETE(hh, destination->flows, flow);
	free(flow);
}

void destination_sweep(struct destination *destination)
{
	struct flow *flow;
	struct flow *next;

	destination->retries.expected = 0;
	flow_wake_parked(&destination->retries);
	if (destination->retries.parked.count == 0)
		flow_stop_starving(&destination->retries);
	HASH_ITER (hh, destination->flows, flow, next) {
		flow->expected = 0;
		flow_wake_parked(flow);
		destination_forget_flow(destination, flow);
	}
	destination_update(destination);
}

/* Which mail is first in a turn: none is passed over for ever. */
static enum urgency first_urgency(unsigned turn)
{
	if (turn % RETRY_TURN != ORDINARY_TURN)
		return URGENCY_HIGH;
	return turn % LOW_ROUND == LOW_TURN ? URGENCY_LOW : URGENCY_ORDINARY;
}

/* The ring whose turn it is; NULL: no new mail waits. */
static struct flow **next_ring(struct destination *destination, unsigned turn)
{
	enum urgency first = first_urgency(turn);

	for (unsigned i = 0; i < URGENCIES; i++) {
		struct flow **ring = &destination->turn[(first + i) % URGENCIES];

		if (*ring != NULL)
			return ring;
	}
	return NULL;
}

struct job *destination_next_job(struct destination *destination)
{
	unsigned turn = destination->turns++;
	struct flow **ring = next_ring(destination, turn);
	bool is_retrys_turn = turn % RETRY_TURN == RETRY_TURN - 1;
	struct flow *flow;

	if (ring == NULL || (is_retrys_turn && destination->retries.jobs != NULL))
		return destination->retries.jobs;
	flow = *ring;
	DL_DELETE2(*ring, flow, previous, next);
	DL_APPEND2(*ring, flow, previous, next);
	return flow->jobs;
}

/* --- learning --- */

void destination_set_speed(struct destination *destination, enum speed speed)
{
	struct transport *transport = destination->transport;
	bool was_ready = destination->is_ready;

	if (!destination->is_host || destination->speed == speed)
		return;
	set_ready(destination, false);
	transport->in_flight_by[destination->speed] -= destination->in_flight;
	destination->speed = speed;
	transport->in_flight_by[speed] += destination->in_flight;
	set_ready(destination, was_ready);
}

void destination_learn(struct destination *destination, bool was_reached, int64_t took_us)
{
	if (took_us >= SLOW_US)
		destination_set_speed(destination, SPEED_SLOW);
	else if (was_reached && (destination->speed == SPEED_NEW || took_us < FAST_US))
		destination_set_speed(destination, SPEED_FAST);
	if (!was_reached)
		destination->window = destination->window > 1 ? destination->window / 2 : 1;
	else if (destination->window < destination->transport->destination_concurrency)
		destination->window++;
}

void destination_block(struct destination *destination, const void *obstacle)
{
	struct transports *transports = destination->transport->transports;
	struct blockade *blockade;

	if (destination->obstacle != NULL)
		return;
	HASH_FIND(hh, transports->blockades, &obstacle, sizeof obstacle, blockade);
	if (blockade == NULL) {
		blockade = memory_alloc_zero(1, sizeof *blockade);
		blockade->obstacle = obstacle;
		HASH_ADD(hh, transports->blockades, obstacle, sizeof blockade->obstacle, blockade);
	}
	destination->obstacle = obstacle;
	DL_APPEND2(blockade->blocked, destination, blocked_previous, blocked_next);
	destination_update(destination);
}

void destination_unblock(struct destination *destination)
{
	struct transports *transports = destination->transport->transports;
	struct blockade *blockade;

	HASH_FIND(hh, transports->blockades, &destination->obstacle, sizeof destination->obstacle,
		  blockade);
	DL_DELETE2(blockade->blocked, destination, blocked_previous, blocked_next);
	if (blockade->blocked == NULL) {
		HASH_DELETE(hh, transports->blockades, blockade);
		free(blockade);
	}
	destination->obstacle = NULL;
	destination_update(destination);
}
