// SPDX-License-Identifier: ISC
#include "command/suggest.h"
#include <string.h>

enum { WORD_MAX = 40 };

static unsigned lesser_distance(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* Optimal string alignment, of words of up to WORD_MAX bytes. */
static unsigned distance_of(struct str a, struct str b)
{
	unsigned rows[3][WORD_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (unsigned j = 0; j <= b.length; j++)
		last[j] = j;
	for (unsigned i = 1; i <= a.length; i++) {
		unsigned *oldest = before;

		row[0] = i;
		for (unsigned j = 1; j <= b.length; j++) {
			bool is_same = a.data[i - 1] == b.data[j - 1];

			row[j] = lesser_distance(lesser_distance(last[j] + 1, row[j - 1] + 1),
						 last[j - 1] + !is_same);
			if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
			    a.data[i - 2] == b.data[j - 1])
				row[j] = lesser_distance(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b.length];
}

void suggestion_offer(struct suggestion *suggestion, const char *name)
{
	struct str other = str_from(name);
	size_t length = suggestion->word.length;
	unsigned distance;

	if (length > WORD_MAX || other.length > WORD_MAX)
		return;
	distance = distance_of(suggestion->word, other);
	if (distance > 2 || distance * 3 > length ||
	    (suggestion->best != NULL && distance >= suggestion->distance))
		return;
	suggestion->best = name;
	suggestion->distance = distance;
}
