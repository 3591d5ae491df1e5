// SPDX-License-Identifier: ISC
/*
 * os/process/output.h - what a program of the system prints.
 */
#ifndef OS_PROCESS_OUTPUT_H
#define OS_PROCESS_OUTPUT_H

#include "base/attributes.h"
#include "base/buffer.h"

/* Runs ARGUMENTS, which begin with the path of a program and end with NULL, to its end, without
 * input, and appends what it prints to OUT. -EFBIG: that is over MAX bytes; -ECHILD: it has failed;
 * another -errno: it cannot be run. */
MUST_CHECK int os_process_output(const char *const *arguments, size_t max, struct buffer *out);

#endif
