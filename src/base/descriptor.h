// SPDX-License-Identifier: ISC
/*
 * base/descriptor.h - the status of an open file.
 */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <sys/stat.h>

/* fstat(2): 0, or -1 with errno. The C library's function calls newfstatat(2), which a sandbox
 * without access to paths forbids. */
int descriptor_status(int descriptor, struct stat *status_out);

#endif
