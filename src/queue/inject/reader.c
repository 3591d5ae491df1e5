// SPDX-License-Identifier: ISC
#include "queue/inject/reader.h"
#include "os/stream/stream.h"
#include <errno.h>
#include <string.h>

enum { READER_READ_SIZE = 64 * 1024 };

static void end_injected_line(struct inject_reader *reader, struct buffer *out)
{
	reader->has_cr = false;
	if (reader->state == INJECT_READER_DOT) {
		reader->state = INJECT_READER_END;
		return;
	}
	buffer_append(out, "\r\n", 2);
	reader->state = INJECT_READER_START;
}

/* The number of bytes at the start of BYTES that are not line ends. */
static size_t plain_length(struct str bytes)
{
	const char *feed = memchr(bytes.data, '\n', bytes.length);
	size_t before = feed != NULL ? (size_t)(feed - bytes.data) : bytes.length;
	const char *cr = memchr(bytes.data, '\r', before);

	return cr != NULL ? (size_t)(cr - bytes.data) : before;
}

/* After a CR that does not end a line. */
static void end_return(struct inject_reader *reader, struct buffer *out)
{
	if (reader->state == INJECT_READER_DOT)
		buffer_append_byte(out, '.');
	buffer_append_byte(out, ' ');
	reader->has_cr = false;
	reader->state = INJECT_READER_MIDDLE;
}

static int append_line_text(const struct inject_reader *reader, struct str text, struct buffer *out)
{
	const char *nul;

	while ((nul = memchr(text.data, '\0', text.length)) != NULL) {
		if (!reader->removes_nul)
			return -EILSEQ;
		buffer_append(out, text.data, (size_t)(nul - text.data));
		text = str_skip(text, (size_t)(nul - text.data) + 1);
	}
	buffer_append_str(out, text);
	return 0;
}

/* The number of bytes taken, or an error. */
static ssize_t take_line_text(struct inject_reader *reader, struct str bytes, struct buffer *out)
{
	size_t length = plain_length(bytes);
	int error;

	if (reader->state == INJECT_READER_START && reader->dot_ends && bytes.data[0] == '.') {
		reader->state = INJECT_READER_DOT;
		return 1;
	}
	if (reader->state == INJECT_READER_DOT)
		buffer_append_byte(out, '.');
	reader->state = INJECT_READER_MIDDLE;
	error = append_line_text(reader, str_slice(bytes.data, length), out);
	return error < 0 ? error : (ssize_t)length;
}

int inject_reader_take(struct inject_reader *reader, struct str bytes, struct buffer *out)
{
	while (bytes.length > 0 && reader->state != INJECT_READER_END) {
		ssize_t taken = 1;

		if (bytes.data[0] == '\n') {
			end_injected_line(reader, out);
		} else if (bytes.data[0] == '\r') {
			reader->has_cr = true;
		} else {
			if (reader->has_cr)
				end_return(reader, out);
			taken = take_line_text(reader, bytes, out);
		}
		if (taken < 0)
			return (int)taken;
		bytes = str_skip(bytes, (size_t)taken);
	}
	return 0;
}

int inject_reader_finish(struct inject_reader *reader, struct buffer *out)
{
	if (reader->state == INJECT_READER_MIDDLE || reader->has_cr)
		end_injected_line(reader, out);
	reader->state = INJECT_READER_END;
	return 0;
}

int inject_reader_next(struct inject_reader *reader, struct buffer *out)
{
	char bytes[READER_READ_SIZE];
	ssize_t count;
	int error;

	if (reader->state == INJECT_READER_END)
		return 0;
	count = os_stream_read(reader->descriptor, bytes, sizeof bytes);
	if (count < 0)
		return (int)count;
	if (count == 0)
		error = inject_reader_finish(reader, out);
	else
		error = inject_reader_take(reader, str_slice(bytes, (size_t)count), out);
	return error < 0 ? error : 1;
}
