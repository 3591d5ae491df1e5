// SPDX-License-Identifier: ISC
/*
 * os/stream.h - pipes and what a command was started with: read or written once,
 * from the front to the end.
 */
#ifndef OS_STREAM_H
#define OS_STREAM_H

#include "base/attributes.h"
#include <sys/types.h>

/* Up to SIZE bytes, waiting for at least one; 0 at the end; or -errno: -EAGAIN
 * where DESCRIPTOR does not block. EINTR never comes out. */
MUST_CHECK ssize_t os_stream_read(int descriptor, void *data, size_t size);

/* Back to the start of a file; -ESPIPE for what is none. */
MUST_CHECK int os_stream_rewind(int descriptor);

/* Another descriptor of the same open file, close-on-exec and above standard error; or -errno. */
MUST_CHECK int os_stream_copy(int descriptor);

/* What a pipe takes of SIZE bytes, -EAGAIN, or -errno; SIGPIPE is ignored. */
MUST_CHECK ssize_t os_stream_write(int descriptor, const void *data, size_t size);

#endif
