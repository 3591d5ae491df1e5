// SPDX-License-Identifier: ISC
/*
 * os/file_watch.h - somebody has written to a file (inotify(7)): a hint, without which whoever
 * needs to know has to look by himself now and then.
 */
#ifndef OS_FILE_WATCH_H
#define OS_FILE_WATCH_H

#include "base/attributes.h"
#include "os/loop.h"

struct os_file_watch;

/* CALL comes soon after anybody, this process too, has written to the file at PATH, which is there,
 * or cut it: many writes may be one call. -errno: the kernel tells nothing (-EMFILE, -ENOSPC: of
 * that many files; -EPERM in a sandbox). The file is watched whatever name it has later. */
MUST_CHECK int os_file_watch_new(struct os_loop *loop, const char *path,
				 void (*call)(void *context), void *context,
				 struct os_file_watch **watch_out);
/* What was written until now is not told of: whoever calls knows. NULL is allowed. */
void os_file_watch_forget(struct os_file_watch *watch);
/* NULL is allowed. */
void os_file_watch_free(struct os_file_watch *watch);

#endif
