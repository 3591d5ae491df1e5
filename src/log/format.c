// SPDX-License-Identifier: ISC
/* Formats a line as text: logfmt or JSON. */
#include "base/text/json.h"
#include "log/internal.h"

enum { VALUE_MAX = 1000 }; /* longer values are cut */

/* Bytes that need no quotes: printable ASCII but for space, '"', '=' and '\\'. */
static const bool plain[256] = {
	['!'] = true,
	['#' ... '<'] = true,
	['>' ... '['] = true,
	[']' ... '~'] = true,
};

static bool is_plain_log_value(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (!plain[(unsigned char)text.data[i]])
			return false;
	return text.length > 0;
}

static void append_escaped_log_byte(struct buffer *line, char byte)
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
	ptrdiff_t point;
	uint64_t number;

	/* most are none */
	if (value.length == 0 ||
	    (value.data[0] > '9' || (value.data[0] < '0' && value.data[0] != '-')))
		return false;
	point = str_find(value, '.');
	if (point >= 0 && !str_is_digits(str_skip(value, (size_t)point + 1)))
		return false;
	if (point >= 0)
		value.length = (size_t)point;
	if (value.length > 1 && value.data[0] == '-')
		value = str_skip(value, 1);
	return str_to_u64(value, &number) && (value.length == 1 || value.data[0] != '0');
}

void log_format_value(struct buffer *line, struct str text)
{
	bool is_cut = text.length > VALUE_MAX;

	if (is_cut)
		text.length = VALUE_MAX;
	if (!is_cut && is_plain_log_value(text) && !log_value_is_number(text)) {
		buffer_append_str(line, text);
		return;
	}
	buffer_append_byte(line, '"');
	for (size_t i = 0; i < text.length; i++)
		append_escaped_log_byte(line, text.data[i]);
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

/* 1.482 */
static void append_seconds(struct buffer *line, int64_t microseconds)
{
	uint64_t milliseconds = (uint64_t)(microseconds > 0 ? microseconds : 0) / 1000;
	char decimals[] = {'.', (char)('0' + milliseconds / 100 % 10),
			   (char)('0' + milliseconds / 10 % 10), (char)('0' + milliseconds % 10)};

	buffer_append_number(line, milliseconds / 1000);
	buffer_append(line, decimals, sizeof decimals);
}

static void append_id(struct buffer *line, struct mail_id id)
{
	char text[MAIL_ID_SIZE];

	mail_id_format(id, text);
	buffer_append_string(line, text);
}

static void append_field_value(struct buffer *line, const struct log_field *field,
			       enum log_format format)
{
	switch (field->kind) {
	case LOG_TEXT:
	case LOG_SENDER:
		if (format == LOG_FORMAT_JSON)
			json_append_text(line, field->text);
		else
			log_format_value(line, field->text);
		break;
	case LOG_NUMBER:
		append_number(line, field->number);
		break;
	case LOG_SECONDS:
		append_seconds(line, field->number);
		break;
	case LOG_ID:
		if (format == LOG_FORMAT_JSON)
			buffer_append_byte(line, '"');
		append_id(line, field->id);
		if (format == LOG_FORMAT_JSON)
			buffer_append_byte(line, '"');
		break;
	case LOG_NONE:
	case LOG_END:
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
	for (; fields->kind != LOG_END; fields++) {
		if (fields->kind == LOG_NONE)
			continue;
		json_field(lines, log_field_rows[fields->key].name.data);
		append_field_value(lines, fields, LOG_FORMAT_JSON);
	}
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
	for (; fields->kind != LOG_END; fields++) {
		if (fields->kind == LOG_NONE)
			continue;
		buffer_append_str(lines, log_field_rows[fields->key].start);
		append_field_value(lines, fields, LOG_FORMAT_LOGFMT);
	}
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
