// SPDX-License-Identifier: ISC
/*
 * os/sandbox/sandbox.h - restricts this process: Landlock for files, network and signals, seccomp
 * for system calls, and no capabilities but those that are listed.
 *
 * A process opens what it needs permanently, enters the sandbox, and only then reads foreign input.
 * Open descriptors stay open; a process that may open any file can call stat(2) on every path,
 * since Landlock has no right for it. Everything else that is not in the struct is denied
 * permanently, also to threads started later: a file with EACCES, a system call with EPERM.
 *
 * Denied, not killed: which calls the C library makes is up to its version, and the mail system
 * must survive its next one. This is no less secure: an attacker who has taken the process over
 * gains nothing by trying.
 */
#ifndef OS_SANDBOX_SANDBOX_H
#define OS_SANDBOX_SANDBOX_H

#include "base/attributes.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum os_sandbox_access { /* for everything below a directory, or for one file */
			 OS_SANDBOX_READ = 1 << 0,   /* read files */
			 OS_SANDBOX_LIST = 1 << 1,   /* list and sync directories */
			 OS_SANDBOX_WRITE = 1 << 2,  /* write to files and truncate them */
			 OS_SANDBOX_MAKE = 1 << 3,   /* create files, also by link and rename */
			 OS_SANDBOX_REMOVE = 1 << 4, /* remove files, also by rename */
			 OS_SANDBOX_LINK =
				 1 << 5, /* link files to other places; part of MAKE and REMOVE */
			 OS_SANDBOX_FOLDERS = 1 << 6 /* create directories */
};

struct os_sandbox_path {
	const char *path;
	unsigned access;
};

enum os_sandbox_calls { /* besides memory, time, threads, and I/O on existing sockets */
			OS_SANDBOX_OPEN = 1 << 0, /* open and list, where paths allow it */
			OS_SANDBOX_CHANGE =
				1 << 1, /* create, remove, truncate, sync, where paths allow it */
			OS_SANDBOX_ACCEPT = 1 << 2,  /* connections at inherited sockets */
			OS_SANDBOX_CONNECT = 1 << 3, /* by TCP */
			OS_SANDBOX_DNS = 1 << 4,     /* UDP, and the addresses of the interfaces */
			OS_SANDBOX_ANSWER = 1 << 5,  /* send to abstract addresses */
			OS_SANDBOX_OWNERS =
				1 << 6, /* os_process_files_as(); keeps its capabilities */
			/* Start external programs as other users. These would inherit the
			 * restrictions, so there are few: most capabilities are dropped, and
			 * tracing is denied. Only for processes that read nothing foreign. */
			OS_SANDBOX_PROGRAMS = 1 << 7,
			OS_SANDBOX_DATABASE = 1 << 8, /* further file operations of SQLite */
			OS_SANDBOX_LOCAL = 1 << 9,    /* connect to UNIX stream sockets */
			OS_SANDBOX_KEEP_ALIVE =
				1 << 10, /* os_socket_keep_alive() on accepted connections */
			OS_SANDBOX_SECRETS =
				1 << 11, /* read files of any owner, where paths allow it; nobody
					  * can trace the process, and it leaves no core */
			OS_SANDBOX_SYNC =
				1 << 12, /* make the bytes of files durable; part of CHANGE */
			OS_SANDBOX_HIDDEN =
				1 << 13, /* nobody can trace the process, and it leaves no core */
			OS_SANDBOX_SOURCE = 1
					    << 14, /* choose the source addresses of TCP
						    * connections: bind, at no port of its own if
						    * Landlock can forbid that, and never listen */
			OS_SANDBOX_FLAGS =
				1 << 15, /* change the flags of sockets, as libraries do, and shut
					  * them down; not shared ones. The first is part of DNS */
			OS_SANDBOX_SPACE = 1 << 16, /* ask how much space is free where an open file
						     * is; part of OPEN */
			OS_SANDBOX_LOCKS = 1 << 17, /* lock the bytes of files; part of DATABASE */
};

struct os_sandbox {
	unsigned calls;
	const struct os_sandbox_path *paths;
	size_t path_count;
};

enum os_sandbox_lack { OS_SANDBOX_NO_LANDLOCK = 1 << 0, OS_SANDBOX_NO_SECCOMP = 1 << 1 };

/* What the kernel does not support: bits of enum os_sandbox_lack. */
unsigned os_sandbox_lacks(void);

/* Enters the sandbox; the process must have one thread. Ignores paths that do not exist, and what
 * the kernel does not support, which *LACKS_OUT reports. -errno if something that the kernel
 * supports has failed: the process must end. */
MUST_CHECK int os_sandbox_enter(const struct os_sandbox *sandbox, unsigned *lacks_out);

/* The file to which a path leads; all zero if there is none. */
struct os_sandbox_file {
	uint64_t device;
	uint64_t inode;
};
/* -errno if that cannot be determined now. */
MUST_CHECK int os_sandbox_file(const char *path, struct os_sandbox_file *file_out);

enum { OS_SANDBOX_PATH_SIZE = 4096 };
/* The absolute path of the file to which PATH leads, without symbolic links. */
MUST_CHECK int os_sandbox_real_path(const char *path, char real_out[OS_SANDBOX_PATH_SIZE]);

#endif
