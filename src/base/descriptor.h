// SPDX-License-Identifier: ISC
/*
 * base/descriptor.h - what an open file is.
 */
#ifndef BASE_DESCRIPTOR_H
#define BASE_DESCRIPTOR_H

#include <sys/stat.h>

/* fstat(2): 0, or -1 with errno. That of the C library asks newfstatat(2), which a sandbox does
 * not let through where no paths are to be asked about. */
int descriptor_status(int descriptor, struct stat *status_out);

#endif
