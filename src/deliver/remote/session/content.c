// SPDX-License-Identifier: ISC
#include "deliver/remote/session/content.h"
#include "smtp/client/stuffing.h"
#include <string.h>

enum { SCAN_MAX = 16 }; /* chunks; a longer message counts as 8-bit */

static void end_counted_line(struct remote_breaks *breaks)
{
	breaks->count += smtp_stuffing_breaks(breaks->length - breaks->ends_with_cr);
	breaks->length = 0;
	breaks->ends_with_cr = false;
}

static void extend_line(struct remote_breaks *breaks, const char *from, const char *to)
{
	breaks->length += (uint64_t)(to - from);
	if (to > from)
		breaks->ends_with_cr = to[-1] == '\r';
}

/* The last '\n' in SIZE bytes; NULL: no line ends. */
static const char *last_line_end(const char *from, size_t size)
{
	while (size > 0 && from[size - 1] != '\n')
		size--;
	return size > 0 ? from + size - 1 : NULL;
}

/* Skips many lines at a time; only a long line is examined for its end. */
void remote_breaks_count(struct remote_breaks *breaks, struct str data)
{
	const size_t longest = SMTP_STUFFING_LINE_MAX + 2;
	const char *from = data.data;
	const char *const end = data.data + data.length;

	while (from < end) {
		size_t left = (size_t)(end - from);
		const char *lf = NULL;

		if (breaks->length == 0)
			lf = last_line_end(from, left < longest ? left : longest);
		if (lf == NULL) {
			lf = memchr(from, '\n', left);
			extend_line(breaks, from, lf != NULL ? lf : end);
			if (lf == NULL)
				return;
			end_counted_line(breaks);
		}
		from = lf + 1;
	}
}

uint64_t remote_breaks_size(const struct remote_breaks *breaks)
{
	return 3 * (breaks->count + smtp_stuffing_breaks(breaks->length));
}

struct remote_content_needs remote_content_look(const struct ipc_content *content, char *chunk)
{
	struct remote_content_needs needs = {0};
	struct remote_breaks breaks = {0};
	uint64_t position = 0;

	for (int i = 0; i < SCAN_MAX && position < content->size; i++) {
		struct str part;

		if (ipc_content_read(content, position, chunk, REMOTE_CHUNK_SIZE, &part) < 0)
			break; /* the error occurs again when the message is sent */
		needs.is_8bit = needs.is_8bit || !str_is_ascii(part);
		remote_breaks_count(&breaks, part);
		position += part.length;
	}
	needs.is_8bit = needs.is_8bit || position < content->size;
	needs.breaks_size = remote_breaks_size(&breaks);
	needs.has_long_lines = needs.breaks_size > 0 || position < content->size;
	return needs;
}

/* The header at the start of DATA, which begins with a header line; all of DATA when its end is
 * not in DATA. */
static struct str header_in(struct str data)
{
	const char *end = memmem(data.data, data.length, "\r\n\r\n", 4);

	return end != NULL ? str_slice(data.data, (size_t)(end - data.data)) : data;
}

/* Of a header longer than a chunk only the chunk is known; the rest is assumed to be ASCII. This
 * does not matter for a local LMTP server, which stores any bytes. */
bool remote_content_has_8bit_header(const struct ipc_content *content, char *chunk)
{
	struct str part;

	return ipc_content_read(content, 0, chunk, REMOTE_CHUNK_SIZE, &part) == 0 &&
	       !str_is_ascii(header_in(part));
}

/* Takes the first field from *HEADER, with the lines that continue it. False: there is none. */
static bool take_header_field(struct str *header, struct str *field_out)
{
	size_t end = 0;

	if (header->length == 0)
		return false;
	do {
		ptrdiff_t line = str_find(str_skip(*header, end), '\n');

		end = line < 0 ? header->length : end + (size_t)line + 1;
	} while (end < header->length && (header->data[end] == ' ' || header->data[end] == '\t'));
	*field_out = str_slice(header->data, end);
	*header = str_skip(*header, end);
	return true;
}

bool remote_content_waives_tls(const struct ipc_content *content, char *chunk)
{
	struct str header;
	struct str field;

	if (ipc_content_read(content, 0, chunk, REMOTE_CHUNK_SIZE, &header) < 0)
		return false;
	header = header_in(header);
	while (take_header_field(&header, &field)) {
		struct str name = STR("");

		(void)str_split(&field, ':', &name);
		if (str_equal_nocase(name, STR("TLS-Required")) &&
		    str_equal_nocase(str_trim_folds(field), STR("No")))
			return true;
	}
	return false;
}
