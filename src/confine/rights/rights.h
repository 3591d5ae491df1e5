// SPDX-License-Identifier: ISC
/*
 * confine/rights/rights.h - the rights and resources that each process of a node may have: the
 * table by which a running node is checked ("stagepost check --running"), and which doc/security.md
 * shows.
 *
 * confine/sandbox.c defines what a process may still do; this table, what can be observed
 * from outside at any time. At which sockets it listens, and to whom it is connected, follows from
 * confine/process.h; all else is said here independently. A process that has less is correct, too.
 */
#ifndef CONFINE_RIGHTS_RIGHTS_H
#define CONFINE_RIGHTS_RIGHTS_H

#include "base/buffer.h"
#include <stdint.h>

enum {
	RIGHTS_TREES_MAX = 20,
};

/* Network access and other rights. */
enum {
	RIGHTS_CLIENTS = 1U << 0,     /* connections from anybody, where it listens */
	RIGHTS_SERVERS = 1U << 1,     /* outgoing TCP connections */
	RIGHTS_DNS = 1U << 2,         /* UDP */
	RIGHTS_ROUTES = 1U << 3,      /* asks the kernel for the machine's addresses */
	RIGHTS_OUTSIDE = 1U << 4,     /* UNIX connections to processes outside the node */
	RIGHTS_PIPES = 1U << 5,       /* to programs that run for it */
	RIGHTS_CONFINED = 1U << 6,    /* Landlock and seccomp; no_new_privs */
	RIGHTS_UNTRACEABLE = 1U << 7, /* also by other processes of its user */
	RIGHTS_LOG = 1U << 8, /* writes to the log itself; others have a pipe to the supervisor */
	RIGHTS_WATCHES = 1U << 9, /* watches writes to files (inotify) */
};

enum rights_base {
	RIGHTS_SYSTEM = 1, /* an absolute path */
	RIGHTS_QUEUE,
	RIGHTS_RUN,
	RIGHTS_MAILBOXES,
	RIGHTS_DATABASE,       /* next to the directory's data file */
	RIGHTS_RECORD,         /* next to the file of section record; what that, and services of
				* kind imap, name */
	RIGHTS_CERTIFICATES,   /* next to certificates, keys and authorities that "keys" reads */
	RIGHTS_POLICIES,       /* setting policy_path */
	RIGHTS_AUTHORITIES,    /* next to setting tls_authorities */
	RIGHTS_LDAP_AUTHORITY, /* setting authority of section directory */
	RIGHTS_PROGRAMS,       /* the executables of the node */
	RIGHTS_TOKENS,         /* next to the files of section auth */
};

struct rights_tree {
	enum rights_base base; /* 0: end of the list */
	const char *path;      /* and everything below it; "": the base, ".": nothing below it */
	bool may_write;
};

struct rights {
	const char *program;
	const char *user;      /* of setting "user": "process", "owner"; or a user's name */
	uint64_t capabilities; /* that it keeps if it is root, or may change its user */
	unsigned flags;
	struct rights_tree trees[RIGHTS_TREES_MAX]; /* of files that it may have open */
};

/* The rights of the file called PROGRAM; NULL: not a program of a node. */
const struct rights *rights_find(const char *program);
/* Whether the processes LEFT and RIGHT of a node may be connected. */
bool rights_may_connect(const struct rights *left, const struct rights *right);
bool rights_may_listen(const struct rights *rights, const char *name);
/* The name of a socket that some program of a node has in the run directory as NAME; NULL: none
 * has. */
const char *rights_socket_find(const char *name);
/* Appends the table in Markdown. */
void rights_append_table(struct buffer *out);

#endif
