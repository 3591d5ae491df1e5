// SPDX-License-Identifier: ISC
/*
 * confine/process.h - the processes of a node, in one table: their programs, the sockets that each
 * has, and those of others to which connections are made for it. The supervisor hands both out by
 * it, the sandbox allows what is needed for it, and confine/rights/rights.h says by it who may be
 * connected to whom.
 */
#ifndef CONFINE_PROCESS_H
#define CONFINE_PROCESS_H

#include "base/str.h"
#include <stdbool.h>

enum {
	PROCESS_FILES_MAX = 3,
	PROCESS_SOCKETS_MAX = 2,
	PROCESS_TARGETS_MAX = 5,
};

/* What is less than its bound ends with NULL. */
struct confine_process {
	const char *name;
	const char *files[PROCESS_FILES_MAX];     /* of its programs; none: one, called NAME */
	const char *sockets[PROCESS_SOCKETS_MAX]; /* by their names in supervisor/child/child.h, up
						   * to the space */
	const char *targets[PROCESS_TARGETS_MAX]; /* sockets in the run directory */
};

/* The process called NAME, or that of the program FILE; NULL: there is none. */
const struct confine_process *confine_process_find(const char *name);
const struct confine_process *confine_process_of(const char *file);
/* The process number I, from 0 on, in the order in which tables show them; NULL: no more. */
const struct confine_process *confine_process_at(size_t i);
/* The file names of its programs, from I = 0 on; NULL: no more. */
const char *confine_process_file(const struct confine_process *process, size_t i);
/* The place of SOCKET among its sockets; -1: it has none of that name. */
ptrdiff_t confine_process_socket(const struct confine_process *process, struct str socket);
/* Whether connections to SOCKET in the run directory are made for it. */
bool confine_process_has_target(const struct confine_process *process, const char *socket);
/* Whether one of the two is connected to a socket of the other. */
bool confine_process_may_connect(const struct confine_process *left,
				 const struct confine_process *right);

#endif
