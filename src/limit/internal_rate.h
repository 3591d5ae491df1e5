// SPDX-License-Identifier: ISC
/*
 * limit/internal_rate.h - where the rates are in a row (limit/memory.h): a header, and a table for
 * each kind of subject.
 */
#ifndef LIMIT_INTERNAL_RATE_H
#define LIMIT_INTERNAL_RATE_H

#include "limit/rate.h"
#include <stdatomic.h>

/* At the beginning of the area. */
struct limit_rate_header {
	struct hash_key key;
	struct {
		_Atomic limit_rule_key key; /* 0: none */
		_Atomic uint64_t exceeded;
	} rules[CONFIG_RATES_MAX]; /* of the process, in the order of its configuration */
};

/* One process's tables. */
struct limit_rate_tables {
	struct limit_keyed_view per[CONFIG_RATE_PERS];
};

/* The layout of MEMORY has rates. */
struct limit_rate_header *limit_rate_header(const struct limit_memory *memory, size_t row);
struct limit_rate_tables limit_rate_tables(const struct limit_memory *memory, size_t row);

/* By what SUBJECT is counted in the tables for PER of the rows that have KEY; 0: not known. */
uint64_t limit_subject_key(const struct limit_subject *subject, enum config_rate_per per,
			   struct hash_key key);
/* Whether SUBJECT is of the class with that mask; "": any. */
bool limit_subject_is_of(const struct limit_subject *subject, const char *class_mask);

/* A table counts in steps of that, so that 32 bits are at least four times LIMIT. */
uint64_t limit_rate_unit(uint64_t limit);
/* The same in all processes whose rows have KEY. Never 0. */
limit_rule_key limit_rate_key(struct hash_key key, const struct config_rate *rule);
/* How often RULE was exceeded in the process of HEADER. */
uint64_t limit_rate_exceeded(const struct limit_rate_header *header, limit_rule_key rule);

#endif
