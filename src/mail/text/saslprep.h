// SPDX-License-Identifier: ISC
/*
 * mail/text/saslprep.h - SASLprep (RFC 4013), a profile of stringprep (RFC 3454): names and
 * passwords that look the same become the same bytes, however a keyboard composes letters. Code
 * points that Unicode 3.2 does not assign are allowed.
 */
#ifndef MAIL_TEXT_SASLPREP_H
#define MAIL_TEXT_SASLPREP_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Appends the prepared TEXT to OUT; no other copy is left in memory. -EINVAL: it is empty, not of
 * UTF-8, or has what RFC 4013 prohibits; -EMSGSIZE: more than MAX bytes. */
MUST_CHECK int mail_saslprep(struct str text, size_t max, struct buffer *out);

#endif
