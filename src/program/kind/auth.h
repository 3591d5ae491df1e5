// SPDX-License-Identifier: ISC
/* program/kind/auth.h - what all of auth's programs have in common. */
#ifndef PROGRAM_KIND_AUTH_H
#define PROGRAM_KIND_AUTH_H

#include "auth/server/password.h"
#include "supervisor/child/child.h"

/* NAME: in logs, and of the sandbox. OPEN_BINDER: before the sandbox; NULL: passwords are checked
 * by hashes. *BINDER_OUT is for as long as the process lives. -errno ends it; the reason was
 * logged. */
int auth_process_main(int argc, char **argv, const char *name,
		      int (*open_binder)(const struct config *config,
					 const struct auth_binder **binder_out));

#endif
