// SPDX-License-Identifier: ISC
/*
 * os/stream.h - descriptors that a command was started with: what stands there
 * is read once, from the front to the end.
 */
#ifndef OS_STREAM_H
#define OS_STREAM_H

#include "base/attributes.h"
#include <sys/types.h>

/* Up to SIZE bytes, waiting for at least one; 0 at the end; or -errno. EINTR
 * never comes out. */
MUST_CHECK ssize_t os_stream_read(int descriptor, void *data, size_t size);

#endif
