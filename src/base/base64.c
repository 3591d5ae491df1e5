// SPDX-License-Identifier: ISC
#include "base/base64.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void base64_encode(struct str bytes, struct buffer *out)
{
	for (size_t i = 0; i < bytes.length; i += 3) {
		size_t count = bytes.length - i < 3 ? bytes.length - i : 3;
		uint32_t bits = 0;

		for (size_t j = 0; j < 3; j++)
			bits = bits << 8 | (j < count ? (unsigned char)bytes.data[i + j] : 0);
		for (size_t j = 0; j < 4; j++)
			buffer_append_byte(out,
					   j <= count ? letters[bits >> (18 - 6 * j) & 63] : '=');
	}
}

/* 64: none of them. */
static uint32_t value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint32_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint32_t)(c - 'a') + 26;
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0') + 52;
	return c == '+' ? 62 : c == '/' ? 63 : 64;
}

/* Four characters, of which PADDING are '='. */
static bool decode_group(const char *text, size_t padding, struct buffer *out)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < 4; i++) {
		uint32_t value = i < 4 - padding ? value_of(text[i]) : 0;

		if (value > 63)
			return false;
		bits = bits << 6 | value;
	}
	for (size_t i = 0; i < 3 - padding; i++)
		buffer_append_byte(out, (char)(bits >> (16 - 8 * i) & 255));
	return (bits & ((1U << 8 * padding) - 1)) == 0;
}

bool base64_decode(struct str text, struct buffer *out)
{
	size_t before = out->length;
	size_t padding = 0;

	if (text.length % 4 != 0)
		return false;
	while (padding < 2 && padding < text.length && text.data[text.length - 1 - padding] == '=')
		padding++;
	for (size_t i = 0; i < text.length; i += 4)
		if (!decode_group(text.data + i, i + 4 == text.length ? padding : 0, out)) {
			buffer_truncate(out, before);
			return false;
		}
	return true;
}
