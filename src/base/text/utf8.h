// SPDX-License-Identifier: ISC
/*
 * base/text/utf8.h - UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates.
 */
#ifndef BASE_TEXT_UTF8_H
#define BASE_TEXT_UTF8_H

#include "base/str.h"

/* The length of the character at the start of S, 1 to 4 bytes; 0: not valid. */
size_t utf8_length(struct str s);
/* That character; if it is not valid, the first byte. S must not be empty. */
uint32_t utf8_code_point(struct str s);
/* Whether a text may have it that a terminal shows: no control character (those of C0, DEL and
 * those of C1, as U+009B, which begins a command), none that ends a line, and none that turns the
 * direction of what is around it. */
bool utf8_is_harmless(uint32_t code_point);

#endif
