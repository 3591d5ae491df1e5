// SPDX-License-Identifier: ISC
/*
 * program/rights_check.h - compares a node that runs with program/rights.h.
 */
#ifndef PROGRAM_RIGHTS_CHECK_H
#define PROGRAM_RIGHTS_CHECK_H

#include "config/config.h"
#include "program/node.h"
#include "program/serve_internal.h"

/* One thing that a process has or is, and the table does not allow. */
struct rights_finding {
	pid_t pid;
	const char *program;
	const char *found;
	const char *allowed;
	uint64_t socket; /* that it is about, or 0 */
};

struct rights_findings {
	struct arena *arena; /* owns the texts and the list */
	struct rights_finding *list;
	size_t count;
	size_t size;
};

/* What a node has to be compared with. */
struct rights_expected {
	const struct config *config;
	const struct supervisor *users; /* who runs as whom (serve_find_users()); NULL: all are
					 * who the supervisor is */
};

void rights_findings_init(struct rights_findings *findings);
void rights_findings_clear(struct rights_findings *findings);
/* Adds what is found in NODE. */
void rights_check(const struct node *node, const struct rights_expected *expected,
		  struct rights_findings *findings);
/* Keeps of FINDINGS what OTHERS have as well: what two looks saw was no moment's. Another socket
 * at the same descriptor is another finding. */
void rights_findings_keep(struct rights_findings *findings, const struct rights_findings *others);

/* What the files of the check share. */
struct rights_check {
	const struct node *node;
	const struct rights_expected *expected;
	const struct node_process *process; /* one with rights */
	struct rights_findings *findings;
	uint64_t socket; /* that is looked at, or 0 */
};

/* Adds to the findings about CHECK's process. */
void rights_report(const struct rights_check *check, const char *allowed, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* What its descriptors are, and lead to. */
void rights_check_descriptors(const struct rights_check *check);
/* One of them, which is a file. */
void rights_check_file(const struct rights_check *check, const struct node_descriptor *descriptor);

#endif
