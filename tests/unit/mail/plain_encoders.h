/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/mail/plain_encoders.h - quoted-printable and base64 of whole lines (RFC 2045 section
 * 6), as slow and plain as possible.
 */
#ifndef TESTS_UNIT_MAIL_PLAIN_ENCODERS_H
#define TESTS_UNIT_MAIL_PLAIN_ENCODERS_H

#include "base/buffer.h"
#include <stdio.h>
#include <string.h>

/* The piece of quoted-printable at TEXT[*AT]; IS_REST: it has been encoded before. */
static inline size_t take_token(struct str text, size_t *at, bool is_rest, char token[4])
{
	static const char hex[] = "0123456789ABCDEFabcdef";
	unsigned char c = (unsigned char)text.data[(*at)++];
	size_t left = text.length - *at;

	snprintf(token, 4, "%c", c);
	if (is_rest && c == '=') {
		size_t digits = 0;

		while (digits < 2 && digits < left && text.data[*at + digits] != '\0' &&
		       strchr(hex, text.data[*at + digits]) != NULL)
			digits++;
		if (digits < 2 && digits < left)
			return 1;
		memcpy(token + 1, text.data + *at, digits);
		token[1 + digits] = '\0';
		*at += digits;
		return left == 0 ? 1 : 3;
	}
	if (is_rest ? c != '\0' && c != '\r' && c != '\n' && c < 0x80
		    : (c > ' ' && c < 0x7f && c != '=') || ((c == ' ' || c == '\t') && left > 0))
		return 1;
	snprintf(token, 4, "=%02X", c);
	return 3;
}

/* In lines of 76 at most. The width of a '=' that ends a line is that of the break it is. */
static inline void write_quoted(struct str text, bool is_rest, struct buffer *out, size_t *column)
{
	char token[4];

	*column = 0;
	for (size_t at = 0; at < text.length;) {
		bool was_end = is_rest && at + 1 == text.length && text.data[at] == '=';
		size_t width = take_token(text, &at, is_rest, token);

		if (*column + width > 75 && !was_end) {
			buffer_append_string(out, "=\r\n");
			*column = 0;
			if (strcmp(token, "-") == 0)
				strcpy(token, "=2D"); /* no boundary begins there */
		}
		buffer_append_string(out, token);
		*column += strlen(token);
	}
}

static inline void write_base64(struct str bytes, struct buffer *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < bytes.length; i += 3) {
		size_t length = bytes.length - i < 3 ? bytes.length - i : 3;
		unsigned char group[3] = {0};
		char quad[4];

		memcpy(group, bytes.data + i, length);
		quad[0] = digits[group[0] / 4];
		quad[1] = digits[group[0] % 4 * 16 + group[1] / 16];
		quad[2] = length > 1 ? digits[group[1] % 16 * 4 + group[2] / 64] : '=';
		quad[3] = length > 2 ? digits[group[2] % 64] : '=';
		buffer_append(out, quad, 4);
		if (i / 3 % 19 == 18 || i + 3 >= bytes.length)
			buffer_append_string(out, "\r\n");
	}
}

static inline void write_without_noise(struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != '\0' && strchr("\r\n-", text.data[i]) == NULL &&
		    (unsigned char)text.data[i] < 0x80)
			buffer_append_byte(out, text.data[i]);
}

#endif
