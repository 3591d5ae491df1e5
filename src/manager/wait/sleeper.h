// SPDX-License-Identifier: ISC
/*
 * manager/wait/sleeper.h - the messages that sleep: a number, a time, and what else
 * they wait for. No more of them is in memory, so that a million cost about
 * 65 bytes each; all else is read from the control file when they wake.
 *
 * Found by number, by time, and by the list in which they wait. No step takes
 * long, however many there are: tables grow by a bucket or a chunk at a time.
 */
#ifndef MANAGER_WAIT_SLEEPER_H
#define MANAGER_WAIT_SLEEPER_H

#include "manager/wait/facts.h"
#include <stddef.h>
#include <stdint.h>

/* Sleepers that wait for something, in order of arrival. Storage of the caller,
 * zeroed at first; it stays where it is while anybody waits. */
struct waiters {
	uint32_t first, last; /* 0: none */
	size_t count;
	const void *owner; /* whoever made it: to tell his from others' */
};

struct sleeper {
	uint64_t number;
	int64_t due_us;
	struct waiters *waiters; /* NULL, or the list it is in */
	/* of sleeper.c: */
	uint32_t index;
	uint32_t bucket_next; /* also of the free ones */
	uint32_t wait_next, wait_previous;
	uint32_t heap_position; /* 0: not in the heap */
	struct message_facts facts;
};

struct sleepers {
	struct sleeper **chunks;
	uint32_t chunk_count;
	uint32_t free; /* list of those not in use */
	uint32_t *buckets;
	uint32_t bucket_count; /* in use; it grows by one at a time */
	uint32_t bucket_capacity;
	uint32_t *heap; /* heap[1] is due first */
	uint32_t heap_count;
	uint32_t heap_capacity;
	size_t count;
};

struct sleeper *sleepers_find(const struct sleepers *sleepers, uint64_t number);
/* Adds one that was not there, due at DUE_US (INT64_MAX: at no time), everything
 * else zero. It stays at its address until it is removed. */
struct sleeper *sleepers_add(struct sleepers *sleepers, uint64_t number, int64_t due_us);
void sleepers_remove(struct sleepers *sleepers, struct sleeper *sleeper);
/* Who is due first, or NULL. */
struct sleeper *sleepers_due_first(const struct sleepers *sleepers);
void sleepers_set_due(struct sleepers *sleepers, struct sleeper *sleeper, int64_t due_us);
/* All are due so much later, or earlier where BY_US is negative. */
void sleepers_shift(struct sleepers *sleepers, int64_t by_us);
/* SLEEPER waits with WAITERS, last, and nowhere else. */
void sleepers_wait(struct sleepers *sleepers, struct sleeper *sleeper, struct waiters *waiters);
/* The first of WAITERS, or NULL. */
struct sleeper *sleepers_waiting_first(const struct sleepers *sleepers,
				       const struct waiters *waiters);
/* Calls EACH with all of them, in no order; nothing is added or removed meanwhile. */
void sleepers_each(struct sleepers *sleepers, void (*each)(void *context, struct sleeper *sleeper),
		   void *context);
void sleepers_clear(struct sleepers *sleepers);

#endif
