/* SPDX-License-Identifier: ISC */
/*
 * tests/unit/queue/failing_calls.h - one call of os/file/file.h that fails with -EIO, in the place
 * of the real ones (--wrap: failing_calls_arguments in meson.build). Nothing is synced: the power
 * stays.
 */
#ifndef TESTS_UNIT_FAILING_CALLS_H
#define TESTS_UNIT_FAILING_CALLS_H

#include <stdbool.h>

/* The so-manyth from now on; 0: none, or it has failed. */
extern unsigned failing_left;

/* From now on the first call fails that is at a place where none has failed since
 * failing_calls_forget(): a place is the functions that make the call, and how many calls they had
 * made since. So each call fails once in a loop of runs, whatever their order, which hangs on the
 * numbers of messages. Ends with failing_calls_end(): whether one has failed. */
void failing_calls_forget(void);
void failing_calls_begin(void);
bool failing_calls_end(void);

#endif
