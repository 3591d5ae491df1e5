// SPDX-License-Identifier: ISC
#include "deliver/local/hand.h"
#include "base/panic.h"
#include "os/clock.h"
#include "os/worker.h"
#include <pthread.h>
#include <stdlib.h>

struct local_hand {
	struct local_writer *writer;
	struct os_worker *worker;
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
static bool next_owner(struct local_hand *hand)
{
	const struct os_process_user *owners = hand->group.owners;

	hand->first = hand->end;
	if (hand->first >= hand->limit)
		return false;
	hand->end = hand->first + 1;
	while (hand->end < hand->limit && is_same_owner(&owners[hand->first], &owners[hand->end]))
		hand->end++;
	hand->since_us = os_clock_monotonic_us();
	return true;
}

/* Owner by owner. */
static void deliver_owners_in_thread(void *context)
{
	struct local_hand *hand = context;

	pthread_mutex_lock(&hand->mutex);
	while (next_owner(hand)) {
		size_t first = hand->first;
		size_t count = hand->end - first;

		pthread_mutex_unlock(&hand->mutex);
		local_writer_deliver(hand->writer, &hand->group.owners[first],
				     &hand->group.deliveries[first], count);
		pthread_mutex_lock(&hand->mutex);
	}
	pthread_mutex_unlock(&hand->mutex);
}

static void destroy_delivery_thread(struct local_hand *hand)
{
	pthread_mutex_destroy(&hand->mutex);
	local_writer_free(hand->writer);
	free(hand);
}

int local_hand_new(struct os_wakeup *wakeup, struct local_hand **hand_out)
{
	struct local_hand *hand = memory_alloc_zero(1, sizeof *hand);
	int error;

	pthread_mutex_init(&hand->mutex, NULL);
	error = os_worker_new(deliver_owners_in_thread, hand, wakeup, &hand->worker);
	if (error == 0)
		*hand_out = hand;
	else
		destroy_delivery_thread(hand);
	return error;
}

void local_hand_free(struct local_hand *hand)
{
	os_worker_free(hand->worker);
	destroy_delivery_thread(hand);
}

void local_hand_give(struct local_hand *hand, struct local_writer *writer,
		     const struct local_group *group)
{
	if (hand->writer != writer)
		local_writer_free(hand->writer);
	hand->writer = writer;
	hand->group = *group;
	hand->limit = group->count;
	hand->first = 0;
	hand->end = 0;
	hand->since_us = os_clock_monotonic_us();
	os_worker_start(hand->worker);
}

bool local_hand_is_done(struct local_hand *hand)
{
	return !os_worker_is_busy(hand->worker);
}

/* With the mutex held. */
static bool is_at_owner(const struct local_hand *hand)
{
	return hand->first < hand->end && hand->group.owners[hand->first].change;
}

bool local_hand_owner(struct local_hand *hand, size_t *index_out)
{
	bool is_at_one;

	pthread_mutex_lock(&hand->mutex);
	is_at_one = is_at_owner(hand);
	if (is_at_one)
		*index_out = hand->first;
	pthread_mutex_unlock(&hand->mutex);
	return is_at_one;
}

bool local_hand_take_back(struct local_hand *hand, int64_t before_us, size_t *first_out,
			  size_t *end_out)
{
	bool is_taken;

	pthread_mutex_lock(&hand->mutex);
	is_taken = is_at_owner(hand) && hand->since_us <= before_us;
	if (is_taken) {
		hand->limit = hand->end;
		*first_out = hand->first;
		*end_out = hand->end;
	}
	pthread_mutex_unlock(&hand->mutex);
	return is_taken;
}
