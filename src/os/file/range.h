// SPDX-License-Identifier: ISC
/*
 * os/file/range.h - locks on single bytes of a file, which need not exist, or on all of it: open
 * file description locks (fcntl(2)). They belong to the opening of the file, and vanish when it is
 * closed. They exclude the older locks of that call, which belong to processes, as well.
 */
#ifndef OS_FILE_RANGE_H
#define OS_FILE_RANGE_H

#include "base/attributes.h"
#include <stdint.h>

/* Takes an exclusive lock on the byte at OFFSET, at most 2^63 - 1, without waiting: 0; -EAGAIN:
 * another opening has it; -errno. One that FILE has already is no error. */
MUST_CHECK int os_file_range_lock(int file, uint64_t offset);
/* Likewise, on all bytes, also those to come. */
MUST_CHECK int os_file_range_lock_all(int file);
void os_file_range_unlock(int file, uint64_t offset);
/* Releases all that FILE has. */
void os_file_range_unlock_all(int file);
/* Whether another opening than FILE has the byte at OFFSET: 0, and its process as far as the kernel
 * tells that, else 0; -ENOENT: none has; -errno. */
MUST_CHECK int os_file_range_holder(int file, uint64_t offset, int *process_out);

#endif
