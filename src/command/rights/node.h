// SPDX-License-Identifier: ISC
/*
 * command/rights/node.h - a snapshot of a running node, from the kernel.
 */
#ifndef COMMAND_RIGHTS_NODE_H
#define COMMAND_RIGHTS_NODE_H

#include "confine/rights/rights.h"
#include "os/inspect/inspect.h"
#include "os/inspect/sockets.h"

struct node_descriptor {
	int number;
	unsigned flags;     /* of open(2) */
	const char *target; /* "socket:[1]", "/a/file", "/a/file (deleted)" */
	uint64_t socket;    /* its number; 0: not a socket */
};

struct node_process {
	pid_t pid;
	const char *program;               /* file name of the executable; "": unknown */
	const char *path;                  /* of that file */
	const struct rights *rights;       /* NULL: not a program of a node */
	const struct node_process *parent; /* NULL: this is the supervisor, the first process */
	struct os_inspect_status status;
	struct node_descriptor *descriptors;
	size_t count;
	int error; /* -errno: its descriptors cannot be inspected */
};

struct node {
	struct arena *arena; /* owns everything here except the sockets */
	struct os_inspect_sockets *sockets;
	struct node_process *processes;
	size_t count;
};

/* The process SUPERVISOR and all its descendants; -ESRCH: it has ended. */
MUST_CHECK int node_look(pid_t supervisor, struct node *out);
void node_clear(struct node *node);
/* Whether only root may see what PROCESS has open. */
bool node_is_hidden(const struct node_process *process);
/* A process that has the socket NUMBER, preferably not PROCESS itself; or NULL. */
const struct node_process *node_find_socket(const struct node *node, uint64_t number,
					    const struct node_process *process);

#endif
