// SPDX-License-Identifier: ISC
/*
 * tests/unit/directory/bulk/random_record.h - records by chance, of every table and kind, with
 * every field of the rules (directory/record/rules.h), whose addresses have what addresses may
 * have.
 */
#ifndef TESTS_UNIT_RANDOM_RECORD_H
#define TESTS_UNIT_RANDOM_RECORD_H

#include "base/arena.h"
#include "directory/record/record.h"

/* From $SEED, or the time; prints it. */
void random_seed(void);
/* 0 to BOUND - 1. */
unsigned random_pick(size_t bound);
struct str random_address(struct arena *arena);
/* A checked record; false when chance made one that there cannot be. */
bool random_record(struct arena *arena, struct directory_record *record_out);
/* A rule whose field no record has had yet, "address quota"; NULL: there is none. */
const char *random_record_unused(void);

#endif
