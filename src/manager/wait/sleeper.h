// SPDX-License-Identifier: ISC
/*
 * manager/wait/sleeper.h - the messages that sleep: a number, a time, and what else they wait for.
 * Nothing else is in memory, so that a million cost about 65 bytes each; the rest is read from the
 * control file when they wake.
 *
 * They are found by number, by time, and by the list in which they wait. No operation takes long,
 * however many there are: tables grow by one bucket or chunk at a time.
 */
#ifndef MANAGER_WAIT_SLEEPER_H
#define MANAGER_WAIT_SLEEPER_H

#include "manager/wait/facts.h"
#include <stddef.h>
#include <stdint.h>

/* Sleepers that wait for something, in order of arrival. Storage of the caller, zeroed at first;
 * must not move while a sleeper waits. */
struct waiters {
	uint32_t first, last; /* 0: none */
	size_t count;
	const void *owner; /* who made the list: to recognize its own */
};

struct sleeper {
	uint64_t number;
	int64_t due_us;
	struct waiters *waiters; /* NULL, or the list it is in */
	/* private to sleeper.c: */
	uint32_t index;
	uint32_t bucket_next; /* also of the free ones */
	uint32_t wait_next, wait_previous;
	uint32_t heap_position; /* 0: not in the heap */
	struct message_facts facts;
};

struct sleepers {
	struct sleeper **chunks;
	uint32_t chunk_count;
	uint32_t free; /* list of unused sleepers */
	uint32_t *buckets;
	uint32_t bucket_count; /* grows by one at a time */
	uint32_t bucket_capacity;
	uint32_t *heap; /* heap[1] is due first */
	uint32_t heap_count;
	uint32_t heap_capacity;
	size_t count;
};

struct sleeper *sleepers_find(const struct sleepers *sleepers, uint64_t number);
/* Adds one that does not exist yet, due at DUE_US (INT64_MAX: never), everything else zero. It
 * keeps its address until it is removed. */
struct sleeper *sleepers_add(struct sleepers *sleepers, uint64_t number, int64_t due_us);
void sleepers_remove(struct sleepers *sleepers, struct sleeper *sleeper);
/* The sleeper that is due first, or NULL. */
struct sleeper *sleepers_due_first(const struct sleepers *sleepers);
void sleepers_set_due(struct sleepers *sleepers, struct sleeper *sleeper, int64_t due_us);
/* Adds BY_US, which may be negative, to all due times. */
void sleepers_shift(struct sleepers *sleepers, int64_t by_us);
/* Makes SLEEPER the last of WAITERS; it waits nowhere else. */
void sleepers_wait(struct sleepers *sleepers, struct sleeper *sleeper, struct waiters *waiters);
/* Makes SLEEPER the first of those with which it waits. */
void sleepers_go_first(struct sleepers *sleepers, struct sleeper *sleeper);
/* The first of WAITERS, or NULL. */
struct sleeper *sleepers_waiting_first(const struct sleepers *sleepers,
				       const struct waiters *waiters);
/* Calls EACH for every sleeper, in no order; EACH must not add or remove any. */
void sleepers_each(struct sleepers *sleepers, void (*each)(void *context, struct sleeper *sleeper),
		   void *context);
void sleepers_clear(struct sleepers *sleepers);

#endif
