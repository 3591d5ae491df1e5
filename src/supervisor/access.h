// SPDX-License-Identifier: ISC
/*
 * supervisor/access.h - whether the processes of a node may open what the configuration names,
 * each as the user that the supervisor gives it.
 */
#ifndef SUPERVISOR_ACCESS_H
#define SUPERVISOR_ACCESS_H

#include "supervisor/machine_check/access.h"

/* Calls FOUND for each file or directory that one of them may not open (machine_check_access());
 * returns the worst severity, or -1. UNIT: the node will be started by it; NULL: as this process,
 * and in its view of the file system. */
int supervisor_check_access(const struct config *config, struct str text,
			    const struct machine_unit *unit, bool reads_secrets,
			    machine_found *found, void *context);

#endif
