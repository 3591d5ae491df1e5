// SPDX-License-Identifier: ISC
/* tests/unit/whole.h - whether a test tries all there is. */
#ifndef TESTS_UNIT_WHOLE_H
#define TESTS_UNIT_WHOLE_H

/* A build with sanitizers is several times slower, and tries a part. The tests that ask are in the
 * suite "exhaustive", too, which the release build runs. */
#ifdef __SANITIZE_ADDRESS__
enum { TEST_IS_WHOLE = 0 };
#else
enum { TEST_IS_WHOLE = 1 };
#endif

#endif
