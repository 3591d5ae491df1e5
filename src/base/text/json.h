// SPDX-License-Identifier: ISC
/*
 * base/text/json.h - writes JSON: RFC 8259, one object a line.
 */
#ifndef BASE_TEXT_JSON_H
#define BASE_TEXT_JSON_H

#include "base/buffer.h"

/* Appends TEXT in quotes, escaped, so that a terminal may show it (utf8_is_harmless()); a byte that
 * is not UTF-8 becomes U+FFFD. */
void json_append_text(struct buffer *out, struct str text);

/* Append "NAME": VALUE, after a comma unless it is the first in its object or
 * array. */
void json_field_text(struct buffer *out, const char *name, struct str text);
/* "2026-11-30T08:22:50Z" */
void json_field_time(struct buffer *out, const char *name, int64_t time_us);
void json_field_number(struct buffer *out, const char *name, uint64_t value);
/* Only up to the ':'. */
void json_field(struct buffer *out, const char *name);

#endif
