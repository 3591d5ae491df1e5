// SPDX-License-Identifier: ISC
/*
 * mail/text/xtext.h - the encoding of parameters of MAIL and RCPT, RFC 3461 section 4.
 */
#ifndef MAIL_TEXT_XTEXT_H
#define MAIL_TEXT_XTEXT_H

#include "base/buffer.h"

/* The length of the xtext character at the start of TEXT, which is not empty; 0: it is invalid, or
 * does not decode to printable ASCII. */
size_t mail_xtext_length(struct str text);

/* Whether TEXT is a sequence of such characters, at least one. */
bool mail_xtext_is_valid(struct str text);

/* Appends TEXT encoded. */
void mail_xtext_append(struct buffer *out, struct str text);

/* Appends ADDRESS as the value of ORCPT (section 4.2): "rfc822;" and xtext; an address that is not
 * ASCII as "utf-8;" and UTF-8 (RFC 6533 section 3). */
void mail_orcpt_append(struct buffer *out, struct str address);

#endif
