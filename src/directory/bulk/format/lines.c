// SPDX-License-Identifier: ISC
#include "directory/bulk/format/lines.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <string.h>

enum { PIECE = 64 * 1024 };

static const struct str BYTE_ORDER_MARK = {"\xef\xbb\xbf", 3};

static int fill_line_input(struct bulk_lines *lines)
{
	char *place = buffer_reserve(&lines->input, PIECE);
	ssize_t count = os_stream_read(lines->descriptor, place, PIECE);

	if (count < 0)
		return (int)count;
	buffer_commit(&lines->input, (size_t)count);
	lines->at_end = count == 0;
	return 0;
}

/* The length of the first complete line in the input, with its LF; 0: incomplete. */
static int find_end_of_first_line(struct bulk_lines *lines, size_t *length_out)
{
	size_t seen = 0;

	for (;;) {
		const char *data = buffer_data(&lines->input);
		const char *end = lines->input.length > seen
					  ? memchr(data + seen, '\n', lines->input.length - seen)
					  : NULL;
		int error;

		*length_out = end != NULL ? (size_t)(end - data) + 1 : lines->input.length;
		if (end != NULL || lines->at_end || lines->input.length > BULK_LINE_MAX)
			return 0;
		seen = lines->input.length;
		error = fill_line_input(lines);
		if (error < 0)
			return error;
	}
}

/* Drops the rest of a line over the limit. */
static int skip_long_line(struct bulk_lines *lines)
{
	for (;;) {
		ptrdiff_t end = str_find(buffer_view(&lines->input), '\n');
		int error;

		if (end >= 0) {
			buffer_consume(&lines->input, (size_t)end + 1);
			return -EMSGSIZE;
		}
		buffer_reset(&lines->input);
		if (lines->at_end)
			return -EMSGSIZE;
		error = fill_line_input(lines);
		if (error < 0)
			return error;
	}
}

static struct str strip_end(struct str line)
{
	if (line.length > 0 && line.data[line.length - 1] == '\n')
		line.length--;
	if (line.length > 0 && line.data[line.length - 1] == '\r')
		line.length--;
	return line;
}

/* Finds the next line without consuming it: *LENGTH_OUT bytes of the input. */
static int peek_next_line(struct bulk_lines *lines, struct str *line_out, size_t *length_out)
{
	int error = find_end_of_first_line(lines, length_out);

	if (error < 0)
		return error;
	*line_out = strip_end(str_slice(buffer_data(&lines->input), *length_out));
	return *length_out > 0;
}

int bulk_lines_next(struct bulk_lines *lines, struct str *line_out)
{
	struct str line;
	size_t length;
	int result;

	result = peek_next_line(lines, &line, &length);
	if (result <= 0)
		return result;
	lines->line = ++lines->number;
	if (length > BULK_LINE_MAX)
		return skip_long_line(lines);
	if (lines->number == 1 && str_starts_with(line, BYTE_ORDER_MARK))
		line = str_skip(line, BYTE_ORDER_MARK.length);
	buffer_reset(&lines->joined);
	buffer_append_str(&lines->joined, line);
	buffer_consume(&lines->input, length);
	*line_out = buffer_view(&lines->joined);
	return 1;
}

static bool is_ignored(struct str line)
{
	struct str text = str_trim(line);

	return text.length == 0 || text.data[0] == '#';
}

/* Whether LINE continues what was joined so far; removes a backslash at the end of that. */
static bool is_continuation_line(struct buffer *joined, struct str line)
{
	struct str so_far = buffer_view(joined);

	if (so_far.length > 0 && so_far.data[so_far.length - 1] == '\\') {
		buffer_truncate(joined, so_far.length - 1);
		return true;
	}
	return line.length > 0 && str_is_blank(line.data[0]);
}

/* Joins continuation lines; ignored lines may come between. */
static int join_continuation_lines(struct bulk_lines *lines)
{
	struct str line;
	size_t length;
	int result;

	while ((result = peek_next_line(lines, &line, &length)) > 0) {
		bool is_continued = lines->joined.length > 0 &&
				    buffer_data(&lines->joined)[lines->joined.length - 1] == '\\';

		if (!is_continued && is_ignored(line)) {
			if (length > BULK_LINE_MAX) {
				lines->number++;
				return skip_long_line(lines);
			}
		} else if (!is_continuation_line(&lines->joined, line)) {
			break;
		} else if (lines->joined.length + length > BULK_LINE_MAX) {
			lines->number++;
			return skip_long_line(lines);
		} else {
			buffer_append_str(&lines->joined, line);
		}
		lines->number++;
		buffer_consume(&lines->input, length);
	}
	return result < 0 ? result : 0;
}

int bulk_lines_next_logical(struct bulk_lines *lines, struct str *line_out)
{
	unsigned first;
	int result;

	do
		result = bulk_lines_next(lines, line_out);
	while (result > 0 && is_ignored(*line_out));
	if (result <= 0)
		return result;
	first = lines->line;
	result = join_continuation_lines(lines);
	lines->line = first;
	*line_out = buffer_view(&lines->joined);
	return result < 0 ? result : 1;
}

void bulk_lines_clear(struct bulk_lines *lines)
{
	buffer_clear(&lines->input);
	buffer_clear(&lines->joined);
}
