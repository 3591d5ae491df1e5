// SPDX-License-Identifier: ISC
/*
 * os/process/access.h - what another user may do with files.
 */
#ifndef OS_PROCESS_ACCESS_H
#define OS_PROCESS_ACCESS_H

#include "base/buffer.h"
#include "os/process/process.h"

enum {
	OS_ACCESS_PASS = 1, /* to run a program, or to use what is in a directory */
	OS_ACCESS_WRITE = 2,
	OS_ACCESS_READ = 4,
};

struct os_access {
	const char *path;
	unsigned wanted;   /* of OS_ACCESS_... */
	int error;         /* out: 0 or -errno */
	size_t refused_at; /* out: with an error, how many bytes of the path name what has refused:
			    * a directory on the way, or the path itself */
	bool is_there;     /* out: the user sees something there, if only a link to nothing */
	unsigned mode; /* out: st_mode of what the path leads to, as the user sees it; 0: nothing */
};

/* Asks the system about the COUNT of ASKED in a new process that has become USER, with his groups
 * and capabilities. -EPERM: this process may not become him; another -errno: it cannot be asked. */
MUST_CHECK int os_access_as(const struct os_process_user *user, struct os_access *asked,
			    size_t count);
/* Appends "mode 0750 root:mail" of what the first LENGTH bytes of PATH name; nothing if that cannot
 * be seen. */
void os_access_describe(const char *path, size_t length, struct buffer *out);
/* Appends the name of the user, or his number. */
void os_access_name_user(uid_t uid, struct buffer *out);

#endif
