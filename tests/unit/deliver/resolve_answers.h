/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/deliver/resolve_answers.h - what a directory says of addresses, one kind for each
 * first letter, and what "send" is to be told then.
 */
#ifndef TESTS_UNIT_RESOLVE_ANSWERS_H
#define TESTS_UNIT_RESOLVE_ANSWERS_H

#include "base/buffer.h"
#include "directory/lookup/lookup.h"

/* The last has so many targets that they need several messages. */
enum { RESOLVE_KINDS = 10 };
extern const char resolve_kinds[RESOLVE_KINDS + 1];

uint64_t resolve_version_of(const char *address);
void resolve_answer(directory_found *found, void *context, const char *address);
/* Appends a line for each target of RECIPIENT, which is ADDRESS: "NUMBER ROUTE SERVICE SERVER
 * ADDRESS STATUS TEXT". */
void resolve_add_wanted(struct buffer *out, uint32_t recipient, const char *address);

#endif
