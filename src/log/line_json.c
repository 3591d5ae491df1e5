// SPDX-License-Identifier: ISC
/* Parses a log line in JSON: one object whose values are texts or numbers. */
#include "log/internal.h"

static bool take_byte(struct str *text, char byte)
{
	if (text->length == 0 || text->data[0] != byte)
		return false;
	*text = str_skip(*text, 1);
	return true;
}

/* After a backslash. \\uNNNN is only written for control characters. */
static bool take_escape(struct str *text, char *byte_out)
{
	char byte;
	uint64_t code;

	if (text->length == 0)
		return false;
	byte = text->data[0];
	*text = str_skip(*text, 1);
	*byte_out = byte == 'n' ? '\n' : byte;
	if (byte != 'u')
		return true;
	if (text->length < 4 || !str_to_u64_hex(str_slice(text->data, 4), &code) || code > 0x7f)
		return false;
	*text = str_skip(*text, 4);
	*byte_out = (char)code;
	return true;
}

static bool take_text(struct arena *arena, struct str *text, struct str *value_out)
{
	char *value = arena_alloc(arena, text->length + 1);
	size_t length = 0;

	if (!take_byte(text, '"'))
		return false;
	while (text->length > 0) {
		char byte = text->data[0];

		*text = str_skip(*text, 1);
		if (byte == '"') {
			*value_out = str_slice(value, length);
			return true;
		}
		if (byte == '\\' && !take_escape(text, &byte))
			return false;
		value[length++] = byte;
	}
	return false;
}

static bool take_number(struct str *text, struct str *value_out)
{
	size_t length = 0;

	while (length < text->length && text->data[length] != ',' && text->data[length] != '}')
		length++;
	*value_out = str_slice(text->data, length);
	*text = str_skip(*text, length);
	return length > 0;
}

static bool take_pair(struct arena *arena, struct str *text, struct log_pair *pair)
{
	if (!take_text(arena, text, &pair->key) || !take_byte(text, ':') || text->length == 0)
		return false;
	pair->is_number = false;
	if (text->data[0] == '"')
		return take_text(arena, text, &pair->value);
	if (!take_number(text, &pair->value))
		return false;
	pair->is_number = log_value_is_number(pair->value);
	return true;
}

bool log_line_parse_json(struct arena *arena, struct str text, struct log_line *line_out)
{
	line_out->count = 0;
	if (!take_byte(&text, '{'))
		return false;
	do {
		if (line_out->count == LOG_LINE_FIELDS_MAX ||
		    !take_pair(arena, &text, &line_out->pairs[line_out->count]))
			return false;
		line_out->count++;
	} while (take_byte(&text, ','));
	return take_byte(&text, '}');
}
