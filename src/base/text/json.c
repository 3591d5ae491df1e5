// SPDX-License-Identifier: ISC
#include "base/text/json.h"
#include "base/text/utf8.h"
#include "base/timestamp.h"
#include <inttypes.h>

static void append_byte(struct buffer *out, char byte)
{
	unsigned char c = (unsigned char)byte;

	if (byte == '"' || byte == '\\') {
		buffer_append_byte(out, '\\');
		buffer_append_byte(out, byte);
	} else if (byte == '\n') {
		buffer_append_string(out, "\\n");
	} else if (c < 0x20 || c == 0x7f) {
		buffer_append_format(out, "\\u%04x", c);
	} else {
		buffer_append_byte(out, byte);
	}
}

void json_append_text(struct buffer *out, struct str text)
{
	buffer_append_byte(out, '"');
	while (text.length > 0) {
		size_t length = utf8_length(text);

		if (length == 0)
			buffer_append_string(out, "\xef\xbf\xbd");
		else if (length == 1)
			append_byte(out, text.data[0]);
		else if (!utf8_is_harmless(utf8_code_point(text)))
			buffer_append_format(out, "\\u%04" PRIx32, utf8_code_point(text));
		else
			buffer_append(out, text.data, length);
		text = str_skip(text, length > 0 ? length : 1);
	}
	buffer_append_byte(out, '"');
}

void json_field(struct buffer *out, const char *name)
{
	char last = out->length > 0 ? buffer_data(out)[out->length - 1] : '{';

	if (last != '{' && last != '[')
		buffer_append_byte(out, ',');
	json_append_text(out, str_from(name));
	buffer_append_byte(out, ':');
}

void json_field_text(struct buffer *out, const char *name, struct str text)
{
	json_field(out, name);
	json_append_text(out, text);
}

void json_field_time(struct buffer *out, const char *name, int64_t time_us)
{
	char text[TIMESTAMP_SIZE];

	timestamp_format_seconds(time_us, text);
	json_field_text(out, name, str_from(text));
}

void json_field_number(struct buffer *out, const char *name, uint64_t value)
{
	json_field(out, name);
	buffer_append_number(out, value);
}
