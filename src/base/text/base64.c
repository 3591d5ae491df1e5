// SPDX-License-Identifier: ISC
#include "base/text/base64.h"
#include <string.h>

/* All ones if LOW <= C <= HIGH, else 0, without a branch. */
static unsigned in_range(unsigned c, unsigned low, unsigned high)
{
	return ((low - 1 - c) & (c - high - 1)) >> 16 & 0xffff ? 0xffffffffu : 0;
}

static char letter_of_base64_value(unsigned value)
{
	return (char)((in_range(value, 0, 25) & (value + 'A')) |
		      (in_range(value, 26, 51) & (value - 26 + 'a')) |
		      (in_range(value, 52, 61) & (value - 52 + '0')) |
		      (in_range(value, 62, 62) & '+') | (in_range(value, 63, 63) & '/'));
}

/* 64 or more: no letter. */
static unsigned value_of_base64_letter(char byte, char next_to_last, char last)
{
	unsigned c = (unsigned char)byte;
	unsigned is_upper = in_range(c, 'A', 'Z');
	unsigned is_lower = in_range(c, 'a', 'z');
	unsigned is_digit = in_range(c, '0', '9');
	unsigned is_62 = in_range(c, (unsigned char)next_to_last, (unsigned char)next_to_last);
	unsigned is_63 = in_range(c, (unsigned char)last, (unsigned char)last);

	return (is_upper & (c - 'A')) | (is_lower & (c - 'a' + 26)) | (is_digit & (c - '0' + 52)) |
	       (is_62 & 62) | (is_63 & 63) |
	       (~(is_upper | is_lower | is_digit | is_62 | is_63) & 0x40);
}

void base64_append(struct buffer *out, struct str data)
{
	const unsigned char *bytes = (const unsigned char *)data.data;
	char *out_at = buffer_reserve(out, (data.length + 2) / 3 * 4);
	size_t length = 0;

	for (size_t i = 0; i < data.length; i += 3) {
		size_t rest = data.length - i;
		unsigned group = (unsigned)bytes[i] << 16 |
				 (rest > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
				 (rest > 2 ? bytes[i + 2] : 0);

		out_at[length++] = letter_of_base64_value(group >> 18);
		out_at[length++] = letter_of_base64_value(group >> 12 & 63);
		out_at[length++] = rest > 1 ? letter_of_base64_value(group >> 6 & 63) : '=';
		out_at[length++] = rest > 2 ? letter_of_base64_value(group & 63) : '=';
	}
	buffer_commit(out, length);
}

/* TEXT without its padding. */
static bool decode_base64_letters(struct str text, char next_to_last, char last, struct buffer *out)
{
	size_t tail = text.length % 4;
	unsigned char *out_at = (unsigned char *)buffer_reserve(out, text.length / 4 * 3 + 3);
	unsigned wrong = tail == 1 ? 0x40 : 0;
	unsigned group = 0;
	size_t length = 0;

	for (size_t i = 0; i < text.length; i++) {
		unsigned value = value_of_base64_letter(text.data[i], next_to_last, last);

		wrong |= value & 0x40;
		group = group << 6 | (value & 63);
		if (i % 4 == 3) {
			out_at[length++] = (unsigned char)(group >> 16);
			out_at[length++] = (unsigned char)(group >> 8);
			out_at[length++] = (unsigned char)group;
		}
	}
	if (tail == 2) {
		out_at[length++] = (unsigned char)(group >> 4);
		wrong |= group & 0xf;
	} else if (tail == 3) {
		out_at[length++] = (unsigned char)(group >> 10);
		out_at[length++] = (unsigned char)(group >> 2);
		wrong |= group & 3;
	}
	if (wrong != 0) {
		explicit_bzero(out_at, length);
		return false;
	}
	buffer_commit(out, length);
	return true;
}

bool base64_decode(struct str text, struct buffer *out)
{
	size_t padding = 0;

	while (padding < 2 && padding < text.length && text.data[text.length - 1 - padding] == '=')
		padding++;
	if (text.length % 4 != 0)
		return false;
	return decode_base64_letters(str_slice(text.data, text.length - padding), '+', '/', out);
}

bool base64_decode_url(struct str text, struct buffer *out)
{
	return decode_base64_letters(text, '-', '_', out);
}
