// SPDX-License-Identifier: ISC
#include "mail/text.h"
#include "mailbox/internal.h"
#include "os/file.h"
#include <errno.h>
#include <string.h>

struct writer {
	struct maildir *maildir;
	int file;
	uint64_t written;
	uint64_t lines_added; /* LF that a reader turns into CRLF */
	bool held_cr;         /* the last byte was CR: what follows decides */
	char last;            /* byte appended */
};

static int flush(struct writer *writer)
{
	struct buffer *output = &writer->maildir->output;
	int result =
		os_file_write(writer->file, buffer_data(output), output->length, writer->written);

	writer->written += output->length;
	buffer_reset(output);
	return result;
}

static void append(struct writer *writer, const char *data, size_t length)
{
	if (length == 0)
		return;
	buffer_append(&writer->maildir->output, data, length);
	writer->last = data[length - 1];
}

static void append_newline(struct writer *writer)
{
	if (writer->last != '\r')
		writer->lines_added++;
	append(writer, "\n", 1);
}

/* Appends DATA with CRLF as LF; a CR elsewhere stays. */
static void convert(struct writer *writer, const char *data, size_t length)
{
	const char *end = data + length;

	while (data < end) {
		const char *stop = data;

		if (writer->held_cr && *data != '\n')
			append(writer, "\r", 1);
		writer->held_cr = false;
		while (stop < end && *stop != '\r' && *stop != '\n')
			stop++;
		append(writer, data, (size_t)(stop - data));
		if (stop < end && *stop == '\r')
			writer->held_cr = true;
		else if (stop < end)
			append_newline(writer);
		data = stop + 1;
	}
}

static void append_header(struct writer *writer, const char *before, struct str text,
			  const char *after)
{
	struct buffer *output = &writer->maildir->output;

	buffer_append_string(output, before);
	mail_text_append(output, text, MAIL_TEXT_8BIT);
	buffer_append_string(output, after);
	writer->last = '\0';
	append_newline(writer);
}

/* The next line of REST without its CRLF; false at the end of the header. */
static bool next_header_line(struct str *rest, struct str *line)
{
	if (!str_split(rest, '\n', line))
		return false;
	if (line->length > 0 && line->data[line->length - 1] == '\r')
		line->length--;
	return line->length > 0;
}

/* HEADER may be cut: a loop longer than a block of Received lines is stopped by
 * their number. */
static bool is_loop(struct str header, struct str recipient)
{
	static const struct str name = {"delivered-to:", 13};
	struct str line;

	while (next_header_line(&header, &line)) {
		if (line.length > name.length &&
		    str_equal_nocase(str_slice(line.data, name.length), name) &&
		    str_equal_nocase(str_trim(str_skip(line, name.length)), recipient))
			return true;
	}
	return false;
}

static int write_message(struct writer *writer, const struct maildir_delivery *delivery)
{
	uint64_t offset = 0;

	while (offset < delivery->size) {
		uint64_t rest = delivery->size - offset;
		ssize_t got =
			os_file_read(delivery->file, writer->maildir->input,
				     rest < MAILDIR_BLOCK ? (size_t)rest : MAILDIR_BLOCK, offset);
		int result;

		if (got <= 0)
			return got < 0 ? (int)got : -EIO; /* shorter than was promised */
		if (offset == 0 &&
		    is_loop(str_slice(writer->maildir->input, (size_t)got), delivery->recipient))
			return MAILDIR_LOOP;
		convert(writer, writer->maildir->input, (size_t)got);
		offset += (uint64_t)got;
		if (offset == delivery->size && writer->held_cr)
			append(writer, "\r", 1);
		result = flush(writer);
		if (result < 0)
			return result;
	}
	return 0;
}

int maildir_write(struct maildir *maildir, const struct maildir_delivery *delivery, int file,
		  uint64_t *size_out, uint64_t *virtual_size_out)
{
	struct writer writer = {.maildir = maildir, .file = file};
	int result;

	buffer_reset(&maildir->output);
	append_header(&writer, "Return-Path: <", delivery->sender, ">");
	append_header(&writer, "Delivered-To: ", delivery->recipient, "");
	result = delivery->size == 0 ? flush(&writer) : write_message(&writer, delivery);
	if (result != 0)
		return result;
	*size_out = writer.written;
	*virtual_size_out = writer.written + writer.lines_added;
	return 0;
}
