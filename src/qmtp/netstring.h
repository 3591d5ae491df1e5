// SPDX-License-Identifier: ISC
/*
 * qmtp/netstring.h - netstrings (https://cr.yp.to/proto/netstrings.txt): a length in decimal
 * without leading zeros, a colon, that many bytes, a comma.
 */
#ifndef QMTP_NETSTRING_H
#define QMTP_NETSTRING_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Of a length. Longer ones are refused, so that no sum of lengths overflows. */
enum { QMTP_NETSTRING_DIGITS = 18 };

/* A length on its way in. All zeroes at first. */
struct qmtp_length {
	uint64_t value;
	unsigned digits;
};

enum qmtp_length_state {
	QMTP_LENGTH_MORE,
	QMTP_LENGTH_DONE,  /* BYTE was the colon */
	QMTP_LENGTH_WRONG, /* this is no netstring, whatever follows */
};

/* Takes the next byte. */
MUST_CHECK enum qmtp_length_state qmtp_length_take(struct qmtp_length *length, char byte);

/* Appends the netstring of TEXT. */
void qmtp_netstring_append(struct buffer *out, struct str text);
/* Appends its beginning, up to the colon, if it has LENGTH bytes. */
void qmtp_netstring_begin(struct buffer *out, uint64_t length);

#endif
