// SPDX-License-Identifier: ISC
#include "smtp/client/stuffing.h"
#include <string.h>

uint64_t smtp_stuffing_breaks(uint64_t length)
{
	if (length <= SMTP_STUFFING_LINE_MAX)
		return 0;
	return (length - 2) / (SMTP_STUFFING_LINE_MAX - 1); /* the inserted space counts */
}

/* TEXT is inside a line, and everything before it from *COPIED on has yet to be copied. */
static void break_line(struct smtp_stuffing *stuffing, struct str text, const char **copied,
		       struct buffer *out)
{
	while (stuffing->column + text.length > SMTP_STUFFING_LINE_MAX) {
		text = str_skip(text, SMTP_STUFFING_LINE_MAX - stuffing->column);
		buffer_append(out, *copied, (size_t)(text.data - *copied));
		buffer_append_string(out, "\r\n ");
		*copied = text.data;
		stuffing->column = 1;
	}
	stuffing->column += text.length;
}

/* Moves *POSITION to the end of its line, or of DATA. *TEXT_OUT is what was skipped, without its
 * line end. */
static bool skip_line(struct smtp_stuffing *stuffing, struct str data, size_t *position,
		      struct str *text_out)
{
	const char *start = data.data + *position;
	const char *end = data.data + data.length;
	const char *lf = memchr(start, '\n', (size_t)(end - start));
	const char *stop = lf != NULL ? lf : end;
	const char *cr = memchr(start, '\r', (size_t)(stop - start));

	if (cr != NULL && cr + 1 != stop)
		return false;
	if (lf != NULL && cr == NULL)
		return false;
	*text_out = str_slice(start, (size_t)((cr != NULL ? cr : stop) - start));
	*position = lf != NULL ? (size_t)(lf + 1 - data.data) : data.length;
	if (lf != NULL)
		stuffing->place = SMTP_STUFFING_LINE_START;
	else
		stuffing->place = cr != NULL ? SMTP_STUFFING_AFTER_CR : SMTP_STUFFING_IN_LINE;
	return true;
}

bool smtp_stuffing_append(struct smtp_stuffing *stuffing, struct str data, struct buffer *out)
{
	size_t position = 0;
	const char *copied = data.data;
	struct str text;

	if (stuffing->is_raw) {
		buffer_append_str(out, data);
		return true;
	}
	if (data.length > 0 && stuffing->place == SMTP_STUFFING_AFTER_CR) {
		if (data.data[0] != '\n')
			return false;
		stuffing->place = SMTP_STUFFING_LINE_START;
		position = 1;
	}
	while (position < data.length) {
		if (stuffing->place == SMTP_STUFFING_LINE_START && data.data[position] == '.' &&
		    !stuffing->is_chunked) {
			buffer_append(out, copied, (size_t)(data.data + position - copied));
			buffer_append_byte(out, '.');
			copied = data.data + position;
		}
		if (stuffing->place == SMTP_STUFFING_LINE_START)
			stuffing->column = 0;
		if (!skip_line(stuffing, data, &position, &text))
			return false;
		if (stuffing->breaks_lines)
			break_line(stuffing, text, &copied, out);
	}
	buffer_append(out, copied, (size_t)(data.data + data.length - copied));
	return true;
}

bool smtp_stuffing_end(struct smtp_stuffing *stuffing, struct buffer *out)
{
	if (stuffing->place == SMTP_STUFFING_AFTER_CR)
		return false;
	if (stuffing->place == SMTP_STUFFING_IN_LINE)
		buffer_append_string(out, "\r\n");
	if (!stuffing->is_chunked)
		buffer_append_string(out, ".\r\n");
	return true;
}
