// SPDX-License-Identifier: ISC
/*
 * program/node.h - a node that runs, as the kernel sees it: a moment of it.
 */
#ifndef PROGRAM_NODE_H
#define PROGRAM_NODE_H

#include "os/inspect.h"
#include "os/inspect_sockets.h"
#include "program/rights.h"

struct node_descriptor {
	int number;
	unsigned flags;     /* of open(2) */
	const char *target; /* "socket:[1]", "/a/file", "/a/file (deleted)" */
	uint64_t socket;    /* its number; 0: it is none */
};

struct node_process {
	pid_t pid;
	const char *program;               /* the name of the file that it runs; "": not known */
	const char *path;                  /* of that file */
	const struct rights *rights;       /* NULL: none of ours */
	const struct node_process *parent; /* NULL: the supervisor, which is the first */
	struct os_inspect_status status;
	struct node_descriptor *descriptors;
	size_t count;
	int error; /* -errno: what it has open cannot be seen */
};

struct node {
	struct arena *arena; /* owns everything here but the sockets */
	struct os_inspect_sockets *sockets;
	struct node_process *processes;
	size_t count;
};

/* The process SUPERVISOR and all that it and they started; -ESRCH when it has ended. */
MUST_CHECK int node_look(pid_t supervisor, struct node *out);
void node_clear(struct node *node);
/* Another process than PROCESS that has the socket NUMBER, or itself, or NULL. */
const struct node_process *node_find_socket(const struct node *node, uint64_t number,
					    const struct node_process *process);

#endif
