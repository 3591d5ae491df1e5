// SPDX-License-Identifier: ISC
#include "smtp/client_stuffing.h"
#include <string.h>

/* Moves *POSITION behind the line that it stands in, or to the end of DATA. */
static bool skip_line(struct smtp_stuffing *stuffing, struct str data, size_t *position)
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

bool smtp_stuffing_append(struct smtp_stuffing *stuffing, struct str data, struct buffer *out)
{
	size_t position = 0;
	size_t copied = 0;

	if (data.length > 0 && stuffing->place == SMTP_STUFFING_AFTER_CR) {
		if (data.data[0] != '\n')
			return false;
		stuffing->place = SMTP_STUFFING_LINE_START;
		position = 1;
	}
	while (position < data.length) {
		if (stuffing->place == SMTP_STUFFING_LINE_START && data.data[position] == '.') {
			buffer_append(out, data.data + copied, position - copied);
			buffer_append_byte(out, '.');
			copied = position;
		}
		if (!skip_line(stuffing, data, &position))
			return false;
	}
	buffer_append(out, data.data + copied, data.length - copied);
	return true;
}

bool smtp_stuffing_end(struct smtp_stuffing *stuffing, struct buffer *out)
{
	if (stuffing->place == SMTP_STUFFING_AFTER_CR)
		return false;
	if (stuffing->place == SMTP_STUFFING_IN_LINE)
		buffer_append_string(out, "\r\n");
	buffer_append_string(out, ".\r\n");
	return true;
}
