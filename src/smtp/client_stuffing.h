// SPDX-License-Identifier: ISC
/*
 * smtp/client_stuffing.h - a message as DATA transmits it, RFC 5321 section 4.5.2.
 */
#ifndef SMTP_CLIENT_STUFFING_H
#define SMTP_CLIENT_STUFFING_H

#include "base/attributes.h"
#include "base/buffer.h"

enum smtp_stuffing_place {
	SMTP_STUFFING_LINE_START,
	SMTP_STUFFING_IN_LINE,
	SMTP_STUFFING_AFTER_CR
};

/* All zeroes: before the first byte. */
struct smtp_stuffing {
	enum smtp_stuffing_place place;
};

/* Appends DATA to OUT, a dot added to lines that begin with one. False when a CR
 * or LF stands alone: then OUT must not be sent. */
MUST_CHECK bool smtp_stuffing_append(struct smtp_stuffing *stuffing, struct str data,
				     struct buffer *out);
/* Appends the end of the data, and a line end before it when the last line had
 * none. False when the last byte was a CR. */
MUST_CHECK bool smtp_stuffing_end(struct smtp_stuffing *stuffing, struct buffer *out);

#endif
