// SPDX-License-Identifier: ISC
/*
 * base/mdoc.h - plain text as a part of a manual page in the language of mdoc(7).
 */
#ifndef BASE_MDOC_H
#define BASE_MDOC_H

#include "base/buffer.h"

/* Appends TEXT in lines of a bounded length, a new one for each sentence. Nothing in it
 * is a request or an escape. */
void mdoc_append_text(struct buffer *out, const char *text);
/* Appends WORD as the argument of a macro. */
void mdoc_append_argument(struct buffer *out, struct str word);

#endif
