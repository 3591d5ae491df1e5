// SPDX-License-Identifier: ISC
/*
 * directory/bulk/format/lines.h - the lines of a file, one at a time, in bounded memory.
 */
#ifndef DIRECTORY_BULK_FORMAT_LINES_H
#define DIRECTORY_BULK_FORMAT_LINES_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { BULK_LINE_MAX = 16 * 1024 * 1024 }; /* bytes of a line and its continuations */

struct bulk_lines {
	int descriptor; /* read from its present position; not owned */
	unsigned line;  /* number of the last line returned, of the first if several were joined */
	/* private */
	unsigned number; /* lines consumed */
	struct buffer input;
	struct buffer joined;
	bool at_end;
};

/* The next line without its LF or CRLF, and without a UTF-8 byte order mark at the start of the
 * file. 1, and *LINE_OUT until the next call; 0 at the end; -EMSGSIZE: it is too long, and the next
 * call continues after it; or -errno if reading fails. */
MUST_CHECK int bulk_lines_next(struct bulk_lines *lines, struct str *line_out);
/* The next line that is neither empty nor a comment (begins with '#'), joined with the lines after
 * it that begin with a space or tab, and with the next one if it ends in a backslash. Returns as
 * above. */
MUST_CHECK int bulk_lines_next_logical(struct bulk_lines *lines, struct str *line_out);
/* Frees its memory; does not close the descriptor. */
void bulk_lines_clear(struct bulk_lines *lines);

#endif
