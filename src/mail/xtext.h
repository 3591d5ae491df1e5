// SPDX-License-Identifier: ISC
/*
 * mail/xtext.h - text as a parameter of MAIL and RCPT, RFC 3461 section 4.
 */
#ifndef MAIL_XTEXT_H
#define MAIL_XTEXT_H

#include "base/buffer.h"

/* The bytes at the start of TEXT, which is not empty, that are one character of xtext
 * and decode to printable ASCII; 0: none. */
size_t mail_xtext_length(struct str text);

/* Whether TEXT is nothing but such characters, at least one. */
bool mail_xtext_is_valid(struct str text);

/* Appends TEXT encoded. */
void mail_xtext_append(struct buffer *out, struct str text);

#endif
