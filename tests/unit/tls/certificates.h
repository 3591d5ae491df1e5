// SPDX-License-Identifier: ISC
/* tests/unit/tls/certificates.h - certificates of the tests' own authority, in a directory of
 * theirs.
 */
#ifndef TESTS_UNIT_CERTIFICATES_H
#define TESTS_UNIT_CERTIFICATES_H

#include "scratch.h"

enum { CERTIFICATES_PATH_SIZE = SCRATCH_SIZE + 64 };

/* Makes them in a new scratch directory, whose name comes into DIRECTORY, by
 * tests/common/make-certificates (the environment says where that is): for NAMES, separated by
 * spaces. 0, or -1 with errno, as the setup of a group says it. scratch_remove() removes them. */
MUST_CHECK int certificates_make(char directory[SCRATCH_SIZE], const char *names);
/* DIRECTORY/NAME.SUFFIX; one of a few places that are used in turn. */
const char *certificates_path(const char *directory, const char *name, const char *suffix);

#endif
