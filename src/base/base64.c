// SPDX-License-Identifier: ISC
#include "base/base64.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void append_group(struct buffer *out, const unsigned char *bytes, size_t count)
{
	unsigned value = (unsigned)bytes[0] << 16 | (count > 1 ? (unsigned)bytes[1] << 8 : 0) |
			 (count > 2 ? bytes[2] : 0);

	buffer_append_byte(out, letters[value >> 18]);
	buffer_append_byte(out, letters[value >> 12 & 63]);
	buffer_append_byte(out, count > 1 ? letters[value >> 6 & 63] : '=');
	buffer_append_byte(out, count > 2 ? letters[value & 63] : '=');
}

void base64_append(struct buffer *out, struct str bytes)
{
	for (size_t i = 0; i < bytes.length; i += 3) {
		size_t left = bytes.length - i;

		append_group(out, (const unsigned char *)bytes.data + i, left < 3 ? left : 3);
	}
}

/* 0 to 63; -1: none of the letters. */
static int value_of(char c)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* COUNT letters, 2 to 4, stand for COUNT - 1 bytes. */
static bool decode_group(const char *text, size_t count, struct buffer *out)
{
	unsigned value = 0;
	unsigned unused = count == 4 ? 0 : count == 3 ? 0xff : 0xffff;

	for (size_t i = 0; i < 4; i++) {
		int letter = i < count ? value_of(text[i]) : 0;

		if (letter < 0)
			return false;
		value = value << 6 | (unsigned)letter;
	}
	if (value & unused)
		return false;
	for (size_t i = 0; i + 1 < count; i++)
		buffer_append_byte(out, (char)(value >> (16 - 8 * i)));
	return true;
}

bool base64_decode(struct str text, struct buffer *out)
{
	size_t before = out->length;

	if (text.length % 4 != 0)
		return false;
	for (size_t i = 0; i < text.length; i += 4) {
		bool is_last = i + 4 == text.length;
		size_t count = 4;

		while (is_last && count > 2 && text.data[i + count - 1] == '=')
			count--;
		if (!decode_group(text.data + i, count, out)) {
			buffer_truncate(out, before);
			return false;
		}
	}
	return true;
}
