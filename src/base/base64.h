// SPDX-License-Identifier: ISC
/*
 * base/base64.h - base64 with padding, RFC 4648 section 4, on one line.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Appends BYTES encoded. */
void base64_append(struct buffer *out, struct str bytes);

/* Appends what TEXT stands for. False, and OUT unchanged: TEXT is not canonical base64, which has
 * no other characters, no line ends, all of its padding, and no bits set there. */
MUST_CHECK bool base64_decode(struct str text, struct buffer *out);

#endif
