// SPDX-License-Identifier: ISC
/*
 * exchange/seen.h - which keys files have, in 16 bytes each: a hash of 88 bits by a secret of
 * the process, and the place. That two keys have the same is so unlikely (a million of them: one
 * in 10^14) that it counts as never.
 */
#ifndef EXCHANGE_SEEN_H
#define EXCHANGE_SEEN_H

#include "directory/record/record.h"

struct exchange_seen;

struct exchange_seen *exchange_seen_new(void);
/* Where a key stands. */
struct exchange_place {
	unsigned file; /* its number, up to 255 */
	unsigned line; /* from 1 on; 0: nowhere */
};

/* Where KEY was added; nowhere: it was not, and is now, at PLACE. */
struct exchange_place exchange_seen_add(struct exchange_seen *seen, const struct directory_key *key,
					struct exchange_place place);
struct exchange_place exchange_seen_find(const struct exchange_seen *seen,
					 const struct directory_key *key);
/* How many there are of TABLE. */
size_t exchange_seen_count(const struct exchange_seen *seen, enum directory_table table);
/* NULL is allowed. */
void exchange_seen_free(struct exchange_seen *seen);

#endif
