// SPDX-License-Identifier: ISC
/*
 * directory/bulk/import/seen.h - the set of keys in files, with 16 bytes for each: a hash of 88
 * bits, keyed by a secret of the process, and the key's place. Collisions are so unlikely (one in
 * 10^14 with a million keys) that they are ignored.
 */
#ifndef DIRECTORY_BULK_IMPORT_SEEN_H
#define DIRECTORY_BULK_IMPORT_SEEN_H

#include "directory/record/record.h"

struct bulk_seen;

struct bulk_seen *bulk_seen_new(void);
/* The position of a key. */
struct bulk_position {
	unsigned file; /* its number, up to 255 */
	unsigned line; /* from 1; 0: none */
};

/* The position where KEY was added before; or none, and then adds it at POSITION. */
struct bulk_position bulk_seen_add(struct bulk_seen *seen, const struct directory_key *key,
				   struct bulk_position position);
struct bulk_position bulk_seen_find(const struct bulk_seen *seen, const struct directory_key *key);
/* The number of keys of TABLE. */
size_t bulk_seen_count(const struct bulk_seen *seen, enum directory_table table);
/* NULL is allowed. */
void bulk_seen_free(struct bulk_seen *seen);

#endif
