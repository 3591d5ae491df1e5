// SPDX-License-Identifier: ISC
/* chance.h - values by chance, the same in each run of a test. */
#ifndef CHANCE_H
#define CHANCE_H

#include <stddef.h>
#include <stdint.h>

/* 0 to BOUND - 1 (xorshift64). */
static inline size_t chance(size_t bound)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (size_t)(state >> 11) % bound;
}

#endif
