// SPDX-License-Identifier: ISC
/*
 * limit/keyed.h - counters of many keys in memory that one process writes and others read.
 *
 * A table has a fixed number of slots, in buckets of eight; a key may be in one of two buckets
 * (Azar and others, "Balanced Allocations", 1994), so that nearly all slots can be used. Each slot
 * has a window (window.h) for each of LIMIT_COLUMNS rules. When both buckets of a new key are full,
 * the key among them that was unused for longest is forgotten.
 *
 * In front of the slots there is a byte for each, some bits of its key. A search that finds nothing
 * reads hardly more than these: they stay in the processor's cache, and of a table in which nothing
 * is found the slots need no memory, because that is all zeros at first. No call waits or fails.
 * Readers see each slot as it was at one instant; a reader that meets the writer at the same slot
 * too often takes the slot for empty.
 */
#ifndef LIMIT_KEYED_H
#define LIMIT_KEYED_H

#include "base/attributes.h"
#include "base/hash.h"
#include "config/config.h"
#include "limit/window.h"
#include <stdbool.h>
#include <stddef.h>

enum { LIMIT_COLUMNS = CONFIG_RATES_PER_MAX };

/* One column's rule, from the rule's name and interval; 0: the column is free. */
typedef uint64_t limit_rule_key;

/* The memory of a table. */
struct limit_keyed;

/* Bytes for a table in which KEYS keys find room. */
size_t limit_keyed_size(size_t keys);

/* How a process sees a table: its own, or one of another process. Plain values. */
struct limit_keyed_view {
	struct limit_keyed *table; /* not owned, like the following parts of it */
	void *tags;
	void *slots;
	size_t buckets;
};
/* MEMORY has SIZE bytes, at an address that is a multiple of 64. */
struct limit_keyed_view limit_keyed_view(void *memory, size_t size);

/* --- the writer --- */

/* The rules of the columns from now on, at most LIMIT_COLUMNS; one that stays keeps its column and
 * what it counted. COLUMN_OUT[i]: that of RULES[i]. */
void limit_keyed_configure(struct limit_keyed_view view, const limit_rule_key *rules, size_t count,
			   unsigned *column_out);
/* What a rule has in a table. */
struct limit_keyed_count {
	int column; /* -1: none, nothing is done */
	struct limit_window_time time;
	uint32_t amount;                 /* for limit_keyed_add() */
	struct limit_window_total total; /* of limit_keyed_sum() */
};

/* Counts for KEY (not 0) each one's amount in its column. TIME_US: the time of all. */
void limit_keyed_add(struct limit_keyed_view view, uint64_t key, int64_t time_us,
		     const struct limit_keyed_count *counts, size_t count);
/* Whether KEY has a slot, or can have one that is free or was unused for IDLE_US. */
bool limit_keyed_has_room(struct limit_keyed_view view, uint64_t key, int64_t idle_us,
			  int64_t time_us);

/* --- readers --- */

/* The column of RULE, or -1. */
int limit_keyed_column(struct limit_keyed_view view, limit_rule_key rule);
/* Another number when any column has another rule. */
uint32_t limit_keyed_version(struct limit_keyed_view view);
/* KEY is needed before long: has its memory brought into the processor's cache. */
void limit_keyed_expect(struct limit_keyed_view view, uint64_t key);
/* Adds what KEY has in each one's column to its total, all as it was at one instant. */
void limit_keyed_sum(struct limit_keyed_view view, uint64_t key, struct limit_keyed_count *counts,
		     size_t count);
/* How many slots are used. */
size_t limit_keyed_used(struct limit_keyed_view view);

#endif
