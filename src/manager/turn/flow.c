// SPDX-License-Identifier: ISC
/* The mail of one sender to one destination: jobs that wait, and messages for which there was no
 * room. */
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "manager/turn/internal.h"
#include <stdlib.h>

enum {
	FLOW_RETRIES_MAX = 64, /* jobs that wait in the retry flow of a destination */
	WAKE_AT_ONCE = 50,
	UNITS_TYPICAL = SHARE_UNITS_MESSAGE + 1, /* of a job */
};

static bool is_retries(const struct flow *flow)
{
	return flow->key == FLOW_RETRIES;
}

uint32_t flow_key(struct str sender, enum urgency urgency)
{
	uint32_t hash = 2166136261U; /* FNV-1a */

	for (size_t i = 0; i < sender.length; i++)
		hash = (hash ^ (unsigned char)sender.data[i]) * 16777619U;
	return urgency * FLOWS + hash % FLOWS;
}

enum urgency flow_urgency(const struct flow *flow)
{
	return (enum urgency)(flow->key / FLOWS);
}

/* --- room --- */

/* The limit of its units. */
static size_t limit_of(const struct flow *flow)
{
	size_t free = room_in_destination(flow->destination);

	if (is_retries(flow) &&
	    (flow->destination->is_paused_long || flow->destination->transport->is_paused))
		return 0;
	if (is_retries(flow))
		return free > 0 ? (size_t)FLOW_RETRIES_MAX * UNITS_TYPICAL : 0;
	return free;
}

bool flow_has_room(const struct flow *flow)
{
	return flow->units < limit_of(flow);
}

bool flow_is_empty(const struct flow *flow)
{
	return flow->waiting == 0 && flow->parked.count == 0;
}

void flow_stop_starving(struct flow *flow)
{
	struct transport *transport = flow->destination->transport;

	if (!flow->is_starved)
		return;
	DL_DELETE2(transport->starved, flow, starved_previous, starved_next);
	flow->is_starved = false;
}

static void starve_flow(struct flow *flow)
{
	struct transport *transport = flow->destination->transport;

	if (flow->is_starved)
		return;
	DL_APPEND2(transport->starved, flow, starved_previous, starved_next);
	flow->is_starved = true;
}

void flow_park(struct flow *flow)
{
	if (flow->expected > 0)
		flow->expected--;
	if (flow->waiting == 0)
		starve_flow(flow);
}

/* Not one by one: half of what it may hold must be free. */
void flow_wake_parked(struct flow *flow)
{
	struct transports *transports = flow->destination->transport->transports;
	size_t limit = limit_of(flow);
	size_t count;

	if (flow->parked.count == 0 || flow->units > limit / 2)
		return;
	count = (limit - flow->units + UNITS_TYPICAL - 1) / UNITS_TYPICAL;
	if (count > WAKE_AT_ONCE)
		count = WAKE_AT_ONCE;
	if (count <= flow->expected)
		return;
	count -= flow->expected;
	if (count > flow->parked.count)
		count = flow->parked.count; /* no more will come */
	flow->expected += count;
	transports->handler->has_room(transports->context, &flow->parked, count, is_retries(flow));
}

/* --- jobs --- */

size_t job_units(const struct job *job)
{
	return share_of_message(job->delivery_count);
}

struct job *flow_find_job(struct flow *flow, const struct transport_delivery *delivery)
{
	struct job *last = flow->jobs != NULL ? flow->jobs->previous : NULL;

	if (last == NULL || last->message != delivery->message || last->apart != delivery->apart ||
	    last->delivery_count >= IPC_JOB_RECIPIENTS_MAX ||
	    last->size + delivery->size > IPC_BODY_MAX - IPC_JOB_HEAD_MAX)
		return NULL;
	return last;
}

static void add_units(struct flow *flow, size_t units)
{
	flow->units += units;
	flow->destination->units += units;
	flow->destination->transport->units += units;
}

static void remove_units(struct flow *flow, size_t units)
{
	flow->units -= units;
	flow->destination->units -= units;
	flow->destination->transport->units -= units;
}

void job_add_delivery(struct job *job, const struct transport_delivery *delivery)
{
	if ((job->delivery_count & (job->delivery_count - 1)) == 0)
		job->deliveries =
			memory_resize(job->deliveries, (size_t)(job->delivery_count + 1) * 2 *
							       sizeof(*job->deliveries));
	job->deliveries[job->delivery_count++] = (struct job_delivery){.index = delivery->index};
	job->size += delivery->size;
	add_units(job->flow, 1);
}

/* FLOW gets one more job, whose units are counted already. */
static void enter_flow(struct flow *flow, struct job *job, bool is_first)
{
	struct destination *destination = flow->destination;

	if (flow->jobs == NULL && !is_retries(flow))
		DL_APPEND2(destination->turn[flow_urgency(flow)], flow, previous, next);
	if (is_first)
		DL_PREPEND2(flow->jobs, job, previous, next);
	else
		DL_APPEND2(flow->jobs, job, previous, next);
	job->flow = flow;
	if (job->look_us > 0)
		heap_put(&destination->transport->transports->looks, &job->look, job->look_us);
	flow->waiting++;
	destination->waiting++;
	destination->transport->waiting++;
	flow_stop_starving(flow);
}

/* If others come first, so do other flows. */
void flow_return_job(struct flow *flow, struct job *job, bool is_first)
{
	struct destination *destination = flow->destination;

	add_units(flow, job_units(job));
	enter_flow(flow, job, is_first);
	if (is_first || is_retries(flow))
		return;
	DL_DELETE2(destination->turn[flow_urgency(flow)], flow, previous, next);
	DL_APPEND2(destination->turn[flow_urgency(flow)], flow, previous, next);
}

struct job *flow_add_job(struct flow *flow, const struct transport_delivery *delivery)
{
	struct job *job = memory_alloc_zero(1, sizeof *job);

	job->message = delivery->message;
	job->flow = flow;
	job->key = flow->key;
	job->destination = flow->destination;
	job->apart = delivery->apart;
	job->look_us = delivery->look_us;
	add_units(flow, SHARE_UNITS_MESSAGE);
	job_add_delivery(job, delivery);
	if (flow->expected > 0)
		flow->expected--;
	enter_flow(flow, job, false);
	return job;
}

void flow_remove_job(struct flow *flow, struct job *job)
{
	struct destination *destination = flow->destination;

	DL_DELETE2(flow->jobs, job, previous, next);
	if (flow->jobs == NULL && !is_retries(flow))
		DL_DELETE2(destination->turn[flow_urgency(flow)], flow, previous, next);
	remove_units(flow, job_units(job));
	heap_remove(&destination->transport->transports->looks, &job->look);
	flow->waiting--;
	destination->waiting--;
	destination->transport->waiting--;
	job->flow = NULL;
	flow_wake_parked(flow);
	if (flow->waiting == 0 && flow->parked.count > 0)
		starve_flow(flow);
}

void job_free(struct job *job)
{
	free(job->deliveries);
	free(job);
}
