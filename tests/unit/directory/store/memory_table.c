// SPDX-License-Identifier: ISC
#include "memory_table.h"
#include "base/panic.h"
#include <stdlib.h>
#include <string.h>

int memory_key_compare(const struct directory_key *a, const struct directory_key *b)
{
	size_t shorter = a->name.length < b->name.length ? a->name.length : b->name.length;
	int order;

	if (a->table != b->table)
		return a->table < b->table ? -1 : 1;
	order = memcmp(a->name.data, b->name.data, shorter);
	if (order != 0)
		return order;
	return a->name.length < b->name.length ? -1 : a->name.length > b->name.length;
}

size_t memory_table_find(const struct memory_table *table, const struct directory_key *key,
			 bool *is_there_out)
{
	size_t first = 0;
	size_t end = table->count;

	while (first < end) {
		size_t middle = (first + end) / 2;

		if (memory_key_compare(&table->entries[middle].record.key, key) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	*is_there_out = first < table->count &&
			memory_key_compare(&table->entries[first].record.key, key) == 0;
	return first;
}

static void log_change(struct memory_table *table, const struct directory_key *key,
		       uint64_t version)
{
	if (table->log_arena == NULL)
		table->log_arena = arena_new();
	if (table->log_count == table->log_capacity) {
		table->log_capacity = 2 * table->log_capacity + 16;
		table->log = memory_resize(table->log, table->log_capacity * sizeof *table->log);
	}
	table->log[table->log_count].key =
		(struct directory_key){key->table, arena_copy_str(table->log_arena, key->name)};
	table->log[table->log_count++].version = version;
}

static void insert(struct memory_table *table, size_t at)
{
	if (table->count == table->capacity) {
		table->capacity = 2 * table->capacity + 16;
		table->entries =
			memory_resize(table->entries, table->capacity * sizeof *table->entries);
	}
	memmove(&table->entries[at + 1], &table->entries[at],
		(table->count++ - at) * sizeof *table->entries);
}

bool memory_table_is_stale(const struct memory_table *table, const struct directory_change *change)
{
	for (size_t i = 0; change->is_conditional && i < table->log_count; i++)
		if (table->log[i].version > change->since &&
		    memory_key_compare(&table->log[i].key, &change->record.key) == 0)
			return true;
	return false;
}

bool memory_table_apply(struct memory_table *table, const struct directory_change *change,
			uint64_t *version)
{
	bool is_there;
	size_t at = memory_table_find(table, &change->record.key, &is_there);

	if (is_there)
		arena_free(table->entries[at].arena);
	if (change->is_removal && !is_there)
		return false;
	log_change(table, &change->record.key, ++*version);
	if (change->is_removal) {
		memmove(&table->entries[at], &table->entries[at + 1],
			(--table->count - at) * sizeof *table->entries);
		return true;
	}
	if (!is_there)
		insert(table, at);
	table->entries[at].arena = arena_new();
	table->entries[at].record =
		directory_record_copy(table->entries[at].arena, &change->record);
	return is_there;
}

void memory_table_empty(struct memory_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		arena_free(table->entries[i].arena);
	table->count = 0;
	table->log_count = 0;
}

void memory_table_clear(struct memory_table *table)
{
	memory_table_empty(table);
	arena_free(table->log_arena);
	free(table->entries);
	free(table->log);
	*table = (struct memory_table){0};
}
