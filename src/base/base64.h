// SPDX-License-Identifier: ISC
/*
 * base/base64.h - base64 (RFC 4648 section 4) without line ends, as protocols carry it.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/attributes.h"
#include "base/buffer.h"
#include "base/str.h"

/* Appends BYTES, padded. */
void base64_encode(struct str bytes, struct buffer *out);
/* Appends the bytes that TEXT stands for. False, and nothing is appended: it is not padded, has
 * another character, or bits that mean nothing are set. */
MUST_CHECK bool base64_decode(struct str text, struct buffer *out);

#endif
