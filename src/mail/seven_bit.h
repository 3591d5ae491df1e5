// SPDX-License-Identifier: ISC
/*
 * mail/seven_bit.h - a message with 8-bit data, in 7 bits for a host that takes
 * no other (RFC 6152 section 3).
 *
 * The message is read at least twice, in any pieces: scanned, to find which parts
 * hold 8-bit data, then converted, as often as it is sent. Memory is bounded: a line's
 * first 4 KiB, a header field's first 4 KiB, a byte for a part.
 *
 * Only the bodies of parts with 8-bit data change: text becomes quoted-printable,
 * others quoted-printable or base64 by what is shorter (RFC 2045 section 6). What
 * they decode to is what they were. Every other part and every header field stays
 * byte for byte, but for Content-Transfer-Encoding, a missing MIME-Version and a
 * missing Content-Type (text/plain; charset=unknown-8bit, RFC 1428). What no reader
 * shows, text before the first part and after the last one, gets '?' for 8-bit bytes.
 * 8-bit bytes in header fields stay: there is no encoding for them.
 *
 * Cannot be converted: 8-bit data inside multipart/signed and multipart/encrypted, which
 * nobody on the way may change (RFC 1847); message/partial and message/external-body,
 * which have no encoding (RFC 2046 section 5.2); a multipart without a usable boundary,
 * which says nowhere where its parts are; more than 32 levels or 10,000 parts.
 */
#ifndef MAIL_SEVEN_BIT_H
#define MAIL_SEVEN_BIT_H

#include "base/attributes.h"
#include "base/buffer.h"

struct mail_seven_bit;

enum mail_seven_bit_need {
	MAIL_SEVEN_BIT_NONE,     /* no body holds 8-bit data: it can be sent as it is */
	MAIL_SEVEN_BIT_CONVERT,  /* it can be converted */
	MAIL_SEVEN_BIT_SIGNED,   /* a signed or encrypted part holds 8-bit data */
	MAIL_SEVEN_BIT_UNPARSED, /* 8-bit data is where its parts cannot be told apart */
};

/* Ready for the scan. */
struct mail_seven_bit *mail_seven_bit_new(void);
void mail_seven_bit_free(struct mail_seven_bit *message);

/* The next bytes of the message. Lines end with CRLF; other CR and LF are data. */
void mail_seven_bit_scan(struct mail_seven_bit *message, struct str data);
/* The end of the scan. Ready to convert. */
enum mail_seven_bit_need mail_seven_bit_scanned(struct mail_seven_bit *message);

/* Appends to OUT what the next bytes become: up to four times as many, and 8 KiB. */
void mail_seven_bit_convert(struct mail_seven_bit *message, struct str data, struct buffer *out);
/* Appends the rest to OUT. Ready to convert from the beginning. */
void mail_seven_bit_converted(struct mail_seven_bit *message, struct buffer *out);

#endif
