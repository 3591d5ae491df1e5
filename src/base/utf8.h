// SPDX-License-Identifier: ISC
/*
 * base/utf8.h - UTF-8 as RFC 3629 defines it: no overlong forms, no surrogates.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/str.h"

/* The bytes of the character at the start of S, 1 to 4; 0 when there is none. */
size_t utf8_length(struct str s);
/* That character; the byte itself when there is none. S is not empty. */
uint32_t utf8_code_point(struct str s);

#endif
