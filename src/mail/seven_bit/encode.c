// SPDX-License-Identifier: ISC
/* Quoted-printable and base64 (RFC 2045 section 6), piece by piece. */
#include "mail/seven_bit/internal.h"

enum { QUOTED_COLUMNS = 75, BASE64_COLUMNS = 76 }; /* of 76; the soft line break needs one */

static bool is_hex(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F') || (c >= 'a' && c <= 'f');
}

/* RFC 2045 section 6.7: printable characters are literal, blanks unless they end a line. The end of
 * a piece counts as the end of a line. */
static bool is_literal_byte(struct str text, size_t at)
{
	char c = text.data[at];

	if (c == ' ' || c == '\t')
		return at + 1 < text.length;
	return c > ' ' && c < 0x7f && c != '=';
}

static void put_quoted(struct seven_bit_encoder *encoder, char c, bool is_plain, struct buffer *out)
{
	static const char digits[] = "0123456789ABCDEF";
	unsigned char byte = (unsigned char)c;
	size_t width = is_plain ? 1 : 3;

	if (encoder->escape_left == 0 && encoder->column + width > QUOTED_COLUMNS) {
		buffer_append_string(out, "=\r\n");
		is_plain = is_plain && c != '-'; /* which may begin a boundary */
		width = is_plain ? 1 : 3;
		encoder->column = 0;
	}
	encoder->column += width;
	if (is_plain) {
		buffer_append_byte(out, c);
		return;
	}
	buffer_append_byte(out, '=');
	buffer_append_byte(out, digits[byte >> 4]);
	buffer_append_byte(out, digits[byte & 15]);
}

static void encode_quoted_printable(struct seven_bit_encoder *encoder, struct str text,
				    bool ends_line, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		put_quoted(encoder, text.data[i], is_literal_byte(text, i), out);
	if (ends_line) {
		buffer_append_string(out, "\r\n");
		encoder->column = 0;
	}
}

/* Whether "=XX" is at AT, as far as the piece has it. */
static bool is_escape(struct str text, size_t at)
{
	for (size_t i = 1; i <= 2 && at + i < text.length; i++)
		if (!is_hex(text.data[at + i]))
			return false;
	return true;
}

/* No text that is encoded has such bytes. */
static bool is_foreign_byte(char c)
{
	return (unsigned char)c > 0x7f || c == '\0' || c == '\r' || c == '\n';
}

/* Keeps ASCII unchanged, but adds soft line breaks; none may split a "=XX". */
static void append_with_soft_breaks(struct seven_bit_encoder *encoder, struct str text,
				    bool ends_line, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		bool is_foreign = is_foreign_byte(text.data[i]);

		if (encoder->escape_left == 0 && text.data[i] == '=' && is_escape(text, i)) {
			if (encoder->column + 3 > QUOTED_COLUMNS && i + 1 < text.length) {
				buffer_append_string(out, "=\r\n");
				encoder->column = 0;
			}
			encoder->escape_left = 3;
		}
		put_quoted(encoder, text.data[i], !is_foreign, out);
		if (encoder->escape_left > 0)
			encoder->escape_left--;
	}
	if (ends_line) {
		buffer_append_string(out, "\r\n");
		encoder->column = 0;
		encoder->escape_left = 0;
	}
}

static void put_group(struct seven_bit_encoder *encoder, struct buffer *out)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *group = encoder->group;
	size_t length = encoder->group_length;
	unsigned bits = (unsigned)group[0] << 16;

	if (length > 1)
		bits |= (unsigned)group[1] << 8;
	if (length > 2)
		bits |= group[2];
	buffer_append_byte(out, digits[bits >> 18]);
	buffer_append_byte(out, digits[bits >> 12 & 63]);
	buffer_append_byte(out, length > 1 ? digits[bits >> 6 & 63] : '=');
	buffer_append_byte(out, length > 2 ? digits[bits & 63] : '=');
	encoder->group_length = 0;
	encoder->column += 4;
	if (encoder->column == BASE64_COLUMNS) {
		buffer_append_string(out, "\r\n");
		encoder->column = 0;
	}
}

static void put_base64(struct seven_bit_encoder *encoder, struct str text, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++) {
		encoder->group[encoder->group_length++] = (unsigned char)text.data[i];
		if (encoder->group_length == sizeof encoder->group)
			put_group(encoder, out);
	}
}

/* Removes '-', too: it is noise, and might begin a boundary once the bytes before it are gone. */
static void remove_noise(struct str text, bool ends_line, struct buffer *out)
{
	for (size_t i = 0; i < text.length; i++)
		if (!is_foreign_byte(text.data[i]) && text.data[i] != '-')
			buffer_append_byte(out, text.data[i]);
	if (ends_line)
		buffer_append_string(out, "\r\n");
}

void seven_bit_encode(struct seven_bit_encoder *encoder, enum seven_bit_action action,
		      struct str text, bool ends_line, struct buffer *out)
{
	switch (action) {
	case SEVEN_BIT_KEEP:
	case SEVEN_BIT_RELABEL:
		buffer_append_str(out, text);
		if (ends_line)
			buffer_append_string(out, "\r\n");
		break;
	case SEVEN_BIT_QUOTE:
		encode_quoted_printable(encoder, text, ends_line, out);
		break;
	case SEVEN_BIT_QUOTE_REST:
		append_with_soft_breaks(encoder, text, ends_line, out);
		break;
	case SEVEN_BIT_REMOVE_NOISE:
		remove_noise(text, ends_line, out);
		break;
	case SEVEN_BIT_BASE64:
		if (encoder->has_line_end)
			put_base64(encoder, STR("\r\n"), out);
		put_base64(encoder, text, out);
		encoder->has_line_end = ends_line;
		break;
	}
}

void seven_bit_encode_end(struct seven_bit_encoder *encoder, enum seven_bit_action action,
			  bool is_delimited, struct buffer *out)
{
	if (action == SEVEN_BIT_BASE64) {
		if (encoder->has_line_end && !is_delimited)
			put_base64(encoder, STR("\r\n"), out);
		if (encoder->group_length > 0)
			put_group(encoder, out);
		if (encoder->column > 0)
			buffer_append_string(out, "\r\n");
	}
	*encoder = (struct seven_bit_encoder){0};
}
