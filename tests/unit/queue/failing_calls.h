/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/queue/failing_calls.h - one call of os/file/file.h that fails with -EIO, in the place
 * of the real ones (--wrap: failing_calls_arguments in meson.build). Nothing is synced: the power
 * stays.
 */
#ifndef TESTS_UNIT_FAILING_CALLS_H
#define TESTS_UNIT_FAILING_CALLS_H

/* The so-manyth from now on; 0: none, or it has failed. */
extern unsigned failing_left;

#endif
