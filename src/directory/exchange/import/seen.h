// SPDX-License-Identifier: ISC
/*
 * directory/exchange/import/seen.h - the set of keys in files, with 16 bytes for each: a hash of 88
 * bits, keyed by a secret of the process, and the key's place. Collisions are so unlikely (one in
 * 10^14 with a million keys) that they are ignored.
 */
#ifndef DIRECTORY_EXCHANGE_IMPORT_SEEN_H
#define DIRECTORY_EXCHANGE_IMPORT_SEEN_H

#include "directory/record/record.h"

struct exchange_seen;

struct exchange_seen *exchange_seen_new(void);
/* The position of a key. */
struct exchange_place {
	unsigned file; /* its number, up to 255 */
	unsigned line; /* from 1; 0: none */
};

/* The place where KEY was added before; or none, and then adds it at PLACE. */
struct exchange_place exchange_seen_add(struct exchange_seen *seen, const struct directory_key *key,
					struct exchange_place place);
struct exchange_place exchange_seen_find(const struct exchange_seen *seen,
					 const struct directory_key *key);
/* The number of keys of TABLE. */
size_t exchange_seen_count(const struct exchange_seen *seen, enum directory_table table);
/* NULL is allowed. */
void exchange_seen_free(struct exchange_seen *seen);

#endif
