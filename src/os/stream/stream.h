// SPDX-License-Identifier: ISC
/*
 * os/stream/stream.h - sequential reading and writing of pipes, and of the standard input and
 * output of commands.
 */
#ifndef OS_STREAM_STREAM_H
#define OS_STREAM_STREAM_H

#include "base/attributes.h"
#include <sys/types.h>

/* Reads up to SIZE bytes, waiting for at least one; 0 at the end; or -errno: -EAGAIN
 * if DESCRIPTOR is non-blocking. Never -EINTR. */
MUST_CHECK ssize_t os_stream_read(int descriptor, void *data, size_t size);

/* Reads and writes wait from now on; or -errno. */
MUST_CHECK int os_stream_set_blocking(int descriptor);

/* Rewinds a file; -ESPIPE if it is not one. */
MUST_CHECK int os_stream_rewind(int descriptor);

/* Another descriptor of the same open file, close-on-exec and above standard error; or -errno. */
MUST_CHECK int os_stream_copy(int descriptor);

/* A new file without a name, for what must be read twice: in $TMPDIR, or else in /tmp. Its
 * descriptor, or -errno. */
MUST_CHECK int os_stream_temporary(void);

/* Writes up to SIZE bytes to a pipe: their number, -EAGAIN, or -errno; SIGPIPE must be ignored. */
MUST_CHECK ssize_t os_stream_write(int descriptor, const void *data, size_t size);

#endif
