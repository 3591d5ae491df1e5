// SPDX-License-Identifier: ISC
/*
 * os/shelf/shelf.h - a directory of small files, each replaced as a whole, for people to read and
 * for the next start.
 *
 * A file is written under another name, synced and renamed, by a thread, so that no disk holds up
 * the event loop. After a power failure it has its old or its new text; a new file may be missing.
 * Errors are logged, at most once a minute, and the file keeps its old text.
 */
#ifndef OS_SHELF_SHELF_H
#define OS_SHELF_SHELF_H

#include "base/attributes.h"
#include "base/str.h"
#include "os/loop.h"

struct shelf;

/* Opens the directory PATH, and creates it if its parent exists. -errno. */
MUST_CHECK int shelf_open(struct os_loop *loop, const char *path, struct shelf **shelf_out);
/* Waits until everything is written. NULL is allowed. */
void shelf_close(struct shelf *shelf);

/* Whether NAME can be that of a file here: 1 to 253 letters, digits, '-', '_' and '.', no '.' at
 * its begin. */
bool shelf_is_name(struct str name);

/* Calls EACH for every file with such a name and at most SIZE_MAX bytes; others are ignored, and
 * too large ones passed as TEXT without data. -errno: one could not be read, the others were. To
 * call before anything is written. */
MUST_CHECK int shelf_each(struct shelf *shelf, size_t size_max,
			  void (*each)(void *context, struct str name, struct str text),
			  void *context);

/* Replaces the text of the file NAME, which shelf_is_name() accepts. */
void shelf_put(struct shelf *shelf, struct str name, struct str text);
void shelf_remove(struct shelf *shelf, struct str name);

#endif
