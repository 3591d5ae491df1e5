// SPDX-License-Identifier: ISC
/*
 * filing/decode/internal_text.h - foreign text, made fit for a database and a terminal: valid UTF-8
 * without control characters, at most DECODE_TEXT_MAX bytes, no space at its ends.
 */
#ifndef FILING_DECODE_INTERNAL_TEXT_H
#define FILING_DECODE_INTERNAL_TEXT_H

#include "base/arena.h"
#include "filing/decode/message.h"

/* TEXT may be NULL. What is not valid becomes U+FFFD, control characters become spaces. */
struct str decode_text_clean(struct arena *arena, const char *text);
/* The same in lower case, at most DECODE_WORD_MAX bytes. */
struct str decode_text_word(struct arena *arena, const char *text);
/* Whether TEXT is so, but for its ends, and has at most LENGTH_MAX bytes. */
bool decode_text_is_clean(struct str text, size_t length_max);

#endif
