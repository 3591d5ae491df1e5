// SPDX-License-Identifier: ISC
/*
 * base/hash.h - hashes of keys that an attacker may choose.
 *
 * SipHash-2-4 (Aumasson and Bernstein, 2012) with a key that the kernel gave this process at its
 * start: without it nobody can choose texts that collide in a table.
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
/* With this process's own key, so the result is meaningless outside it. */
uint64_t hash_own(const void *data, size_t size);

#endif
