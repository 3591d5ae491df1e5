// SPDX-License-Identifier: ISC
/* tests/unit/scratch.h - a directory for a test's files, and its end. */
#ifndef TESTS_UNIT_SCRATCH_H
#define TESTS_UNIT_SCRATCH_H

#include "base/attributes.h"

enum { SCRATCH_SIZE = 64 };

/* A new one, whose name comes into PATH: 0, or -1 with errno. */
MUST_CHECK int scratch_make(char path[SCRATCH_SIZE]);
/* Removes PATH with all that is in it: 0, or -1 with errno. */
int scratch_remove(const char *path);

#endif
