// SPDX-License-Identifier: ISC
/* tests/unit/directory/store/memory_table.h - what a store in memory holds, and the log of its
 * changes. */
#ifndef TESTS_UNIT_MEMORY_TABLE_H
#define TESTS_UNIT_MEMORY_TABLE_H

#include "directory/store/store.h"

struct memory_entry {
	struct arena *arena;
	struct directory_record record;
};

struct memory_log_entry {
	struct directory_key key;
	uint64_t version;
};

struct memory_table {
	struct memory_entry *entries; /* in the order of tables and keys */
	size_t count, capacity;
	struct memory_log_entry *log;
	size_t log_count, log_capacity;
	struct arena *log_arena;
};

int memory_key_compare(const struct directory_key *a, const struct directory_key *b);
/* The first entry that is not before KEY. */
size_t memory_table_find(const struct memory_table *table, const struct directory_key *key,
			 bool *is_there_out);
/* Whether CHANGE has a condition that is not met. */
bool memory_table_is_stale(const struct memory_table *table, const struct directory_change *change);
/* Whether there was such a record; VERSION grows by one unless nothing was removed. */
bool memory_table_apply(struct memory_table *table, const struct directory_change *change,
			uint64_t *version);
void memory_table_empty(struct memory_table *table);
void memory_table_clear(struct memory_table *table);

#endif
