// SPDX-License-Identifier: ISC
/*
 * supervisor/machine_check/files.h - the files and directories that the configuration names, by
 * the bases of the table of rights (confine/rights/rights.h), each with its setting.
 */
#ifndef SUPERVISOR_MACHINE_CHECK_FILES_H
#define SUPERVISOR_MACHINE_CHECK_FILES_H

#include "base/arena.h"
#include "confine/rights/rights.h"
#include "os/process/access.h"
#include "supervisor/machine_check/access.h"

/* What a process must be able to open. */
struct machine_file {
	struct os_access asked;
	const char *setting; /* as in problems */
	const char *owner;   /* the user to open it as; NULL: the process's */
	const char *to_make; /* what is to be made in this directory; or NULL */
	enum machine_severity severity;
	bool is_secret;
	bool is_file;     /* neither a directory nor a pipe */
	bool is_needed;   /* its absence is reported here, by nobody else */
	bool is_made;     /* if it is absent; but a link to nothing is in the way of that */
	bool is_anybodys; /* only the unit is judged, as it is not known who opens it */
	bool is_socket;   /* to connect to, also on a read-only file system */
};

struct machine_files {
	struct arena *arena;       /* has their texts */
	struct machine_file *list; /* the caller frees it */
	size_t count;
	size_t capacity;
};

/* Adds those that PROCESS has by CONFIG in the base of TREE, a row of its rights. */
void machine_files_add(struct machine_files *files, const struct config *config,
		       const struct machine_process *process, const struct rights_tree *tree);
/* Adds those of PROCESS that no base has: programs, sockets of others, what is read before the
 * process gives up its rights. */
void machine_files_add_others(struct machine_files *files, const struct config *config,
			      const struct machine_process *process);

#endif
