// SPDX-License-Identifier: ISC
/*
 * exchange/lines.h - the lines of a file, one at a time, in bounded memory.
 */
#ifndef EXCHANGE_LINES_H
#define EXCHANGE_LINES_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { EXCHANGE_LINE_MAX = 16 * 1024 * 1024 }; /* bytes of one, with what continues it */

struct exchange_lines {
	int descriptor; /* read from where it stands; not owned */
	unsigned line;  /* number of the line given last, of the first where several are joined */
	/* private */
	unsigned number; /* lines taken */
	struct buffer input;
	struct buffer joined;
	bool at_end;
};

/* The next line without its LF or CRLF; a UTF-8 byte order mark in front of the first is left
 * out. 1, and *LINE_OUT until the next call; 0 at the end; -EMSGSIZE: it is too long, the next
 * call goes on behind it; or -errno of the reading. */
MUST_CHECK int exchange_lines_next(struct exchange_lines *lines, struct str *line_out);
/* The next that is not empty and no comment ('#' in front), joined with the lines behind it that
 * begin with a space or tab, and with the next where it ends in a backslash. Results as above. */
MUST_CHECK int exchange_lines_next_logical(struct exchange_lines *lines, struct str *line_out);
/* Frees what it has; not the descriptor. */
void exchange_lines_clear(struct exchange_lines *lines);

#endif
