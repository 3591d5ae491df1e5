// SPDX-License-Identifier: ISC
/*
 * os/shared.h - memory that processes share: a file in memory (memfd) of a fixed size.
 *
 * Nobody can change its size, not even who may write to it, so an access to the mapping cannot fail
 * with SIGBUS. Who has a descriptor for reading only can neither write nor open it for writing
 * without being the owner; the owner's processes that distrust each other have a sandbox in which
 * they open nothing.
 */
#ifndef OS_SHARED_H
#define OS_SHARED_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stddef.h>

/* A descriptor of SIZE bytes of zeroes, of which the first ALLOCATED have their memory from now on:
 * they cannot be lacking later. NAME is for people (/proc/PID/maps). -errno: -ENOMEM. */
MUST_CHECK int os_shared_new(const char *name, size_t size, size_t allocated);
/* Another descriptor of it, for reading only. */
MUST_CHECK int os_shared_reader(int memory);
/* Maps SIZE bytes, which the file must have; it stays mapped when MEMORY is closed. */
MUST_CHECK int os_shared_map(int memory, size_t size, bool may_write, void **place_out);
void os_shared_unmap(void *place, size_t size);

#endif
