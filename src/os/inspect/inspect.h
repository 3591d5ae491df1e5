// SPDX-License-Identifier: ISC
/*
 * os/inspect/inspect.h - what the kernel shows of another process: its users, its rights, its open
 * files. (proc(5))
 *
 * -ESRCH or -ENOENT: the process has ended; -EACCES or -EPERM: this process may not inspect it.
 */
#ifndef OS_INSPECT_INSPECT_H
#define OS_INSPECT_INSPECT_H

#include "base/attributes.h"
#include "os/process/process.h"
#include <stdbool.h>
#include <stdint.h>

enum { OS_INSPECT_GROUPS_MAX = 64 };

enum os_inspect_set {
	OS_INSPECT_INHERITABLE,
	OS_INSPECT_PERMITTED,
	OS_INSPECT_EFFECTIVE,
	OS_INSPECT_BOUNDING,
	OS_INSPECT_AMBIENT,
	OS_INSPECT_SETS,
};

struct os_inspect_status {
	pid_t parent;
	uid_t users[4]; /* real, effective, saved, file system */
	gid_t groups[4];
	gid_t others[OS_INSPECT_GROUPS_MAX]; /* supplementary */
	size_t other_count;                  /* may exceed the array */
	uint64_t capabilities[OS_INSPECT_SETS];
	bool may_not_gain;   /* no_new_privs */
	unsigned seccomp;    /* 2: filters */
	unsigned filters;    /* their number; 0: unknown, before Linux 5.9 */
	bool may_be_trapped; /* "dumpable": others of its user may trace it */
};

/* Called for each descriptor with its number, its target ("socket:[123]", "/a/file"), and its flags
 * as of open(2). */
typedef void os_inspect_each(void *context, int number, const char *target, unsigned flags);

MUST_CHECK int os_inspect_status(pid_t pid, struct os_inspect_status *out);
/* What os_process_may_change_user() returns in that process. */
bool os_inspect_may_change_user(const struct os_inspect_status *status);
/* The path of its executable, or, if that was removed or replaced, the one that it had. */
MUST_CHECK int os_inspect_program(pid_t pid, char path_out[OS_PROCESS_PATH_SIZE]);
MUST_CHECK int os_inspect_descriptors(pid_t pid, os_inspect_each *each, void *context);
/* Calls EACH with each process of the machine and its parent. */
MUST_CHECK int os_inspect_processes(void (*each)(void *context, pid_t pid, pid_t parent),
				    void *context);

#endif
