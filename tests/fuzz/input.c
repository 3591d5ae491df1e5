// SPDX-License-Identifier: ISC
#include "input.h"
#include "base/panic.h"

unsigned input_byte(struct input *input)
{
	unsigned byte;

	if (input->rest.length == 0)
		return 0;
	byte = (unsigned char)input->rest.data[0];
	input->rest = str_skip(input->rest, 1);
	return byte;
}

uint32_t input_u32(struct input *input)
{
	uint32_t value = 0;

	for (unsigned shift = 0; shift < 32; shift += 8)
		value |= (uint32_t)input_byte(input) << shift;
	return value;
}

struct str input_text(struct input *input)
{
	size_t length = input_byte(input);
	struct str text;

	if (length == 255 || length > input->rest.length)
		length = input->rest.length;
	text = str_slice(input->rest.data, length);
	input->rest = str_skip(input->rest, length);
	return text;
}

void check_equal(struct str a, struct str b, const char *what)
{
	if (!str_equal(a, b))
		panic("%s differ:\n" STR_FORMAT "\n" STR_FORMAT, what, STR_ARGUMENTS(a),
		      STR_ARGUMENTS(b));
}

void check_line_ends(struct str text)
{
	if (has_bare_line_end(text))
		panic("a CR or LF stands alone in:\n" STR_FORMAT, STR_ARGUMENTS(text));
}

void check_printable_lines(struct str text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.data[i] != '\n' && (text.data[i] < ' ' || text.data[i] > '~'))
			panic("byte %zu is not printable in:\n" STR_FORMAT, i, STR_ARGUMENTS(text));
	if (text.length > 0 && text.data[text.length - 1] != '\n')
		panic("a line without an end");
}

void append_arrived(struct buffer *out, struct str message)
{
	if (message.length > 0 && (message.data[0] == ' ' || message.data[0] == '\t'))
		buffer_append_string(out, "\r\n");
	buffer_append_str(out, message);
	if (message.length > 0 && message.data[message.length - 1] != '\n')
		buffer_append_string(out, "\r\n");
}
