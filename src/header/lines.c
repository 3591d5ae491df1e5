// SPDX-License-Identifier: ISC
#include "header/lines.h"
#include <string.h>

enum { WHOLE_MAX = HEADER_LINE_MAX + 2, BACK_MAX = 3 };

/* Whether a break at POSITION would leave no more than a field's name, with its colon or without.
 */
static bool is_after_name(const char *line, size_t position)
{
	size_t next = position;

	while (next < HEADER_LINE_MAX && str_is_blank(line[next]))
		next++;
	return line[position - 1] == ':' ||
	       (line[next] == ':' && memchr(line, ':', position) == NULL);
}

/* Where to break a line that is too long: before a space that does not only have spaces before it;
 * otherwise at the limit, but not inside a character of UTF-8. */
static size_t find_line_break(const char *line)
{
	size_t position = HEADER_LINE_MAX;
	size_t first = 0;

	while (first < HEADER_LINE_MAX && str_is_blank(line[first]))
		first++;
	while (position > first && !str_is_blank(line[position]))
		position--;
	if (position > first && !is_after_name(line, position))
		return position;
	position = HEADER_LINE_MAX;
	for (unsigned i = 0; i < BACK_MAX && ((unsigned char)line[position] & 0xc0) == 0x80; i++)
		position--;
	return position;
}

static void break_line(struct header_lines *lines, struct buffer *out)
{
	const char *line = buffer_data(&lines->line);
	size_t position = find_line_break(line);
	bool has_space = str_is_blank(line[position]);
	struct buffer rest = {0};

	lines->breaks++;
	buffer_append(out, line, position);
	buffer_append(out, "\r\n", 2);
	if (!has_space)
		buffer_append_byte(&rest, ' ');
	buffer_append(&rest, line + position, lines->line.length - position);
	buffer_clear(&lines->line);
	lines->line = rest;
}

/* The length of the lines at the start of TEXT that are complete and short. */
static size_t short_lines(struct str text)
{
	size_t done = 0;

	while (done < text.length) {
		size_t left = text.length - done;
		const char *feed =
			memchr(text.data + done, '\n', left < WHOLE_MAX ? left : WHOLE_MAX);

		if (feed == NULL)
			break;
		done = (size_t)(feed - text.data) + 1;
	}
	return done;
}

static size_t take_part_of_line(struct header_lines *lines, struct str text, struct buffer *out)
{
	size_t room = WHOLE_MAX - lines->line.length;
	size_t length = text.length < room ? text.length : room;
	const char *feed = memchr(text.data, '\n', length);

	if (feed != NULL)
		length = (size_t)(feed - text.data) + 1;
	buffer_append(&lines->line, text.data, length);
	if (feed != NULL)
		header_lines_end(lines, out);
	else if (lines->line.length == WHOLE_MAX)
		break_line(lines, out);
	return length;
}

void header_lines_take(struct header_lines *lines, struct str text, struct buffer *out)
{
	while (text.length > 0) {
		size_t length = lines->line.length == 0 ? short_lines(text) : 0;

		if (length > 0)
			buffer_append(out, text.data, length);
		else
			length = take_part_of_line(lines, text, out);
		text = str_skip(text, length);
	}
}

void header_lines_end(struct header_lines *lines, struct buffer *out)
{
	struct str line = buffer_view(&lines->line);

	if (line.length > HEADER_LINE_MAX && line.data[line.length - 1] != '\n')
		break_line(lines, out);
	buffer_append_str(out, buffer_view(&lines->line));
	buffer_reset(&lines->line);
}

void header_lines_clear(struct header_lines *lines)
{
	buffer_clear(&lines->line);
}
