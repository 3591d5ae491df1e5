// SPDX-License-Identifier: ISC
/*
 * os/file/watch.h - notifies of writes to a file (inotify(7)). This is only a hint: without it, the
 * file must be polled.
 */
#ifndef OS_FILE_WATCH_H
#define OS_FILE_WATCH_H

#include "base/attributes.h"
#include "os/loop.h"

struct os_file_watch;

/* Calls CALL soon after any process, including this one, has written to or truncated the file at
 * PATH, which must exist; one call may be for many writes. -errno: the kernel does not support it
 * (-EMFILE, -ENOSPC: for so many files; -EPERM in a sandbox). Renaming the file changes nothing. */
MUST_CHECK int os_file_watch_new(struct os_loop *loop, const char *path,
				 void (*call)(void *context), void *context,
				 struct os_file_watch **watch_out);
/* Likewise, soon after the name PATH was given to another file, or the file that has it was written
 * and closed; it need not exist, but its directory must. What a symbolic link leads to is not
 * watched. */
MUST_CHECK int os_file_watch_name(struct os_loop *loop, const char *path,
				  void (*call)(void *context), void *context,
				  struct os_file_watch **watch_out);
/* Likewise, soon after what PATH leads to was written to, truncated or removed, or PATH leads
 * elsewhere since: also as its directory got another name. Not those further up. */
MUST_CHECK int os_file_watch_place(struct os_loop *loop, const char *path,
				   void (*call)(void *context), void *context,
				   struct os_file_watch **watch_out);
/* Discards what is not reported yet: the caller knows about all writes so far. NULL is allowed. */
void os_file_watch_forget(struct os_file_watch *watch);
/* NULL is allowed. */
void os_file_watch_free(struct os_file_watch *watch);

#endif
