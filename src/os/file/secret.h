// SPDX-License-Identifier: ISC
/*
 * os/file/secret.h - passwords in files: the first line, without its end.
 */
#ifndef OS_FILE_SECRET_H
#define OS_FILE_SECRET_H

#include "base/attributes.h"
#include "base/buffer.h"

enum { OS_SECRET_MAX = 1024 }; /* bytes */

/* Appends the secret of the file at PATH to SECRET_OUT, which erases its memory from now on.
 * -errno; -ENODATA: the line is empty; -EFBIG: it is too long. */
MUST_CHECK int os_secret_read(const char *path, struct buffer *secret_out);

#endif
