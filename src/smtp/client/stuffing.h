// SPDX-License-Identifier: ISC
/*
 * smtp/client/stuffing.h - a message as DATA transmits it, RFC 5321 section 4.5.2.
 */
#ifndef SMTP_CLIENT_STUFFING_H
#define SMTP_CLIENT_STUFFING_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "header/lines.h"

/* Bytes of a line without its CRLF, RFC 5321 section 4.5.3.1.6. */
enum { SMTP_STUFFING_LINE_MAX = 998 };

enum smtp_stuffing_place {
	SMTP_STUFFING_LINE_START,
	SMTP_STUFFING_IN_LINE,
	SMTP_STUFFING_AFTER_CR
};

/* All zeroes: before the first byte, long lines unchanged. */
struct smtp_stuffing {
	bool breaks_lines;
	bool is_chunked; /* by BDAT: dots have no meaning */
	bool is_raw;     /* chunked, and binary: nothing is changed, looked for or added */
	enum smtp_stuffing_place place;
	struct header_lines lines; /* if it breaks lines */
};

/* Frees what STUFFING has. */
void smtp_stuffing_clear(struct smtp_stuffing *stuffing);
/* Appends DATA to OUT, with a dot added to lines that begin with one. If it breaks lines, one
 * that is too long becomes several (header/lines.h): in a header that is folding; and the end of
 * DATA may come later. False for a bare CR or LF: then OUT must not be sent. */
MUST_CHECK bool smtp_stuffing_append(struct smtp_stuffing *stuffing, struct str data,
				     struct buffer *out);
/* How many times a line of LENGTH bytes without spaces is broken; three bytes each. With spaces it
 * may be a few more, of two bytes. */
uint64_t smtp_stuffing_breaks(uint64_t length);
/* Appends the end of the data (none if chunked), after a line end if the last line had none. False
 * when the last byte was a CR. */
MUST_CHECK bool smtp_stuffing_end(struct smtp_stuffing *stuffing, struct buffer *out);

#endif
