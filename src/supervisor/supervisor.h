// SPDX-License-Identifier: ISC
/*
 * supervisor/supervisor.h - the supervisor: binds ports, starts, watches and restarts
 * the other processes, passes them open sockets, reloads, and does nothing else.
 */
#ifndef SUPERVISOR_SUPERVISOR_H
#define SUPERVISOR_SUPERVISOR_H

#include "config/config.h"

/* Where this supervisor comes from. */
struct supervisor_origin {
	int predecessor; /* its end of a socket to the supervisor that upgrades (upgrade.h); -1 */
	unsigned inherited; /* descriptors from OS_INHERITED_FIRST on that the service manager kept
			     */
	struct str names;   /* of these, separated by ':' */
};

/* Serves until SIGTERM or SIGINT, or until a successor serves (exit status 0), or until it cannot
 * (supervisor/start/status.h): COMMAND_FAILED, or COMMAND_NEVER if the configuration or the machine
 * must be changed first. Takes over CONFIG, which was read from FILE and parsed from TEXT. */
int supervisor_run(const char *file, struct str text, struct config *config,
		   const struct supervisor_origin *origin);
/* To call at the end, or in place of supervisor_run(): tells the service manager the first line of
 * FAILURE, why nothing starts or all has ended, if it is not "", and waits a moment until that and
 * the log are with those who show them. Returns STATUS. */
int supervisor_end(struct str failure, int status);

#endif
