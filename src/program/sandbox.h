// SPDX-License-Identifier: ISC
/*
 * program/sandbox.h - what each of our processes may do, as one table.
 */
#ifndef PROGRAM_SANDBOX_H
#define PROGRAM_SANDBOX_H

#include "config/config.h"

struct sandbox;

/* Enters the sandbox of the program called NAME, as CONFIG makes it, and logs what
 * is lacking of it. One that is not in the table is a broken invariant. -errno as
 * os_sandbox_enter(). */
MUST_CHECK int sandbox_enter(const char *name, const struct config *config,
			     struct sandbox **sandbox_out);
/* Whether it still is the right one: nothing is needed by CONFIG that was not
 * there to be allowed, and the paths lead where they did. */
bool sandbox_fits(const struct sandbox *sandbox, const struct config *config);
/* Logs, as a warning, the LACKS (enum os_sandbox_lack) if there are any. */
void sandbox_log_lacks(unsigned lacks);

#endif
