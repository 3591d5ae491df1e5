// SPDX-License-Identifier: ISC
/*
 * filing/lock/file.h - named locks of the processes of one machine: ranges of one byte in a file,
 * at the offset of the name's number (open file description locks, fcntl(2)). They vanish with the
 * descriptor, so with the process; the file stays empty.
 */
#ifndef FILING_LOCK_FILE_H
#define FILING_LOCK_FILE_H

#include "base/attributes.h"
#include "filing/lock/name.h"
#include <stdbool.h>

struct lock_file;

/* Opens the file at PATH, and creates it if it is missing. Each opening competes with all others,
 * also of the same process. -errno. */
MUST_CHECK int lock_file_open(const char *path, struct lock_file **file_out);
/* Releases all of its locks. NULL is allowed. */
void lock_file_close(struct lock_file *file);
/* Whether the file still has its name: otherwise others lock another one, and its locks are no
 * longer worth anything. */
bool lock_file_is_there(const struct lock_file *file);

/* Without waiting: -EAGAIN: another one has it. One that FILE has already is no error. */
MUST_CHECK int lock_file_take(struct lock_file *file, const struct lock_name *name);
void lock_file_release(struct lock_file *file, const struct lock_name *name);
void lock_file_release_all(struct lock_file *file);
/* The process that has NAME: its number, 0 if it cannot be told; -ENOENT: nobody. */
MUST_CHECK int lock_file_holder(struct lock_file *file, const struct lock_name *name,
				int *process_out);

#endif
