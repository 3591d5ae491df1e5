// SPDX-License-Identifier: ISC
#include "queue/control/trailer.h"
#include "base/checksum.h"
#include "base/panic.h"
#include "os/file/file.h"
#include "queue/control/control.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE = QUEUE_TRAILER_LINE,
	TAIL = 4096, /* read at once: nearly every envelope is shorter */
};

bool queue_trailer_parse(struct str line, uint64_t *offset_out)
{
	return str_starts_with(line, STR("at: ")) && line.data[LINE - 1] == '\n' &&
	       str_to_u64(str_slice(line.data + 4, LINE - 5), offset_out);
}

static void append_offset_line(struct buffer *data, uint64_t offset)
{
	char line[] = "at: 00000000000000000000\n";

	_Static_assert(sizeof line == LINE + 1, "all of the line");
	for (size_t i = LINE - 2; offset > 0; offset /= 10)
		line[i--] = (char)('0' + offset % 10);
	buffer_append(data, line, LINE);
}

void queue_trailer_append(struct buffer *data, uint64_t offset, struct str text)
{
	(void)buffer_reserve(data, text.length + LINE + 1);
	buffer_append_str(data, text);
	append_offset_line(data, offset);
}

int queue_trailer_write(int file, uint64_t offset, struct str text, uint64_t *end_out)
{
	struct buffer trailer CLEANUP(buffer_clear) = {0};

	queue_trailer_append(&trailer, offset, text);
	*end_out = offset + trailer.length;
	return os_file_write(file, buffer_data(&trailer), trailer.length, offset);
}

/* Reads exactly SIZE bytes: a file that was truncated meanwhile is damaged. */
static int read_part_of_trailer(int file, char *to, size_t size, uint64_t offset)
{
	ssize_t length = os_file_read(file, to, size, offset);

	if (length < 0)
		return (int)length;
	return (size_t)length == size ? 0 : -EBADMSG;
}

int queue_trailer_read(int file, struct buffer *text, uint64_t *offset_out)
{
	struct os_file_info info;
	char tail[TAIL];
	uint64_t offset;
	size_t length;
	size_t have;
	char *out;
	int result = os_file_info(file, &info);

	if (result < 0)
		return result;
	have = info.size < sizeof tail ? (size_t)info.size : sizeof tail;
	if (have < LINE)
		return -ENODATA;
	result = read_part_of_trailer(file, tail, have, info.size - have);
	if (result < 0)
		return result;
	if (!queue_trailer_parse(str_slice(tail + have - LINE, LINE), &offset) ||
	    offset > info.size - LINE)
		return -ENODATA;
	if (info.size - LINE - offset > QUEUE_CONTROL_MAX)
		return -EFBIG;
	length = (size_t)(info.size - LINE - offset);
	*offset_out = offset;
	if (length <= have - LINE) {
		buffer_append(text, tail + have - LINE - length, length);
		return 0;
	}
	out = buffer_reserve(text, length);
	result = read_part_of_trailer(file, out, length, offset);
	if (result == 0)
		buffer_commit(text, length);
	return result;
}

int queue_trailer_checksum(int file, uint64_t size, uint32_t *checksum_out)
{
	enum { PIECE = 128 * 1024 };
	char *piece = memory_alloc(PIECE);
	uint32_t checksum = 0;
	uint64_t have = 0;
	int result = 0;

	while (result == 0 && have < size) {
		size_t wanted = size - have < PIECE ? (size_t)(size - have) : PIECE;
		ssize_t length = os_file_read(file, piece, wanted, have);

		if (length < 0)
			result = (int)length;
		else if ((size_t)length < wanted)
			result = -EBADMSG;
		else
			checksum = checksum_extend(checksum, piece, wanted);
		have += wanted;
	}
	free(piece);
	*checksum_out = checksum;
	return result;
}
