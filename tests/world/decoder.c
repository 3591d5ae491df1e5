// SPDX-License-Identifier: ISC
#include "decoder.h"
#include "kernel.h"
#include "letter.h"
#include <stdio.h>

enum { ODDS = 20, TEXT_MAX = 4096, WICKED = 25, MOODS = 3 };

static int64_t odd_until_us;

void decoders_be_odd(int64_t until_us)
{
	odd_until_us = until_us;
}

static enum decoder_mood mood_of(uint64_t number)
{
	return (enum decoder_mood)(DECODER_DIES + number % MOODS);
}

/* Of a letter that says no number there is nothing to be known. */
enum decoder_mood decoder_mood(const char *text, size_t size)
{
	char beginning[TEXT_MAX];
	uint64_t number;

	if (kernel_now_us() >= odd_until_us)
		return DECODER_WORKS;
	snprintf(beginning, sizeof beginning, "%.*s", (int)(size < TEXT_MAX ? size : TEXT_MAX - 1),
		 text);
	number = letter_number(beginning);
	if (number != UINT64_MAX && number % WICKED == 0)
		return mood_of(number / WICKED);
	return kernel_one_in(ODDS) ? mood_of(kernel_below(MOODS)) : DECODER_WORKS;
}
