// SPDX-License-Identifier: ISC
/* tests/unit/certificates.h - certificates of the tests' own authority, in a directory of theirs.
 */
#ifndef TESTS_UNIT_CERTIFICATES_H
#define TESTS_UNIT_CERTIFICATES_H

#include "scratch.h"

enum { CERTIFICATES_PATH_SIZE = SCRATCH_SIZE + 64 };

/* Makes them in DIRECTORY, which exists, by tests/common/make-certificates (the environment
 * says where that is): for NAMES, separated by spaces. */
void certificates_make(const char *directory, const char *names);
/* DIRECTORY/NAME.SUFFIX; one of a few places that are used in turn. */
const char *certificates_path(const char *directory, const char *name, const char *suffix);

#endif
