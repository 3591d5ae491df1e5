// SPDX-License-Identifier: ISC
/*
 * tests/common/line_ends.h - what smuggling is about: CR and LF that stand alone, and short
 * strings with dots among them.
 */
#ifndef TESTS_COMMON_LINE_ENDS_H
#define TESTS_COMMON_LINE_ENDS_H

#include "base/str.h"
#include <stdbool.h>

/* A CR without LF after it, at the end of TEXT too, or an LF without CR in front. */
bool has_bare_line_end(struct str text);

enum { SHORT_STRING_MAX = 5 };

/* The length that the only argument of main() says, or SHORT_STRING_MAX. */
size_t short_string_length(int argc, char **argv);

/* Calls TRY with each string of one to LONGEST bytes out of CR, LF, dot, NUL and "a", and prints
 * for how many it was true. main()'s status: whether for all. */
int try_short_strings(size_t longest, bool (*try)(struct str tested));

#endif
