// SPDX-License-Identifier: ISC
#include "base/text/utf8.h"

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

uint32_t utf8_code_point(struct str s)
{
	static const unsigned char first_bits[] = {0xff, 0x7f, 0x1f, 0x0f, 0x07};
	size_t length = utf8_length(s);
	uint32_t code = (unsigned char)s.data[0] & first_bits[length];

	for (size_t i = 1; i < length; i++)
		code = code << 6 | ((unsigned char)s.data[i] & 0x3f);
	return code;
}

bool utf8_is_harmless(uint32_t code_point)
{
	return code_point >= 0x20 && (code_point < 0x7f || code_point > 0x9f) &&
	       (code_point < 0x2028 || code_point > 0x202e) &&
	       (code_point < 0x2066 || code_point > 0x2069);
}
