// SPDX-License-Identifier: ISC
/*
 * os/mounts.h - what is mounted where, by the kernel's table (proc_pid_mountinfo(5)): it asks no
 * filesystem anything, so that one that does not answer keeps nobody.
 */
#ifndef OS_MOUNTS_H
#define OS_MOUNTS_H

#include "base/attributes.h"
#include "base/str.h"
#include <stdint.h>

/* Opens the table for os_mounts_find(), for as long as the process lives: for who cannot later.
 * 0 or -errno; then nothing is known. */
MUST_CHECK int os_mounts_open(void);
/* The device (as st_dev, but for filesystems that have many) that is mounted at the directory that
 * is the longest beginning of the absolute PATH; 0: unknown. Links in PATH are not followed: it is
 * a hint. */
uint64_t os_mounts_find(struct str path);
/* The same by the table's TEXT. */
uint64_t os_mounts_find_in(struct str text, struct str path);

#endif
