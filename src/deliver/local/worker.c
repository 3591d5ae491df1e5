// SPDX-License-Identifier: ISC
#include "deliver/local/worker.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/worker.h"
#include <pthread.h>
#include <stdlib.h>

struct local_worker {
	struct local_writer *writer;
	struct os_worker *thread;
	pthread_mutex_t mutex; /* guards what follows */
	struct local_group group;
	size_t limit;     /* of the group: deliveries from here on were taken back */
	size_t first;     /* first delivery of the current owner */
	size_t end;       /* after his last one */
	int64_t since_us; /* when the current owner's began */
};

static bool is_same_owner(const struct os_process_user *a, const struct os_process_user *b)
{
	return a->change == b->change && a->uid == b->uid && a->gid == b->gid &&
	       a->keeps_groups == b->keeps_groups;
}

/* Goes to the next owner's deliveries; false at the end. With the mutex held. */
static bool next_owner(struct local_worker *worker)
{
	const struct os_process_user *owners = worker->group.owners;

	worker->first = worker->end;
	if (worker->first >= worker->limit)
		return false;
	worker->end = worker->first + 1;
	while (worker->end < worker->limit &&
	       is_same_owner(&owners[worker->first], &owners[worker->end]))
		worker->end++;
	worker->since_us = os_clock_monotonic_us();
	return true;
}

/* Owner by owner. */
static void deliver_owners_in_thread(void *context)
{
	struct local_worker *worker = context;

	pthread_mutex_lock(&worker->mutex);
	while (next_owner(worker)) {
		size_t first = worker->first;
		size_t count = worker->end - first;

		pthread_mutex_unlock(&worker->mutex);
		local_writer_deliver(worker->writer, &worker->group.owners[first],
				     &worker->group.deliveries[first], count);
		pthread_mutex_lock(&worker->mutex);
	}
	pthread_mutex_unlock(&worker->mutex);
}

static void destroy_delivery_thread(struct local_worker *worker)
{
	pthread_mutex_destroy(&worker->mutex);
	local_writer_free(worker->writer);
	free(worker);
}

int local_worker_new(struct os_wakeup *wakeup, struct local_worker **hand_out)
{
	struct local_worker *worker = memory_alloc_zero(1, sizeof *worker);
	int error;

	pthread_mutex_init(&worker->mutex, NULL);
	error = os_worker_new(deliver_owners_in_thread, worker, wakeup, &worker->thread);
	if (error == 0)
		*hand_out = worker;
	else
		destroy_delivery_thread(worker);
	return error;
}

void local_worker_free(struct local_worker *worker)
{
	os_worker_free(worker->thread);
	destroy_delivery_thread(worker);
}

void local_worker_give(struct local_worker *worker, struct local_writer *writer,
		       const struct local_group *group)
{
	if (worker->writer != writer)
		local_writer_free(worker->writer);
	worker->writer = writer;
	worker->group = *group;
	worker->limit = group->count;
	worker->first = 0;
	worker->end = 0;
	worker->since_us = os_clock_monotonic_us();
	os_worker_start(worker->thread);
}

bool local_worker_is_done(struct local_worker *worker)
{
	return !os_worker_is_busy(worker->thread);
}

/* With the mutex held. */
static bool is_at_owner(const struct local_worker *worker)
{
	return worker->first < worker->end && worker->group.owners[worker->first].change;
}

bool local_worker_owner(struct local_worker *worker, size_t *index_out)
{
	bool is_at_one;

	pthread_mutex_lock(&worker->mutex);
	is_at_one = is_at_owner(worker);
	if (is_at_one)
		*index_out = worker->first;
	pthread_mutex_unlock(&worker->mutex);
	return is_at_one;
}

bool local_worker_take_back(struct local_worker *worker, int64_t before_us, size_t *first_out,
			    size_t *end_out)
{
	bool is_taken;

	pthread_mutex_lock(&worker->mutex);
	is_taken = is_at_owner(worker) && worker->since_us <= before_us;
	if (is_taken) {
		worker->limit = worker->end;
		*first_out = worker->first;
		*end_out = worker->end;
	}
	pthread_mutex_unlock(&worker->mutex);
	return is_taken;
}
