// SPDX-License-Identifier: ISC
/*
 * supervisor/machine_check/machine_check.h - checks whether this machine has what a configuration
 * names: users, programs, files, directories. "stagepost check" reports what is missing, and
 * "stagepost serve" refuses to start if it could not work.
 */
#ifndef SUPERVISOR_MACHINE_CHECK_MACHINE_CHECK_H
#define SUPERVISOR_MACHINE_CHECK_MACHINE_CHECK_H

#include "config/config.h"

enum machine_severity {
	MACHINE_WARNING, /* works, but perhaps not as intended */
	MACHINE_FAULT,   /* the node works, but mail will wait or fail */
	MACHINE_FATAL,   /* the node cannot start */
};

struct machine_finding {
	enum machine_severity severity;
	struct str file;
	unsigned line; /* 0: the setting and its section are not in a file */
	const char *setting;
	const char *problem; /* "what is wrong: details" */
	const char *text; /* all of it, for people: "FILE:LINE: SETTING: what is wrong: details" */
};

typedef void machine_found(void *context, const struct machine_finding *finding);

/* Calls FOUND for each problem of CONFIG, which was parsed from TEXT, on this machine; returns the
 * worst severity, or -1 if there is none. Changes nothing on the machine. Does not find problems
 * with files that this user may not access. READS_SECRETS: also private keys, which the processes
 * of a node leave to "keys"; and LMTP servers are asked for postmasters. */
int machine_check(const struct config *config, struct str text, bool reads_secrets,
		  machine_found *found, void *context);

#endif
