// SPDX-License-Identifier: ISC
/*
 * queue/number_table.h - a short-lived hash table of message numbers with flags.
 */
#ifndef QUEUE_NUMBER_TABLE_H
#define QUEUE_NUMBER_TABLE_H

#include <stddef.h>
#include <stdint.h>

struct number_entry {
	uint64_t number; /* 0: empty slot */
	unsigned flags;
};

struct number_table {
	struct number_entry *entries; /* owned */
	size_t size;                  /* a power of two, or 0 */
	size_t count;
};

/* NUMBER is not 0. */
void number_table_add(struct number_table *table, uint64_t number, unsigned flag);
/* 0 when it is not in the table. */
unsigned number_table_flags(const struct number_table *table, uint64_t number);
/* Empties the table; keeps its memory. */
void number_table_reset(struct number_table *table);
void number_table_clear(struct number_table *table);

#endif
