// SPDX-License-Identifier: ISC
#include "smtp/client/stuffing.h"
#include <string.h>

uint64_t smtp_stuffing_breaks(uint64_t length)
{
	if (length <= SMTP_STUFFING_LINE_MAX)
		return 0;
	return (length - 2) / (SMTP_STUFFING_LINE_MAX - 1); /* the inserted space counts */
}

/* Moves *POSITION to the end of its line, or of DATA. */
static bool skip_line_to_stuff(struct smtp_stuffing *stuffing, struct str data, size_t *position)
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
	*position = lf != NULL ? (size_t)(lf + 1 - data.data) : data.length;
	if (lf != NULL)
		stuffing->place = SMTP_STUFFING_LINE_START;
	else
		stuffing->place = cr != NULL ? SMTP_STUFFING_AFTER_CR : SMTP_STUFFING_IN_LINE;
	return true;
}

static bool stuff_lines(struct smtp_stuffing *stuffing, struct str data, struct buffer *out)
{
	size_t position = 0;
	const char *copied = data.data;

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
		if (!skip_line_to_stuff(stuffing, data, &position))
			return false;
	}
	buffer_append(out, copied, (size_t)(data.data + data.length - copied));
	return true;
}

bool smtp_stuffing_append(struct smtp_stuffing *stuffing, struct str data, struct buffer *out)
{
	struct buffer broken CLEANUP(buffer_clear) = {0};

	if (stuffing->is_raw) {
		buffer_append_str(out, data);
		return true;
	}
	if (!stuffing->breaks_lines)
		return stuff_lines(stuffing, data, out);
	header_lines_take(&stuffing->lines, data, &broken);
	return stuff_lines(stuffing, buffer_view(&broken), out);
}

/* The last line, if it has no end. */
static bool stuff_rest(struct smtp_stuffing *stuffing, struct buffer *out)
{
	struct buffer rest CLEANUP(buffer_clear) = {0};

	header_lines_end(&stuffing->lines, &rest);
	return stuff_lines(stuffing, buffer_view(&rest), out);
}

void smtp_stuffing_clear(struct smtp_stuffing *stuffing)
{
	header_lines_clear(&stuffing->lines);
}

bool smtp_stuffing_end(struct smtp_stuffing *stuffing, struct buffer *out)
{
	if (!stuff_rest(stuffing, out))
		return false;
	if (stuffing->place == SMTP_STUFFING_AFTER_CR)
		return false;
	if (stuffing->place == SMTP_STUFFING_IN_LINE)
		buffer_append_string(out, "\r\n");
	if (!stuffing->is_chunked)
		buffer_append_string(out, ".\r\n");
	return true;
}
