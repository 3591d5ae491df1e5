// SPDX-License-Identifier: ISC
/*
 * deliver/launch/command.h - the arguments and the environment of a program that is given one
 * recipient's message.
 *
 * Values from outside are filled into single arguments and environment variables, and no shell
 * reads them: they contain no control characters, and those that may be used as a name in a path
 * (%d, %u, %x) are valid file names. They cannot turn an argument into an option.
 */
#ifndef DELIVER_LAUNCH_COMMAND_H
#define DELIVER_LAUNCH_COMMAND_H

#include "base/arena.h"
#include "config/config.h"
#include "mail/envelope.h"
#include "mail/verdict.h"
#include "os/process/process.h"

struct pipe_envelope {
	struct mail_id id;
	struct str sender; /* "" : the null sender */
	struct str recipient;
	const struct os_process_account *owner;
};

struct pipe_command { /* both end with NULL */
	const char **arguments;
	const char **environment;
};

/* The command of SERVICE for ENVELOPE, in ARENA. False when it cannot be filled in safely;
 * *WHY_OUT is the reason. */
MUST_CHECK bool pipe_command_fill(struct arena *arena, const struct config_service *service,
				  const struct pipe_envelope *envelope,
				  struct pipe_command *command_out, struct mail_verdict *why_out);

#endif
