// SPDX-License-Identifier: ISC
/*
 * base/text/quote.h - quoted strings, as mail addresses, header fields, IMAP and configurations
 * have them.
 */
#ifndef BASE_TEXT_QUOTE_H
#define BASE_TEXT_QUOTE_H

#include "base/buffer.h"

/* Appends TEXT in double quotes, with a backslash before each quote and backslash. */
void quote_append(struct buffer *out, struct str text);

#endif
