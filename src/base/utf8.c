// SPDX-License-Identifier: ISC
#include "base/utf8.h"

static size_t length_from_first(unsigned char first)
{
	if (first < 0x80)
		return 1;
	if (first < 0xc2)
		return 0;
	if (first < 0xe0)
		return 2;
	if (first < 0xf0)
		return 3;
	return first < 0xf5 ? 4 : 0;
}

size_t utf8_length(struct str s)
{
	const unsigned char *text = (const unsigned char *)s.data;
	size_t length = s.length > 0 ? length_from_first(text[0]) : 0;

	if (length > s.length)
		return 0;
	for (size_t i = 1; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	if (length >= 3 &&
	    ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) ||
	     (text[0] == 0xf0 && text[1] < 0x90) || (text[0] == 0xf4 && text[1] > 0x8f)))
		return 0;
	return length;
}
