// SPDX-License-Identifier: ISC
/*
 * supervisor/start/status.h - exit statuses of commands, and of the supervisor, which is one.
 */
#ifndef SUPERVISOR_START_STATUS_H
#define SUPERVISOR_START_STATUS_H

enum {
	COMMAND_OK = 0,
	COMMAND_FAILED = 1,
	COMMAND_USAGE = 2,
	COMMAND_NEVER = 78, /* serve: cannot start until something is changed (EX_CONFIG) */
};

#endif
