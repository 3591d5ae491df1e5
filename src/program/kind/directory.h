// SPDX-License-Identifier: ISC
/*
 * program/kind/directory.h - the main() of programs that serve the directory; there is one
 * program for each database library that the backends need.
 */
#ifndef PROGRAM_KIND_DIRECTORY_H
#define PROGRAM_KIND_DIRECTORY_H

#include "directory/store/guard/guard.h"
#include "directory/store/store.h"
#include "program/kind/peer_network.h"
#include "supervisor/child/child.h"

/* Implemented by program/directory.c, program/directory_ldap.c and program/directory_postgresql.c.
 */
struct directory_backend {
	const char *program; /* file name; also of its sandbox */
	/* Called before the sandbox is entered; may be NULL. As in struct child_program. */
	int (*open)(struct child *child);
	/* Called in the sandbox. 0 and *STORE_OUT; or -errno, with a sentence in WHY. */
	int (*start)(struct child *child, const struct peer_network *network,
		     struct directory_store **store_out, struct buffer *why);
};

/* Reads what this node has seen of the store at PLACE (directory/store/guard/guard.h), which the
 * backend is creating, and makes it guarded. 0; or -errno, with a sentence in WHY: it cannot be
 * read. */
MUST_CHECK int directory_process_guard(const struct child *child, const char *place,
				       struct store_guard_memory *seen_out, struct buffer *why);
/* The main() of a program. */
int directory_process_main(int argc, char **argv, const struct directory_backend *backend);

#endif
