// SPDX-License-Identifier: ISC
/*
 * base/text/base64.h - base64 (RFC 4648 section 4), and its form for URLs (section 5).
 *
 * The time does not depend on what is encoded: it may be a secret. Decoding is strict: no other
 * bytes, the right padding, and no bits set that encode nothing, so that each text has one value
 * and each value one text.
 */
#ifndef BASE_TEXT_BASE64_H
#define BASE_TEXT_BASE64_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Appends DATA as base64, padded, to OUT. */
void base64_append(struct buffer *out, struct str data);
/* Appends what TEXT means to OUT. False: malformed, and OUT is unchanged. */
MUST_CHECK bool base64_decode(struct str text, struct buffer *out);
/* Likewise in the form for URLs, "-" and "_", without padding. */
MUST_CHECK bool base64_decode_url(struct str text, struct buffer *out);

#endif
