// SPDX-License-Identifier: ISC
/*
 * queue/inject/reader.h - reads a message from a local program: lines that end with LF or with
 * CRLF. The output has CRLF everywhere.
 *
 * A CR without an LF after it becomes a space, or nothing before a line end, as with
 * SMTP_BARE_NEWLINE_NORMALIZE (smtp/server/server.h): other mail systems disagree on its meaning. A
 * last line without an end gets one.
 */
#ifndef QUEUE_INJECT_READER_H
#define QUEUE_INJECT_READER_H

#include "base/attributes.h"
#include "base/buffer.h"

enum inject_reader_state {
	INJECT_READER_START,  /* of a line */
	INJECT_READER_DOT,    /* after a dot at the start of a line, held back */
	INJECT_READER_MIDDLE, /* of a line */
	INJECT_READER_END,
};

struct inject_reader {
	int descriptor;
	bool dot_ends;    /* a line with a single dot ends the message, as does the end of the
			   * file */
	bool removes_nul; /* otherwise NULs are refused */
	bool has_cr;      /* the last byte was a CR, held back */
	enum inject_reader_state state;
};

/* Appends the next piece of the message, about 128 KiB at most: 1, or 0 at the end of the
 * message. -EILSEQ for a NUL; errors of reading. */
MUST_CHECK int inject_reader_next(struct inject_reader *reader, struct buffer *out);

/* The same for bytes that are in memory already: 0 or -EILSEQ. */
MUST_CHECK int inject_reader_take(struct inject_reader *reader, struct str bytes,
				  struct buffer *out);
/* No more bytes come. */
MUST_CHECK int inject_reader_finish(struct inject_reader *reader, struct buffer *out);

#endif
