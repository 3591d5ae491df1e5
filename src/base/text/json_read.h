// SPDX-License-Identifier: ISC
/*
 * base/text/json_read.h - reads JSON (RFC 8259) in place: a value is a view of the text, which is
 * checked as a whole first. For what other nodes say: no text makes it take memory or go deep.
 */
#ifndef BASE_TEXT_JSON_READ_H
#define BASE_TEXT_JSON_READ_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { JSON_DEPTH_MAX = 16 }; /* arrays and objects inside of each other */

/* Whether TEXT is one value, with nothing but spaces around it. Names may come twice. */
MUST_CHECK bool json_is_valid(struct str text);

/* All that follow are for texts, and values in them, that are valid. */

/* The value of the first member NAME of OBJECT; empty: it has none, or is no object. */
struct str json_member(struct str object, const char *name);
/* Walks through the members of an object, or the values of an array; anything else has none. */
struct json_walk {
	struct str rest;
	bool is_object;
};
struct json_walk json_walk_begin(struct str container);
/* Takes the next: *NAME_OUT is the name of a member, as a text in quotes, or empty. */
bool json_walk_next(struct json_walk *walk, struct str *name_out, struct str *value_out);
/* Appends the text that VALUE is; false: it is no text. */
bool json_text(struct str value, struct buffer *out);
/* VALUE as a number without sign, fraction or exponent; false: it is none. */
bool json_number(struct str value, uint64_t *number_out);

#endif
