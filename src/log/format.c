// SPDX-License-Identifier: ISC
/* Formats a line as text: logfmt or JSON. */
#include "base/text/json.h"
#include "log/internal.h"

enum { VALUE_MAX = 1000 }; /* longer values are cut */

static bool is_plain(struct str text)
{
	for (size_t i = 0; i < text.length; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c <= ' ' || c >= 0x7f || c == '"' || c == '=' || c == '\\')
			return false;
	}
	return text.length > 0;
}

static void append_escaped(struct buffer *line, char byte)
{
	static const char digits[] = "0123456789abcdef";
	unsigned char c = (unsigned char)byte;

	switch (byte) {
	case '"':
	case '\\':
		buffer_append_byte(line, '\\');
		buffer_append_byte(line, byte);
		return;
	case '\n':
		buffer_append_string(line, "\\n");
		return;
	case '\r':
		buffer_append_string(line, "\\r");
		return;
	case '\t':
		buffer_append_string(line, "\\t");
		return;
	default:
		break;
	}
	if (c >= ' ' && c < 0x7f) {
		buffer_append_byte(line, byte);
		return;
	}
	buffer_append_string(line, "\\x");
	buffer_append_byte(line, digits[c >> 4]);
	buffer_append_byte(line, digits[c & 15]);
}

bool log_value_is_number(struct str value)
{
	uint64_t number;

	if (value.length > 1 && value.data[0] == '-')
		value = str_skip(value, 1);
	return str_to_u64(value, &number) && (value.length == 1 || value.data[0] != '0');
}

void log_format_value(struct buffer *line, struct str text)
{
	bool is_cut = text.length > VALUE_MAX;

	if (is_cut)
		text.length = VALUE_MAX;
	if (!is_cut && is_plain(text) && !log_value_is_number(text)) {
		buffer_append_str(line, text);
		return;
	}
	buffer_append_byte(line, '"');
	for (size_t i = 0; i < text.length; i++)
		append_escaped(line, text.data[i]);
	buffer_append_string(line, is_cut ? "...\"" : "\"");
}

static void append_number(struct buffer *line, int64_t number)
{
	uint64_t size = (uint64_t)number;

	if (number < 0) {
		buffer_append_byte(line, '-');
		size = -size;
	}
	buffer_append_number(line, size);
}

static void append_field(struct buffer *line, const struct log_field *field)
{
	char id[MAIL_ID_SIZE];

	buffer_append_byte(line, ' ');
	buffer_append_string(line, field->key);
	buffer_append_byte(line, '=');
	switch (field->type) {
	case LOG_FIELD_STR:
		log_format_value(line, field->text);
		break;
	case LOG_FIELD_NUMBER:
		append_number(line, field->number);
		break;
	case LOG_FIELD_ID:
		mail_id_format(field->id, id);
		buffer_append_string(line, id);
		break;
	case LOG_FIELD_END:
		break;
	}
}

static void append_json_field(struct buffer *line, const struct log_field *field)
{
	char id[MAIL_ID_SIZE];

	json_field(line, field->key);
	switch (field->type) {
	case LOG_FIELD_STR:
		json_append_text(line, field->text);
		break;
	case LOG_FIELD_NUMBER:
		append_number(line, field->number);
		break;
	case LOG_FIELD_ID:
		mail_id_format(field->id, id);
		json_append_text(line, str_from(id));
		break;
	case LOG_FIELD_END:
		break;
	}
}

static void append_json_line(struct buffer *lines, const struct log_stamp *stamp,
			     enum log_name name, const struct log_field *fields)
{
	buffer_append_byte(lines, '{');
	json_field_text(lines, "time", str_from(stamp->time));
	json_field_text(lines, "level", str_from(log_event_level(name)));
	json_field_text(lines, "process", stamp->process);
	json_field_text(lines, "event", str_from(log_event_name(name)));
	for (; fields->type != LOG_FIELD_END; fields++)
		append_json_field(lines, fields);
	buffer_append_string(lines, "}\n");
}

static void append_logfmt_line(struct buffer *lines, const struct log_stamp *stamp,
			       enum log_name name, const struct log_field *fields)
{
	buffer_append_string(lines, "time=");
	buffer_append_string(lines, stamp->time);
	buffer_append_string(lines, " level=");
	buffer_append_string(lines, log_event_level(name));
	buffer_append_string(lines, " process=");
	buffer_append_str(lines, stamp->process);
	buffer_append_string(lines, " event=");
	buffer_append_string(lines, log_event_name(name));
	for (; fields->type != LOG_FIELD_END; fields++)
		append_field(lines, fields);
	buffer_append_byte(lines, '\n');
}

void log_format_line(struct buffer *lines, enum log_format format, const struct log_stamp *stamp,
		     enum log_name name, const struct log_field *fields)
{
	if (format == LOG_FORMAT_JSON)
		append_json_line(lines, stamp, name, fields);
	else
		append_logfmt_line(lines, stamp, name, fields);
}
