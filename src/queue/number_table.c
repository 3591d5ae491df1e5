// SPDX-License-Identifier: ISC
#include "queue/number_table.h"
#include "base/panic.h"
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 1024 };

static struct number_entry *find_number_entry(const struct number_table *table, uint64_t number)
{
	size_t i = (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (table->size - 1);

	while (table->entries[i].number != 0 && table->entries[i].number != number)
		i = (i + 1) & (table->size - 1);
	return &table->entries[i];
}

static void grow_number_table(struct number_table *table)
{
	struct number_table old = *table;

	table->size = old.size > 0 ? old.size * 2 : FIRST_SIZE;
	table->entries = memory_alloc_zero(table->size, sizeof *table->entries);
	for (size_t i = 0; i < old.size; i++)
		if (old.entries[i].number != 0)
			*find_number_entry(table, old.entries[i].number) = old.entries[i];
	free(old.entries);
}

void number_table_add(struct number_table *table, uint64_t number, unsigned flag)
{
	struct number_entry *entry;

	if (table->count >= table->size / 2)
		grow_number_table(table);
	entry = find_number_entry(table, number);
	table->count += entry->number == 0;
	entry->number = number;
	entry->flags |= flag;
}

unsigned number_table_flags(const struct number_table *table, uint64_t number)
{
	return table->size > 0 ? find_number_entry(table, number)->flags : 0;
}

void number_table_reset(struct number_table *table)
{
	if (table->count > 0)
		memset(table->entries, 0, table->size * sizeof *table->entries);
	table->count = 0;
}

void number_table_clear(struct number_table *table)
{
	free(table->entries);
	*table = (struct number_table){0};
}
