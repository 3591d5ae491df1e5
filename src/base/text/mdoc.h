// SPDX-License-Identifier: ISC
/*
 * base/text/mdoc.h - converts plain text to the manual page language mdoc(7).
 */
#ifndef BASE_TEXT_MDOC_H
#define BASE_TEXT_MDOC_H

#include "base/buffer.h"

/* Appends TEXT in lines of limited length, with a new line for each sentence. Nothing in it is
 * interpreted as a request or an escape. */
void mdoc_append_text(struct buffer *out, const char *text);
/* Appends WORD as the argument of a macro. */
void mdoc_append_argument(struct buffer *out, struct str word);

#endif
