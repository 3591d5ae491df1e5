// SPDX-License-Identifier: ISC
#include "manager/turn/transport.h"
#include "base/panic.h"
#include "manager/turn/internal.h"
#include <stdlib.h>
#include <string.h>

enum { STARVED_A_TURN = 4, IDLE_MAX = 4096 };

const char *transport_name(const struct transport *transport)
{
	return transport->name;
}

bool transport_is_remote(const struct transport *transport)
{
	return transport->is_remote;
}

unsigned transport_skip(const struct transport *transport)
{
	return transport->skip;
}

struct transport *job_transport(const struct job *job)
{
	return job->destination->transport;
}

const char *job_destination(const struct job *job)
{
	return job->destination->name;
}

struct transport_turn job_turn(const struct job *job)
{
	const struct destination *destination = job->destination;

	return (struct transport_turn){
		.destination = destination->name[0] != '\0' ? destination->name
							    : destination->transport->name,
		.in_flight = destination->in_flight,
		.waiting = destination->waiting,
	};
}

bool job_waits(const struct job *job)
{
	return job->flow != NULL;
}

/* --- waiting --- */

static uint32_t key_of_flow(const struct transport_delivery *delivery)
{
	return delivery->is_retry ? (uint32_t)FLOW_RETRIES
				  : flow_key(delivery->sender, delivery->urgency);
}

int transport_add(struct transport *transport, const struct transport_delivery *delivery,
		  struct job **job_out, struct waiters **waiters_out)
{
	struct destination *destination = destination_get(transport, delivery->destination);
	struct flow *flow = destination_flow(destination, key_of_flow(delivery));
	struct job *job = flow_find_job(flow, delivery);
	bool is_new = job == NULL;

	if (!is_new) {
		job_add_delivery(job, delivery);
	} else if (flow_has_room(flow)) {
		job = flow_add_job(flow, delivery);
	} else {
		flow_park(flow);
		flow->parked.owner = transport->transports;
		*waiters_out = &flow->parked;
		destination_update(destination);
		return -1;
	}
	destination_update(destination);
	*job_out = job;
	return is_new;
}

void transport_join(struct transport *transport, const struct transport_delivery *delivery)
{
	struct destination *destination = destination_find(transport, delivery->destination);
	struct job *job = NULL;

	if (destination != NULL)
		job = flow_find_job(&destination->retries, delivery);
	if (job == NULL)
		return;
	job_add_delivery(job, delivery);
	destination_update(destination);
}

const void *transport_obstacle(const struct transport *transport, struct str name)
{
	const struct destination *destination = destination_find(transport, name);

	return destination != NULL ? destination->obstacle : NULL;
}

/* When another job has left: wakes flows that have parked messages but no jobs, a few in turn. */
static void feed_starved(struct transport *transport)
{
	for (unsigned i = 0; i < STARVED_A_TURN && transport->starved != NULL; i++) {
		struct flow *flow = transport->starved;

		DL_DELETE2(transport->starved, flow, starved_previous, starved_next);
		DL_APPEND2(transport->starved, flow, starved_previous, starved_next);
		flow_wake_parked(flow);
		if (flow->parked.count == 0)
			flow_stop_starving(flow);
		if (transport->starved == flow)
			break;
	}
}

void transport_trim(struct transport *transport)
{
	while (transport->idle_count > IDLE_MAX)
		destination_free(transport->idle);
}

/* --- places --- */

static bool may_start(const struct transport *transport, enum speed speed)
{
	uint32_t places = transport->concurrency;
	uint32_t slow_max = places > 1 ? places / 2 : 1;
	uint32_t doubtful =
		transport->in_flight_by[SPEED_SLOW] + transport->in_flight_by[SPEED_NEW];

	if (transport->ready[speed] == NULL)
		return false;
	if (speed == SPEED_SLOW && transport->in_flight_by[SPEED_SLOW] >= slow_max)
		return false;
	return speed == SPEED_FAST || doubtful < places - places / 4;
}

/* The speed whose destinations are next; SPEEDS: none. */
static enum speed choose_speed(const struct transport *transport)
{
	static const enum speed turns[] = {SPEED_FAST, SPEED_NEW, SPEED_FAST, SPEED_SLOW};
	enum speed first = turns[transport->turns % COUNT_OF(turns)];

	if (may_start(transport, first))
		return first;
	for (enum speed speed = SPEED_FAST; speed < SPEEDS; speed++)
		if (may_start(transport, speed))
			return speed;
	return SPEEDS;
}

/* Destinations with a job in flight for that long are slow. */
static void notice_slow(struct transport *transport, int64_t now_us)
{
	while (transport->young != NULL && now_us - transport->young->started_us >= SLOW_US) {
		struct job *job = transport->young;

		DL_DELETE2(transport->young, job, previous, next);
		DL_APPEND2(transport->old, job, previous, next);
		job->is_old = true;
		destination_set_speed(job->destination, SPEED_SLOW);
	}
}

bool transport_is_ready(struct transport *transport, int64_t now_us)
{
	notice_slow(transport, now_us);
	transport_end_pauses(transport, now_us);
	return !transport->is_paused && transport->in_flight < transport->concurrency &&
	       choose_speed(transport) != SPEEDS;
}

struct job *transport_start(struct transport *transport, int64_t now_us)
{
	enum speed speed = choose_speed(transport);
	struct destination *destination = transport->ready[speed];
	struct job *job = destination_next_job(destination);
	struct flow *flow = job->flow;

	transport->turns++;
	/* to the end of the ring: the others come first now */
	DL_DELETE2(transport->ready[speed], destination, previous, next);
	DL_APPEND2(transport->ready[speed], destination, previous, next);
	destination->in_flight++;
	transport->in_flight++;
	transport->in_flight_by[destination->speed]++;
	flow_remove_job(flow, job);
	destination_forget_flow(destination, flow);
	job->started_us = now_us;
	DL_APPEND2(transport->young, job, previous, next);
	destination_update(destination);
	feed_starved(transport);
	return job;
}

int64_t transport_look_again_us(const struct transport *transport)
{
	const struct heap_node *pause = heap_first(&transport->pauses);
	int64_t pause_us = pause != NULL ? pause->key : INT64_MAX;
	int64_t slow_us;
	bool has_ready = false;

	for (enum speed speed = SPEED_FAST; speed < SPEEDS; speed++)
		has_ready |= transport->ready[speed] != NULL;
	if (!has_ready || transport->young == NULL)
		return pause_us;
	slow_us = transport->young->started_us + SLOW_US;
	return slow_us < pause_us ? slow_us : pause_us;
}

static void leave_flight(struct job *job)
{
	struct destination *destination = job->destination;
	struct transport *transport = destination->transport;

	if (job->is_old)
		DL_DELETE2(transport->old, job, previous, next);
	else
		DL_DELETE2(transport->young, job, previous, next);
	destination->in_flight--;
	transport->in_flight--;
	transport->in_flight_by[destination->speed]--;
}

void transport_pause(struct job *job, int64_t now_us, const struct transport_pause_terms *terms)
{
	struct destination *destination = job->destination;

	leave_flight(job);
	if (terms->is_for_place && destination->in_flight > 0)
		destination->window = destination->in_flight; /* as many as have a place */
	job->is_old = false;
	job->started_us = 0;
	flow_return_job(destination_flow(destination, job->key), job, !terms->is_last);
	destination_pause(destination, now_us, terms);
	destination_update(destination);
	feed_starved(destination->transport);
}

struct job *job_to_sleep_beside(const struct job *job)
{
	struct job *first = job->destination->retries.jobs;

	if (!job->destination->is_paused_long)
		return NULL;
	return first == job && job->next != NULL ? job->next : first;
}

void transport_job_ended(struct job *job, int64_t now_us)
{
	struct destination *destination = job->destination;
	struct transport *transport = destination->transport;
	struct flow *flow = job->flow;

	if (flow == NULL) {
		leave_flight(job);
		if (!job->is_held)
			destination_learn(destination, !job->is_unreached,
					  now_us - job->started_us);
	} else {
		flow_remove_job(flow, job);
		destination_forget_flow(destination, flow);
	}
	job_free(job);
	destination_end_pause_for_place(destination);
	destination_update(destination);
	feed_starved(transport);
	transport_trim(transport);
}

/* --- obstacles --- */

void transport_block(struct job *job, const void *obstacle)
{
	destination_block(job->destination, obstacle);
}

const void *job_obstacle(const struct job *job)
{
	return job->destination->obstacle;
}

void transports_unblock(struct transports *transports, const void *obstacle)
{
	struct blockade *blockade;

	HASH_FIND(hh, transports->blockades, &obstacle, sizeof obstacle, blockade);
	while (blockade != NULL) {
		bool is_last = blockade->blocked->blocked_next == NULL;

		destination_unblock(blockade->blocked);
		if (is_last)
			return;
	}
}

static struct job *waiting_at(const struct destination *destination)
{
	for (unsigned i = 0; i < URGENCIES; i++)
		if (destination->turn[i] != NULL)
			return destination->turn[i]->jobs;
	return destination->retries.jobs;
}

struct job *job_waiting_beside(const struct job *job)
{
	return waiting_at(job->destination);
}

static struct job *waiting_in(const struct transport *transport)
{
	struct destination *destination;
	struct destination *next;

	for (enum speed speed = SPEED_FAST; speed < SPEEDS; speed++)
		if (transport->ready[speed] != NULL)
			return waiting_at(transport->ready[speed]);
	if (transport->waiting == 0)
		return NULL;
	HASH_ITER (hh, transport->destinations, destination, next)
		if (destination->waiting > 0)
			return waiting_at(destination);
	return NULL;
}

struct job *transports_waiting(struct transports *transports)
{
	struct job *job = NULL;

	for (const struct transport *t = transports->first; job == NULL && t != NULL; t = t->next)
		job = waiting_in(t);
	return job;
}

struct job *transports_retired_waiting(struct transports *transports)
{
	struct job *job = NULL;

	for (const struct transport *t = transports->first; job == NULL && t != NULL; t = t->next)
		if (t->is_retired)
			job = waiting_in(t);
	return job;
}

struct transport_counts transport_count(const struct transport *transport)
{
	return (struct transport_counts){transport->waiting, transport->in_flight,
					 HASH_COUNT(transport->destinations)};
}
