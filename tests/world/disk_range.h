// SPDX-License-Identifier: ISC
/*
 * tests/world/disk_range.h - locks on single bytes of a file (os/file/range.h), which need not be
 * there. They belong to an open file, and go with it.
 */
#ifndef TESTS_WORLD_DISK_RANGE_H
#define TESTS_WORLD_DISK_RANGE_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stdint.h>

struct disk_file;

/* -EAGAIN: another open file has it; -EBADF: FILE cannot be written to. One that FILE has already
 * is no error. */
MUST_CHECK int disk_range_lock(struct disk_file *file, uint64_t offset);
void disk_range_unlock(struct disk_file *file, uint64_t offset);
void disk_range_unlock_all(struct disk_file *file);
/* Whether another open file than FILE has it. */
bool disk_range_is_taken(const struct disk_file *file, uint64_t offset);

#endif
