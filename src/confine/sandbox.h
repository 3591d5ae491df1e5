// SPDX-License-Identifier: ISC
/*
 * confine/sandbox.h - what each of our processes may do, in one table.
 */
#ifndef CONFINE_SANDBOX_H
#define CONFINE_SANDBOX_H

#include "config/config.h"

struct sandbox;

/* Enters the sandbox of the program called NAME for CONFIG, and logs what the kernel does not
 * support. Panics if NAME is not in the table. -errno as os_sandbox_enter(). */
MUST_CHECK int sandbox_enter(const char *name, const struct config *config,
			     struct sandbox **sandbox_out);
/* Whether it still fits: CONFIG needs no path that did not exist then, and all paths lead to the
 * same places. */
bool sandbox_fits(const struct sandbox *sandbox, const struct config *config);
/* The same for less, of a CONFIG that has fitted before. */
bool sandbox_fits_still(const struct sandbox *sandbox, const struct config *config);
/* Whether the process looks up names in the DNS. */
bool sandbox_looks_up_names(const struct sandbox *sandbox);
/* Logs LACKS (enum os_sandbox_lack) as a warning, if there are any. */
void sandbox_log_lacks(unsigned lacks);

#endif
