// SPDX-License-Identifier: ISC
/*
 * header/lines.h - breaks lines that are too long for SMTP (RFC 5322 section 2.1.1), of a header or
 * a body, while they pass.
 *
 * A line is broken before its last space, which then begins the next one, so that a header field is
 * folded and no word is changed. Without a space, or with only that after a field's name, one is
 * inserted, though not amid a character of UTF-8: what follows must not look like the end of a
 * part, or a field.
 */
#ifndef HEADER_LINES_H
#define HEADER_LINES_H

#include "base/buffer.h"

enum { HEADER_LINE_MAX = 998 }; /* bytes without CRLF */

struct header_lines {
	struct buffer line; /* what has no end yet */
	uint64_t breaks;    /* that were added */
};

/* The next piece of a text in CRLF lines; appends it to OUT, but for the last line if it is not
 * complete. */
void header_lines_take(struct header_lines *lines, struct str text, struct buffer *out);
/* Appends what is left. */
void header_lines_end(struct header_lines *lines, struct buffer *out);
void header_lines_clear(struct header_lines *lines);

#endif
