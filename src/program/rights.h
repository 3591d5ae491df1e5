// SPDX-License-Identifier: ISC
/*
 * program/rights.h - what each process of a node may be and have: the table by which a running
 * node is checked ("stagepost check --running") and that doc/security.md shows.
 *
 * program/sandbox.c says what a process may still do; this is what may be seen of it, from
 * outside, at any time. A process that has less is right as well.
 */
#ifndef PROGRAM_RIGHTS_H
#define PROGRAM_RIGHTS_H

#include "base/buffer.h"
#include <stdint.h>

enum {
	RIGHTS_LISTENS_MAX = 3,
	RIGHTS_PEERS_MAX = 8,
	RIGHTS_PLACES_MAX = 16,
};

/* Of the network, and besides. */
enum {
	RIGHTS_CLIENTS = 1U << 0,  /* connections of anybody who came to where it listens */
	RIGHTS_SERVERS = 1U << 1,  /* TCP connections that it made */
	RIGHTS_DNS = 1U << 2,      /* UDP */
	RIGHTS_ROUTES = 1U << 3,   /* asks the kernel for the machine's addresses */
	RIGHTS_OUTSIDE = 1U << 4,  /* UNIX connections to processes that are not the node's */
	RIGHTS_PIPES = 1U << 5,    /* with the programs that run for it */
	RIGHTS_CONFINED = 1U << 6, /* Landlock and seccomp; gains no rights by running programs */
	RIGHTS_UNTRACEABLE = 1U << 7, /* nor by others of its user */
	RIGHTS_LOG = 1U << 8, /* writes the log itself; the others have a pipe to the supervisor */
	RIGHTS_WATCHES = 1U << 9, /* is told who writes to files (inotify) */
};

enum rights_base {
	RIGHTS_SYSTEM = 1, /* a path as it stands */
	RIGHTS_QUEUE,
	RIGHTS_RUN,
	RIGHTS_MAILBOXES,
	RIGHTS_DATABASE,     /* beside the file of the directory's data */
	RIGHTS_CERTIFICATES, /* beside those of its port */
};

struct rights_place {
	enum rights_base base; /* 0: the end */
	const char *path;      /* and all beneath it; "": the base, ".": nothing beneath it */
	bool may_write;
};

struct rights {
	const char *program;
	const char *user;      /* whose setting "user": "process", "owner"; or who it is */
	uint64_t capabilities; /* that it keeps where it is root, or may become others */
	const char *listens[RIGHTS_LISTENS_MAX]; /* sockets by their names in child.h, up to the
						  * space; the last is NULL, if there is room */
	const char *peers[RIGHTS_PEERS_MAX]; /* programs that UNIX sockets connect it with, besides
					      * itself and the supervisor */
	unsigned flags;
	struct rights_place places[RIGHTS_PLACES_MAX]; /* of files that it may have open */
};

/* Of the file called PROGRAM; NULL: it is none of a node's. */
const struct rights *rights_find(const char *program);
/* Whether the process LEFT may be connected with RIGHT, another of the node. */
bool rights_may_connect(const struct rights *left, const struct rights *right);
bool rights_may_listen(const struct rights *rights, const char *name);
/* The table in markdown. */
void rights_append_table(struct buffer *out);

#endif
