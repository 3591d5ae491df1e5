// SPDX-License-Identifier: ISC
/*
 * limit/count.h - the sessions of each class, in and out, of all processes together.
 *
 * The counts of a process are in its row of limit/memory.h. It keeps them privately, too, and
 * writes the whole number each time, so that a row is right again with the next change, whatever
 * was in it. A place is taken without a lock: the own count is raised first, then all rows are
 * added up; over the limit it is lowered again. Of two processes that take the last place, at
 * least the second one to raise its count sees both (all accesses are sequentially consistent), so
 * never do both get it. Each may see the other and let go, though there is a place: then both try
 * again, a few times.
 *
 * No function makes a system call. One of CLASS is an index of the classes with which the counter
 * was made. Each function accepts a NULL counter: without classes everybody may enter, and nothing
 * is counted.
 */
#ifndef LIMIT_COUNT_H
#define LIMIT_COUNT_H

#include "limit/class.h"
#include "limit/memory.h"

struct limit_counter;

/* The size of its area. */
uint32_t limit_count_area_size(void);

/* The counter of the process, all at zero: what its row had is overwritten. MEMORY has a row for
 * it, and CLASSES is not NULL; both must outlive it. */
struct limit_counter *limit_counter_new(const struct limit_memory *memory,
					const struct limit_classes *classes);
/* Sets what it counted to zero. NULL is allowed. */
void limit_counter_free(struct limit_counter *counter);

/* Counts one more session with CLASS, of a client, if fewer than its refuse are open; of a server,
 * if fewer than its queue. False: it is full. */
MUST_CHECK bool limit_enter_in(struct limit_counter *counter, size_t class);
MUST_CHECK bool limit_enter_out(struct limit_counter *counter, size_t class);
/* It has ended. */
void limit_leave_in(struct limit_counter *counter, size_t class);
void limit_leave_out(struct limit_counter *counter, size_t class);
/* The session, of a client in CLASS, is slowed by a rate: it keeps its place unless another client
 * needs that; and no more. It ends only after that. */
void limit_slow_in(struct limit_counter *counter, size_t class);
void limit_hasten_in(struct limit_counter *counter, size_t class);
/* Counts a session of a server that was not begun, although there may be a place: others wait. */
void limit_hold_out(struct limit_counter *counter, size_t class);
/* How many messages wait for a place of CLASS, for people. */
void limit_set_waiting(struct limit_counter *counter, size_t class, uint32_t messages);

/* Begins to count all over, by CLASSES of a new configuration and in MEMORY: for each open session
 * call the function for its direction, and then the last one, which publishes the counts. They may
 * be above the limits. Until then others see the old counts. COUNTER: as limit_counter_new(). */
void limit_recount_begin(struct limit_counter *counter, const struct limit_memory *memory,
			 const struct limit_classes *classes);
void limit_recount_in(struct limit_counter *counter, size_t class);
void limit_recount_slowed(struct limit_counter *counter, size_t class); /* which is in, too */
void limit_recount_out(struct limit_counter *counter, size_t class);
void limit_recount_end(struct limit_counter *counter);

/* --- for all who have the rows --- */

struct limit_total {
	uint64_t in;
	uint64_t out;
	uint64_t slowed;  /* of those in */
	uint64_t waiting; /* messages */
	uint64_t refused; /* clients, since the supervisor's start */
	uint64_t held;    /* outgoing sessions that were not begun, likewise */
};

/* The counts of the class with KEY in all rows. */
void limit_total_of(const struct limit_memory *memory, uint64_t key, struct limit_total *total_out);
/* Whether no class can take another client, even in the place of one that is slowed. */
bool limit_is_all_full(const struct limit_memory *memory, const struct limit_classes *classes);
/* The process of ROW, which must be writable, has ended: its sessions are gone, and what waited. */
void limit_clear_sessions(const struct limit_memory *memory, size_t row);

#endif
