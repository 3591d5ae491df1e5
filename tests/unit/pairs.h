/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/pairs.h - an order of lives in which each comes after each other one, and after
 * itself: of COUNT^2 + 1 lives that share an object all pairs are played.
 */
#ifndef TESTS_UNIT_PAIRS_H
#define TESTS_UNIT_PAIRS_H

#include <stddef.h>

/* Calls PLAY with each number in turn, and the one before it (COUNT: none). */
static inline void play_pairs(size_t count, void (*play)(size_t number, size_t before))
{
	size_t before = count;

	for (size_t i = 0; i < count; i++) {
		play(i, before);
		before = i;
		for (size_t j = i + 1; j < count; j++) {
			play(i, before);
			play(j, i);
			before = j;
		}
	}
	play(0, before);
}

#endif
