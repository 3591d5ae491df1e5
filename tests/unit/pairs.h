/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/pairs.h - an order of lives in which each comes after each other one, and after
 * itself: of COUNT^2 + 1 lives that share an object all pairs are played.
 * check_pairs(): each must say what it says by an object of its own.
 */
#ifndef TESTS_UNIT_PAIRS_H
#define TESTS_UNIT_PAIRS_H

#include "base/buffer.h"
#include "test.h"
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

enum { PAIRS_LIVES_MAX = 64 };

struct pairs {
	size_t count;
	const char *(*name)(size_t number);
	void (*open)(void); /* makes the object */
	void (*play)(size_t number);
	void (*close)(void);
	const struct buffer *said; /* by the last life that was played */
};

static const struct pairs *pairs_played;
static struct buffer pairs_alone[PAIRS_LIVES_MAX];

static inline void check_life_after(size_t number, size_t before)
{
	const struct pairs *pairs = pairs_played;
	struct str alone = buffer_view(&pairs_alone[number]);

	pairs->play(number);
	if (!str_equal(buffer_view(pairs->said), alone))
		fail_msg("%s; then %s\n--- alone\n" STR_FORMAT "--- then\n" STR_FORMAT,
			 before < pairs->count ? pairs->name(before) : "nothing",
			 pairs->name(number), STR_ARGUMENTS(alone),
			 STR_ARGUMENTS(buffer_view(pairs->said)));
}

/* Each life says after each other one what it says alone. */
static inline void check_pairs(const struct pairs *pairs)
{
	assert_true(pairs->count <= PAIRS_LIVES_MAX);
	pairs_played = pairs;
	for (size_t i = 0; i < pairs->count; i++) {
		pairs->open();
		pairs->play(i);
		buffer_append_str(&pairs_alone[i], buffer_view(pairs->said));
		pairs->close();
	}
	pairs->open();
	play_pairs(pairs->count, check_life_after);
	pairs->close();
	for (size_t i = 0; i < pairs->count; i++)
		buffer_clear(&pairs_alone[i]);
}

#endif
