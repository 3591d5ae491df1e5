// SPDX-License-Identifier: ISC
/*
 * os/sandbox.h - what this process may still do: Landlock for files, network and
 * signals, seccomp for calls, and no capability but those that are named.
 *
 * A process opens what it needs for life, enters, and only then reads what comes
 * from others. What it already has open stays open; who may open any file can ask
 * stat(2) about every path, since Landlock has no right for it. Everything else that is not in the
 * struct is refused for good, to every thread that is started later, too: a file
 * with EACCES, a call with EPERM.
 *
 * Refused, not killed: which calls the C library makes is its own affair and
 * changes, and mail must outlive its next version. Nothing is lost by it: whoever
 * has taken the process over cannot do more for having tried.
 */
#ifndef OS_SANDBOX_H
#define OS_SANDBOX_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum os_sandbox_access { /* to all that is beneath a directory, or to one file */
			 OS_SANDBOX_READ = 1 << 0,   /* read files */
			 OS_SANDBOX_LIST = 1 << 1,   /* list and sync directories */
			 OS_SANDBOX_WRITE = 1 << 2,  /* write to files and cut them */
			 OS_SANDBOX_MAKE = 1 << 3,   /* make files, also by link and rename */
			 OS_SANDBOX_REMOVE = 1 << 4, /* remove files, also by rename */
			 OS_SANDBOX_LINK =
				 1 << 5, /* link files to elsewhere; MAKE and REMOVE include it */
			 OS_SANDBOX_FOLDERS = 1 << 6 /* make directories */
};

struct os_sandbox_path {
	const char *path;
	unsigned access;
};

enum os_sandbox_calls { /* besides memory, time, threads, and talking over sockets that it has */
			OS_SANDBOX_OPEN = 1 << 0, /* open and list, where a path allows it */
			OS_SANDBOX_CHANGE =
				1 << 1, /* make, remove, cut, sync, where a path allows it */
			OS_SANDBOX_ACCEPT = 1 << 2,  /* connections at sockets that it was handed */
			OS_SANDBOX_CONNECT = 1 << 3, /* by TCP */
			OS_SANDBOX_DNS = 1 << 4,     /* UDP, and the addresses of the interfaces */
			OS_SANDBOX_ANSWER = 1 << 5,  /* send to who has an abstract address */
			OS_SANDBOX_OWNERS =
				1 << 6, /* os_process_files_as(); keeps what that needs of root */
			/* Start programs that are not ours, as other users. They would inherit all
			 * that is refused, so nothing is but most of root's capabilities, and being
			 * traced: for who reads nothing that strangers wrote. */
			OS_SANDBOX_PROGRAMS = 1 << 7,
			OS_SANDBOX_DATABASE = 1 << 8, /* what SQLite does to files besides */
			OS_SANDBOX_LOCAL = 1 << 9,    /* connect to UNIX stream sockets */
			OS_SANDBOX_KEEP_ALIVE =
				1 << 10, /* os_socket_keep_alive(), of accepted connections */
};

struct os_sandbox {
	unsigned calls;
	const struct os_sandbox_path *paths;
	size_t path_count;
};

enum os_sandbox_lack { OS_SANDBOX_NO_LANDLOCK = 1 << 0, OS_SANDBOX_NO_SECCOMP = 1 << 1 };

/* What of it this kernel does not have: bits of enum os_sandbox_lack. */
unsigned os_sandbox_lacks(void);

/* Enters; the process has one thread. A path that does not exist is left out. What
 * the kernel lacks is done without: *LACKS_OUT says what. -errno when something that
 * the kernel has could not be done: the process must end. */
MUST_CHECK int os_sandbox_enter(const struct os_sandbox *sandbox, unsigned *lacks_out);

/* Where a path leads; all zero where it leads to nothing. */
struct os_sandbox_place {
	uint64_t device;
	uint64_t inode;
};
/* -errno when that cannot be told now. */
MUST_CHECK int os_sandbox_place(const char *path, struct os_sandbox_place *place_out);

#endif
