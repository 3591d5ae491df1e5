// SPDX-License-Identifier: ISC
/*
 * program/machine_check.h - whether this machine has what a configuration names:
 * users, programs, files, directories. "stagepost check" says what is missing, and
 * "stagepost serve" does not begin where it could not work.
 */
#ifndef PROGRAM_MACHINE_CHECK_H
#define PROGRAM_MACHINE_CHECK_H

#include "config/config.h"

enum machine_severity {
	MACHINE_WARNING, /* works, but perhaps not as it is meant */
	MACHINE_FAULT,   /* mail will wait or fail because of it, the node works */
	MACHINE_FATAL,   /* the node cannot start */
};

/* LINE is for people: "FILE:LINE: SETTING: what is wrong: what is there". */
typedef void machine_found(void *context, enum machine_severity severity, const char *line);

/* Calls FOUND for each thing that is wrong with CONFIG, which was read from TEXT, on this machine;
 * the worst of them. -1: nothing is. Changes nothing on the machine. What this user may not look
 * at is not found. */
int machine_check(const struct config *config, struct str text, machine_found *found,
		  void *context);

#endif
