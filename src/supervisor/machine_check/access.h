// SPDX-License-Identifier: ISC
/*
 * supervisor/machine_check/access.h - checks whether each process of a node may open what the
 * configuration names for it: as its user, with his groups, and within the unit of the service.
 */
#ifndef SUPERVISOR_MACHINE_CHECK_ACCESS_H
#define SUPERVISOR_MACHINE_CHECK_ACCESS_H

#include "supervisor/machine_check/machine_check.h"
#include "supervisor/machine_check/unit.h"

struct os_process_user;

/* One that runs with a configuration; "stagepost" is the supervisor. */
struct machine_process {
	const char *program; /* "directory" */
	const char *file;    /* its row in the table of rights: "directory-ldap" */
	const struct os_process_user *user;
};

/* Calls FOUND, as machine_check() does, for what one of the COUNT PROCESSES may not open; returns
 * the worst severity, or -1. UNIT: of the service that they will be in; NULL: this process is in
 * it, or there is none. READS_SECRETS: also private keys and passwords. What is not there is left
 * to machine_check(). */
int machine_check_access(const struct config *config, struct str text,
			 const struct machine_process *processes, size_t count,
			 const struct machine_unit *unit, bool reads_secrets, machine_found *found,
			 void *context);

#endif
