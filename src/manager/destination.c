// SPDX-License-Identifier: ISC
#include "manager/destination.h"
#include "base/panic.h"
#include "ipc/channel.h"
#include "ipc/job.h"
#include "mail/verp.h"
#include <stdlib.h>

enum {
	FIRST_WINDOW = 8,
	RETRY_TURN = 8,       /* every eighth turn is a retry's */
	CROWDED = 1000,       /* jobs that wait at one destination in memory */
	CROWDED_SHORT = 100,  /* when many messages are awake */
	CROWDED_RETRIES = 50, /* of these */
	UNPARK_AT_ONCE = 50,
};

struct destination *destination_find(struct stage *stage, struct str name)
{
	struct destination *destination;

	HASH_FIND(hh, stage->destinations, name.data, name.length, destination);
	return destination;
}

struct destination *destination_get(struct stage *stage, struct str name)
{
	struct destination *destination = destination_find(stage, name);

	if (destination != NULL)
		return destination;
	destination = memory_alloc_zero(1, sizeof *destination);
	destination->stage = stage;
	destination->window = FIRST_WINDOW;
	destination->name = memory_alloc(name.length + 1);
	memcpy(destination->name, name.data, name.length);
	destination->name[name.length] = '\0';
	HASH_ADD_KEYPTR(hh, stage->destinations, destination->name, name.length, destination);
	return destination;
}

static void destination_free(struct destination *destination)
{
	HASH_DELETE(hh, destination->stage->destinations, destination);
	free(destination->name);
	free(destination);
}

void destination_free_all(struct stage *stage)
{
	while (stage->destinations != NULL)
		destination_free(stage->destinations);
}

/* Memory is shared: the more messages are awake, the fewer may wait in one place. */
static size_t crowd_size(const struct destination *destination)
{
	return wake_many_are_awake(destination->stage->manager) ? CROWDED_SHORT : CROWDED;
}

static uint32_t allowed(const struct destination *destination)
{
	const struct stage *stage = destination->stage;

	if (!stage->is_remote || destination->window > stage->destination_concurrency)
		return stage->destination_concurrency;
	return destination->window;
}

void destination_update(struct destination *destination)
{
	struct stage *stage = destination->stage;
	bool is_ready = destination->waiting > 0 && destination->in_flight < allowed(destination);

	if (is_ready && !destination->is_ready)
		DL_APPEND2(stage->ready, destination, previous, next);
	else if (!is_ready && destination->is_ready)
		DL_DELETE2(stage->ready, destination, previous, next);
	destination->is_ready = is_ready;
	if (destination->waiting <= crowd_size(destination) / 2)
		wake_waiters(stage->manager, &destination->parked, UNPARK_AT_ONCE, false);
	if (destination->waiting_retries <= CROWDED_RETRIES / 2)
		wake_waiters(stage->manager, &destination->parked_retries, UNPARK_AT_ONCE, true);
	if (destination->waiting == 0 && destination->in_flight == 0 &&
	    destination->parked.count == 0 && destination->parked_retries.count == 0 &&
	    destination->blocked == NULL)
		destination_free(destination);
}

/* --- jobs that wait --- */

static struct flow *flow_get(struct destination *destination, struct str sender)
{
	struct flow *flow;

	HASH_FIND(hh, destination->flows, sender.data, sender.length, flow);
	if (flow != NULL)
		return flow;
	flow = memory_alloc_zero(1, sizeof *flow);
	flow->sender = memory_alloc(sender.length + 1);
	memcpy(flow->sender, sender.data, sender.length);
	HASH_ADD_KEYPTR(hh, destination->flows, flow->sender, sender.length, flow);
	DL_APPEND2(destination->turn, flow, previous, next);
	return flow;
}

/* Who has a sender for each recipient has a job for each. */
static struct job *last_with_room(struct job *jobs, const struct message *message, size_t size)
{
	struct job *last = jobs != NULL ? jobs->previous : NULL;

	if (mail_verp_is(message->control->envelope->sender))
		return NULL;
	if (last != NULL && last->message == message &&
	    last->delivery_count < IPC_JOB_RECIPIENTS_MAX &&
	    last->size + size <= IPC_BODY_MAX - IPC_JOB_HEAD_MAX)
		return last;
	return NULL;
}

struct job *destination_add_job(struct destination *destination, struct message *message,
				bool is_retry, size_t size)
{
	struct flow *flow =
		is_retry ? NULL : flow_get(destination, message->control->envelope->sender);
	struct job **jobs = is_retry ? &destination->retries : &flow->jobs;
	struct job *job = last_with_room(*jobs, message, size);

	if (job != NULL)
		return job;
	job = memory_alloc_zero(1, sizeof *job);
	job->message = message;
	job->destination = destination;
	job->is_retry = is_retry;
	job->flow = flow;
	DL_APPEND2(*jobs, job, previous, next);
	destination->waiting++;
	destination->waiting_retries += is_retry;
	message->jobs++;
	return job;
}

void destination_remove_job(struct destination *destination, struct job *job)
{
	struct flow *flow = job->flow;

	destination->waiting--;
	job->flow = NULL;
	if (flow == NULL) {
		destination->waiting_retries--;
		DL_DELETE2(destination->retries, job, previous, next);
		return;
	}
	DL_DELETE2(flow->jobs, job, previous, next);
	if (flow->jobs != NULL)
		return;
	DL_DELETE2(destination->turn, flow, previous, next);
	HASH_DELETE(hh, destination->flows, flow);
	free(flow->sender);
	free(flow);
}

struct job *destination_next_job(struct destination *destination)
{
	struct flow *flow = destination->turn;
	bool is_retries_turn = destination->turns++ % RETRY_TURN == RETRY_TURN - 1;

	if (flow == NULL || (is_retries_turn && destination->retries != NULL))
		return destination->retries;
	DL_DELETE2(destination->turn, flow, previous, next);
	DL_APPEND2(destination->turn, flow, previous, next);
	return flow->jobs;
}

/* --- learning --- */

void destination_learn(struct destination *destination, bool was_reached)
{
	if (was_reached) {
		if (destination->window < destination->stage->destination_concurrency)
			destination->window++;
	} else {
		destination->window = destination->window > 1 ? destination->window / 2 : 1;
	}
}

bool destination_is_crowded(const struct destination *destination, bool for_retry)
{
	return for_retry ? destination->waiting_retries >= CROWDED_RETRIES
			 : destination->waiting >= crowd_size(destination);
}
