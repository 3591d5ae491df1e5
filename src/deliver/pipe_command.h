// SPDX-License-Identifier: ISC
/*
 * deliver/pipe_command.h - the arguments and the environment of a program that takes
 * one recipient's message.
 *
 * What came from outside is filled into single arguments and values, and is read by
 * no shell: it has no control character, and where it may be taken for a name in a
 * path (%d, %u, %x) it is one. An argument cannot become an option by it.
 */
#ifndef DELIVER_PIPE_COMMAND_H
#define DELIVER_PIPE_COMMAND_H

#include "base/arena.h"
#include "config/config.h"
#include "mail/envelope.h"
#include "mail/verdict.h"
#include "os/process.h"

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

/* The command of SERVICE for ENVELOPE, in ARENA. False when it cannot be filled in
 * safely; *WHY_OUT says so. */
MUST_CHECK bool pipe_command_fill(struct arena *arena, const struct config_service *service,
				  const struct pipe_envelope *envelope,
				  struct pipe_command *command_out, struct mail_verdict *why_out);

#endif
