// SPDX-License-Identifier: ISC
/*
 * supervisor/start/backend.h - the files of programs of which there is one for each backend, so
 * that only one that needs the library of a database loads it, and a site installs those that it
 * uses.
 */
#ifndef SUPERVISOR_START_BACKEND_H
#define SUPERVISOR_START_BACKEND_H

#include "config/config.h"

/* Of the processes "directory", "auth" and "mailbox". */
const char *backend_directory_program(const struct config *config);
const char *backend_auth_program(const struct config *config);
const char *backend_mailbox_program(const struct config *config);
/* Of the command "mailbox". */
const char *backend_mailbox_command(const struct config *config);

#endif
