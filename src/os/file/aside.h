// SPDX-License-Identifier: ISC
/*
 * os/file/aside.h - gives a damaged database of SQLite another name, and another file its own.
 */
#ifndef OS_FILE_ASIDE_H
#define OS_FILE_ASIDE_H

#include "base/attributes.h"
#include "base/buffer.h"

/* The file at PATH, with its log of writes (PATH-wal), gets the first free one of the names
 * "PATH.damaged-1", "PATH.damaged-2" and so on, which is appended to KEPT, without a NUL. The file
 * MADE, whose bytes are durable, takes its place by one rename; NULL: nothing does. All of it is
 * durable when this returns 0. -errno: both files have their old names, or PATH has two. */
MUST_CHECK int os_file_set_aside(const char *path, const char *made, struct buffer *kept);

#endif
