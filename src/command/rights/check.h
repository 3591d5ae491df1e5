// SPDX-License-Identifier: ISC
/*
 * command/rights/check.h - compares a running node with confine/rights/rights.h.
 */
#ifndef COMMAND_RIGHTS_CHECK_H
#define COMMAND_RIGHTS_CHECK_H

#include "command/rights/node.h"
#include "config/config.h"
#include "supervisor/user.h"

/* Something that a process has, but the table does not allow. */
struct rights_finding {
	pid_t pid;
	const char *program;
	const char *found;
	const char *allowed;
	uint64_t socket; /* that it is about; or 0 */
};

struct rights_findings {
	struct arena *arena; /* owns the texts and the list */
	struct rights_finding *list;
	size_t count;
	size_t size;
};

/* What to compare a node with. */
struct rights_expected {
	const struct config *config;
	const struct program_users *users; /* NULL: all run as the supervisor's */
};

void rights_findings_init(struct rights_findings *findings);
void rights_findings_clear(struct rights_findings *findings);
/* Adds the findings about NODE. */
void rights_check(const struct node *node, const struct rights_expected *expected,
		  struct rights_findings *findings);
/* Keeps only FINDINGS that are also in OTHERS: those of two snapshots are not temporary. If the
 * same descriptor has another socket, the finding is a different one. */
void rights_findings_keep(struct rights_findings *findings, const struct rights_findings *others);

/* Shared by the files of the check. */
struct rights_check {
	const struct node *node;
	const struct rights_expected *expected;
	const struct node_process *process; /* being checked; has rights */
	struct rights_findings *findings;
	uint64_t socket; /* being checked; or 0 */
};

/* Adds a finding about CHECK's process. */
void rights_report(const struct rights_check *check, const char *allowed, const char *format, ...)
	PRINTF_LIKE(3, 4);
/* Checks all descriptors of the process. */
void rights_check_descriptors(const struct rights_check *check);
/* Checks a descriptor that is a file. */
void rights_check_file(const struct rights_check *check, const struct node_descriptor *descriptor);

#endif
