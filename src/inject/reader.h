// SPDX-License-Identifier: ISC
/*
 * inject/reader.h - a message as programs on this machine hand it over: lines
 * that end with LF or with CRLF. It comes out with CRLF everywhere.
 *
 * A CR without an LF after it becomes a space, or nothing before a line end, as
 * with users' programs that come by the network (smtp/server.h): other mail systems
 * disagree on what it means. A last line without its end gets one.
 */
#ifndef INJECT_READER_H
#define INJECT_READER_H

#include "base/attributes.h"
#include "base/buffer.h"

enum inject_reader_state {
	INJECT_READER_START,  /* of a line */
	INJECT_READER_DOT,    /* after a dot that starts one, kept back */
	INJECT_READER_MIDDLE, /* of a line */
	INJECT_READER_END,
};

struct inject_reader {
	int descriptor;
	bool dot_ends;    /* a line of one dot is the end, as is the end of the file */
	bool removes_nul; /* otherwise NULs are refused */
	bool has_cr;      /* the last byte was a CR, kept back */
	enum inject_reader_state state;
};

/* Appends the next piece of the message, at most some 128 KiB: 1, or 0 when the
 * message is at its end. -EILSEQ for a NUL; errors of reading. */
MUST_CHECK int inject_reader_next(struct inject_reader *reader, struct buffer *out);

/* The same for bytes that are in memory already: 0 or -EILSEQ. */
MUST_CHECK int inject_reader_take(struct inject_reader *reader, struct str bytes,
				  struct buffer *out);
/* No more bytes come. */
MUST_CHECK int inject_reader_finish(struct inject_reader *reader, struct buffer *out);

#endif
