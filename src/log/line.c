// SPDX-License-Identifier: ISC
#include "log/line.h"
#include "log/internal.h"
#include <string.h>

/* The text after a collector's prefix; empty when there is no "time=". */
static struct str find_log_line_start(struct str text)
{
	static const struct str start = STR("time=");
	bool is_at_word = true;

	while (text.length > 0) {
		if (is_at_word && str_starts_with(text, start))
			break;
		is_at_word = text.data[0] == ' ';
		text = str_skip(text, 1);
	}
	return text;
}

static char unescape_log_byte(struct str *text)
{
	char byte = text->data[0];
	uint64_t code;

	*text = str_skip(*text, 1);
	switch (byte) {
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'x':
		if (text->length < 2 || !str_to_u64_hex(str_slice(text->data, 2), &code))
			return 'x';
		*text = str_skip(*text, 2);
		return (char)code;
	default:
		return byte;
	}
}

/* TEXT begins after the opening quote. */
static bool take_quoted_log_value(struct arena *arena, struct str *text, struct str *value_out)
{
	char *value = arena_alloc(arena, text->length + 1);
	size_t length = 0;

	while (text->length > 0) {
		char byte = text->data[0];

		*text = str_skip(*text, 1);
		if (byte == '"') {
			*value_out = str_slice(value, length);
			return true;
		}
		if (byte == '\\' && text->length > 0)
			byte = unescape_log_byte(text);
		value[length++] = byte;
	}
	return false;
}

static bool take_logfmt_pair(struct arena *arena, struct str *text, struct log_pair *pair)
{
	ptrdiff_t equals = str_find(*text, '=');
	ptrdiff_t space;

	if (equals <= 0)
		return false;
	pair->key = str_slice(text->data, (size_t)equals);
	if (str_find(pair->key, ' ') >= 0)
		return false;
	*text = str_skip(*text, (size_t)equals + 1);
	if (text->length > 0 && text->data[0] == '"') {
		*text = str_skip(*text, 1);
		pair->is_number = false;
		return take_quoted_log_value(arena, text, &pair->value);
	}
	space = str_find(*text, ' ');
	pair->value = str_slice(text->data, space >= 0 ? (size_t)space : text->length);
	pair->is_number = log_value_is_number(pair->value);
	*text = str_skip(*text, pair->value.length);
	return true;
}

bool log_line_parse(struct arena *arena, struct str text, struct log_line *line_out)
{
	ptrdiff_t object = str_find(text, '{');

	line_out->count = 0;
	if (object >= 0 && str_starts_with(str_skip(text, (size_t)object), STR("{\"time\":")))
		return log_line_parse_json(arena, str_skip(text, (size_t)object), line_out);
	text = find_log_line_start(text);
	while (text.length > 0 && line_out->count < LOG_LINE_FIELDS_MAX) {
		if (!take_logfmt_pair(arena, &text, &line_out->pairs[line_out->count]))
			return false;
		line_out->count++;
		text = str_trim(text);
	}
	return line_out->count > 0;
}

struct str log_line_get(const struct log_line *line, const char *key)
{
	for (size_t i = 0; i < line->count; i++)
		if (str_equal(line->pairs[i].key, str_from(key)))
			return line->pairs[i].value;
	return STR("");
}
