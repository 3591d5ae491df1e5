// SPDX-License-Identifier: ISC
/* 8-bit text in parameters of MIME fields, RFC 2231. */
#include "base/text/utf8.h"
#include "header/internal.h"
#include "header/name.h"
#include <string.h>

/* Of a line; with a long name so many times its length: each line repeats it. */
enum { COLUMNS = 74, NAMES = 3 };

/* The length of the piece at the start of TEXT, up to a ';' that is not quoted or in a comment. */
static size_t length_of_parameter(struct str text)
{
	bool is_quoted = false;
	size_t depth = 0;
	size_t i = 0;

	for (; i < text.length; i++) {
		char c = text.data[i];

		if (c == ';' && !is_quoted && depth == 0)
			break;
		if (c == '\\' && (is_quoted || depth > 0))
			i++;
		else if (c == '"' && depth == 0)
			is_quoted = !is_quoted;
		else if (c == '(' && !is_quoted)
			depth++;
		else if (c == ')' && depth > 0)
			depth--;
	}
	return i < text.length ? i : text.length;
}

/* What VALUE means, without its quotes. */
static void append_unquoted_value(struct str value, struct buffer *out)
{
	for (size_t i = 0; i < value.length; i++) {
		if (value.data[i] == '\\' && i + 1 < value.length)
			buffer_append_byte(out, value.data[++i]);
		else if (value.data[i] != '"' && value.data[i] != '\r' && value.data[i] != '\n')
			buffer_append_byte(out, value.data[i]);
	}
}

/* RFC 2231 section 7: attribute-char. */
static bool is_attribute_char(char c)
{
	return (unsigned char)c > ' ' && (unsigned char)c < 0x7f &&
	       strchr("*'%()<>@,;:\\\"/[]?=", c) == NULL;
}

static void append_percent(struct buffer *out, struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		if (is_attribute_char(text.data[i]))
			buffer_append_byte(out, text.data[i]);
		else
			buffer_append_format(out, "%%%02X", (unsigned char)text.data[i]);
	}
}

/* Appends NAME=VALUE in so many sections as lines need; no character is split between two. */
static void append_sections(struct buffer *out, struct str name, struct str value)
{
	bool is_utf8 = header_name_is_utf8(value);
	size_t columns = name.length * NAMES < COLUMNS ? COLUMNS : name.length * NAMES;
	size_t section = 0;

	do {
		size_t column = name.length + 8 + (section == 0 ? 14 : 0);
		size_t length = 0;
		size_t next = 0;

		while (length < value.length) {
			struct str rest = str_skip(value, length);

			next = is_utf8 ? utf8_length(rest) : 1;
			column += next > 1 || !is_attribute_char(rest.data[0]) ? 3 * next : 1;
			if (column > columns && length > 0)
				break;
			length += next;
		}
		if (section > 0)
			buffer_append_string(out, ";\r\n ");
		buffer_append_str(out, name);
		if (section > 0 || length < value.length)
			buffer_append_format(out, "*%zu", section);
		buffer_append_string(out, "*=");
		if (section == 0)
			buffer_append_string(out, is_utf8 ? "UTF-8''" : "unknown-8bit''");
		append_percent(out, str_slice(value.data, length));
		value = str_skip(value, length);
		section++;
	} while (value.length > 0);
}

/* A name that says by '*' that its value is encoded: only what should be is missing. */
static void append_rest(struct buffer *out, struct str piece)
{
	for (size_t i = 0; i < piece.length; i++) {
		if ((unsigned char)piece.data[i] >= 0x80)
			buffer_append_format(out, "%%%02X", (unsigned char)piece.data[i]);
		else
			buffer_append_byte(out, piece.data[i]);
	}
}

/* One parameter, or what stands in its place. */
static void encode_piece(struct str piece, struct buffer *out)
{
	struct buffer meaning CLEANUP(buffer_clear) = {0};
	struct str value = piece;
	struct str name;
	size_t spaces = 0;

	while (spaces < piece.length && header_is_space(piece.data[spaces]))
		spaces++;
	(void)str_split(&value, '=', &name);
	name = header_trim(name);
	value = header_trim(value);
	if (!header_name_is_8bit(piece) || header_name_is_8bit(name) || name.length == 0 ||
	    value.length == 0 || str_find(name, '(') >= 0) {
		buffer_append_str(out, piece);
		return;
	}
	if (str_find(name, '*') >= 0) {
		append_rest(out, piece);
		return;
	}
	buffer_append(out, piece.data, spaces);
	append_unquoted_value(value, &meaning);
	append_sections(out, name, buffer_view(&meaning));
}

void header_parameters_encode(struct str body, struct buffer *out)
{
	while (body.length > 0) {
		struct str piece = str_slice(body.data, length_of_parameter(body));

		encode_piece(piece, out);
		body = str_skip(body, piece.length);
		if (body.length > 0)
			buffer_append_byte(out, ';');
		body = str_skip(body, 1);
	}
}
