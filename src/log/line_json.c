// SPDX-License-Identifier: ISC
/* Parses a log line in JSON: one object whose values are texts or numbers. */
#include "log/internal.h"

static bool take_json_line_byte(struct str *text, char byte)
{
	if (text->length == 0 || text->data[0] != byte)
		return false;
	*text = str_skip(*text, 1);
	return true;
}

/* CODE as UTF-8, and how many bytes that is. */
static size_t put_character(unsigned code, char *out)
{
	if (code < 0x80) {
		out[0] = (char)code;
		return 1;
	}
	if (code < 0x800) {
		out[0] = (char)(0xc0 | code >> 6);
		out[1] = (char)(0x80 | (code & 0x3f));
		return 2;
	}
	out[0] = (char)(0xe0 | code >> 12);
	out[1] = (char)(0x80 | (code >> 6 & 0x3f));
	out[2] = (char)(0x80 | (code & 0x3f));
	return 3;
}

/* After a backslash. \\uNNNN is written for what a terminal obeys, or shows as something else; no
 * such character needs two of them. */
static bool take_json_line_escape(struct str *text, char *out, size_t *length)
{
	char byte;
	uint64_t code;

	if (text->length == 0)
		return false;
	byte = text->data[0];
	*text = str_skip(*text, 1);
	if (byte != 'u') {
		out[(*length)++] = byte == 'n' ? '\n' : byte;
		return true;
	}
	if (text->length < 4 || !str_to_u64_hex(str_slice(text->data, 4), &code) ||
	    (code >= 0xd800 && code <= 0xdfff))
		return false;
	*text = str_skip(*text, 4);
	*length += put_character((unsigned)code, out + *length);
	return true;
}

static bool take_json_line_text(struct arena *arena, struct str *text, struct str *value_out)
{
	char *value = arena_alloc(arena, text->length + 1);
	size_t length = 0;

	if (!take_json_line_byte(text, '"'))
		return false;
	while (text->length > 0) {
		char byte = text->data[0];

		*text = str_skip(*text, 1);
		if (byte == '"') {
			*value_out = str_slice(value, length);
			return true;
		}
		if (byte != '\\')
			value[length++] = byte;
		else if (!take_json_line_escape(text, value, &length))
			return false;
	}
	return false;
}

static bool take_json_line_number(struct str *text, struct str *value_out)
{
	size_t length = 0;

	while (length < text->length && text->data[length] != ',' && text->data[length] != '}')
		length++;
	*value_out = str_slice(text->data, length);
	*text = str_skip(*text, length);
	return length > 0;
}

static bool take_json_line_pair(struct arena *arena, struct str *text, struct log_pair *pair)
{
	if (!take_json_line_text(arena, text, &pair->key) || !take_json_line_byte(text, ':') ||
	    text->length == 0)
		return false;
	pair->is_number = false;
	if (text->data[0] == '"')
		return take_json_line_text(arena, text, &pair->value);
	if (!take_json_line_number(text, &pair->value))
		return false;
	pair->is_number = log_value_is_number(pair->value);
	return true;
}

bool log_line_parse_json(struct arena *arena, struct str text, struct log_line *line_out)
{
	line_out->count = 0;
	if (!take_json_line_byte(&text, '{'))
		return false;
	do {
		if (line_out->count == LOG_LINE_FIELDS_MAX ||
		    !take_json_line_pair(arena, &text, &line_out->pairs[line_out->count]))
			return false;
		line_out->count++;
	} while (take_json_line_byte(&text, ','));
	return take_json_line_byte(&text, '}');
}
