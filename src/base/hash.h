// SPDX-License-Identifier: ISC
/*
 * base/hash.h - hashes of what strangers may choose.
 *
 * SipHash-2-4 (Aumasson and Bernstein, 2012) under a key that the kernel gave this process at
 * its start: nobody who does not know it can choose texts that share a chain of a table.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t low;
	uint64_t high;
};

uint64_t hash_keyed(struct hash_key key, const void *data, size_t size);
/* Under this process's own key; of no use outside of it. */
uint64_t hash_own(const void *data, size_t size);

#endif
