// SPDX-License-Identifier: ISC
/*
 * os/disk_cache/disk_cache.h - a directory of small files, each replaced as a whole, for people to
 * read and for the next start.
 *
 * A file is written under another name, synced and renamed, by a thread, so that no disk holds up
 * the event loop. After a power failure it has its old or its new text; a new file may be missing.
 * Errors are logged, at most once a minute, and the file keeps its old text.
 */
#ifndef OS_DISK_CACHE_DISK_CACHE_H
#define OS_DISK_CACHE_DISK_CACHE_H

#include "base/attributes.h"
#include "base/str.h"
#include "os/loop.h"

struct disk_cache;

/* Opens the directory PATH, and creates it if its parent exists. -errno. */
MUST_CHECK int disk_cache_open(struct os_loop *loop, const char *path,
			       struct disk_cache **disk_cache_out);
/* Waits until everything is written. NULL is allowed. */
void disk_cache_close(struct disk_cache *disk_cache);

/* Whether NAME can be that of a file here: 1 to 253 letters, digits, '-', '_' and '.', no '.' at
 * its begin. */
bool disk_cache_is_name(struct str name);

/* Calls EACH for every file with such a name and at most SIZE_MAX bytes; others are ignored, and
 * too large ones passed as TEXT without data. -errno: one could not be read, the others were. To
 * call before anything is written. */
MUST_CHECK int disk_cache_each(struct disk_cache *disk_cache, size_t size_max,
			       void (*each)(void *context, struct str name, struct str text),
			       void *context);

/* Replaces the text of the file NAME, which disk_cache_is_name() accepts. */
void disk_cache_put(struct disk_cache *disk_cache, struct str name, struct str text);
void disk_cache_remove(struct disk_cache *disk_cache, struct str name);

#endif
