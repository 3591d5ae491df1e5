// SPDX-License-Identifier: ISC
/*
 * os/file/mounts.h - which file system is mounted where, by the kernel's table
 * (proc_pid_mountinfo(5)): this does not access the file systems, so it cannot hang on one that
 * does not respond.
 */
#ifndef OS_FILE_MOUNTS_H
#define OS_FILE_MOUNTS_H

#include "base/attributes.h"
#include "base/str.h"
#include <stdint.h>

/* Opens the table for os_mounts_find(), for the lifetime of the process, which may be unable to
 * open it later. 0 or -errno; then nothing is found. */
MUST_CHECK int os_mounts_open(void);
/* The device (as st_dev, except for file systems with several devices) mounted at the longest
 * prefix of the absolute PATH; 0: unknown. Does not follow symbolic links, so it is only a hint. */
uint64_t os_mounts_find(struct str path);
/* Likewise, from the table's TEXT. */
uint64_t os_mounts_find_in(struct str text, struct str path);

#endif
