// SPDX-License-Identifier: ISC
/*
 * command/request.h - requests of commands to the running supervisor, by a signal.
 */
#ifndef COMMAND_REQUEST_H
#define COMMAND_REQUEST_H

#include "command/command.h"
#include "supervisor/talk/request_record.h"

struct command_request {
	const char *kind;     /* of its record (supervisor/talk/request_record.h) */
	const char *goes_on;  /* what stays if it is refused, for people */
	uint32_t seconds_max; /* for an answer */
};

/* The pid of the supervisor that runs with CONFIG, and the user it must belong to; or 0, after a
 * message that there is none. */
pid_t command_find_node(const struct command *command, const struct config *config,
			uid_t *owner_out);
/* Makes the REQUEST of PID by SIGNAL, and waits: the exit status, after a message that says why it
 * was refused. */
int command_make_request(const struct command *command, const struct config *config, pid_t pid,
			 uid_t owner, int signal, const struct command_request *request);

#endif
