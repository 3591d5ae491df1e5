// SPDX-License-Identifier: ISC
/*
 * mail/seven_bit/seven_bit.h - converts a message with 8-bit data to 7 bits, for a host that does
 * not support 8BITMIME (RFC 6152 section 3).
 *
 * The message is read at least twice, in pieces of any size: once to scan it for parts with 8-bit
 * data, then once to convert it each time it is sent. Memory is bounded: the first 4 KiB of a line,
 * the first 4 KiB of a header field, one of up to MAIL_SEVEN_BIT_FIELD_MAX bytes that is to be
 * encoded, and a byte for each part.
 *
 * Only the bodies of parts with 8-bit data change: text becomes quoted-printable, others become
 * quoted-printable or base64, whichever is shorter (RFC 2045 section 6). Decoding yields the
 * original. Every other part and every header field stays byte for byte, except for
 * Content-Transfer-Encoding, a missing MIME-Version and a missing Content-Type (text/plain;
 * charset=unknown-8bit, RFC 1428). In the text before the first part and after the last one, which
 * no reader shows, 8-bit bytes become '?'. A part that needs no encoding, but says that it is 8bit
 * or binary, says 7bit: a part may not be more than what contains it (section 6.4).
 *
 * 8-bit bytes in header fields stay, unless the caller says how they are encoded; then those of all
 * parts are, also of messages within, but nothing in what is signed or encrypted.
 *
 * Of a binary message (BINARYMIME, RFC 3030) also parts with NULs, with CRs or LFs that are no line
 * end, with lines over 998 bytes, or, at its end, without a line end are encoded, so that what
 * comes out is lines of 7 bits. If there are such bytes in a header, its part cannot be determined.
 *
 * These cannot be converted: 8-bit data inside multipart/signed and multipart/encrypted, which no
 * relay may change (RFC 1847); message/partial and message/external-body, which must not be encoded
 * (RFC 2046 section 5.2); a multipart without a usable boundary, whose parts cannot be found; more
 * than 32 levels or 10,000 parts.
 */
#ifndef MAIL_SEVEN_BIT_SEVEN_BIT_H
#define MAIL_SEVEN_BIT_SEVEN_BIT_H

#include "base/attributes.h"
#include "base/buffer.h"

struct mail_seven_bit;

enum {
	MAIL_SEVEN_BIT_FIELD_MAX = 256 * 1024, /* bytes; a larger one stays */
	MAIL_SEVEN_BIT_PART_ADDED = 128,       /* bytes, to a part that is encoded: its fields */
};

enum mail_seven_bit_need {
	MAIL_SEVEN_BIT_NONE,     /* no body has 8-bit data: it can be sent unchanged */
	MAIL_SEVEN_BIT_CONVERT,  /* it must be converted, and can be */
	MAIL_SEVEN_BIT_SIGNED,   /* a signed or encrypted part holds 8-bit data */
	MAIL_SEVEN_BIT_UNPARSED, /* there is 8-bit data whose part cannot be determined */
	MAIL_SEVEN_BIT_ADDRESS,  /* a header field has 8-bit data that cannot be encoded */
};

/* A new message, ready for the scan. */
struct mail_seven_bit *mail_seven_bit_new(void);
/* Before the scan: it is binary. */
void mail_seven_bit_set_binary(struct mail_seven_bit *message);
/* Before the scan: header fields with 8-bit data become what ENCODE appends to OUT. FIELD: a whole
 * one, with its line ends, up to MAIL_SEVEN_BIT_FIELD_MAX bytes. False: it still has some. */
typedef bool mail_seven_bit_encoder(struct str field, struct buffer *out);
void mail_seven_bit_set_encoder(struct mail_seven_bit *message, mail_seven_bit_encoder *encode);
/* Before the scan: only header fields are encoded, and everything else stays. */
void mail_seven_bit_keep_bodies(struct mail_seven_bit *message);
void mail_seven_bit_free(struct mail_seven_bit *message);

/* Scans the next bytes of the message. Lines end with CRLF; other CRs and LFs are data. */
void mail_seven_bit_scan(struct mail_seven_bit *message, struct str data);
/* Ends the scan; the message is then ready for conversion. */
enum mail_seven_bit_need mail_seven_bit_scanned(struct mail_seven_bit *message);

/* Converts the next bytes and appends them to OUT: up to four times as many, plus
 * MAIL_SEVEN_BIT_PART_ADDED for each part that ends its header in them, plus 8 KiB, and plus the
 * field under way, which may grow as ENCODE lets it. */
void mail_seven_bit_convert(struct mail_seven_bit *message, struct str data, struct buffer *out);
/* Appends the rest to OUT; the message is then ready for the next conversion. */
void mail_seven_bit_converted(struct mail_seven_bit *message, struct buffer *out);

#endif
