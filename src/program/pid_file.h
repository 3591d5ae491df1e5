// SPDX-License-Identifier: ISC
/*
 * program/pid_file.h - RUN/stagepost.pid, by which commands find the supervisor.
 *
 * The supervisor holds a lock on it for as long as it lives, so a file that an
 * earlier one left behind is known for what it is. The directory may be another user's,
 * who can put there what he likes: a file is believed about processes of its owner,
 * whom he could signal himself, and about no others.
 */
#ifndef PROGRAM_PID_FILE_H
#define PROGRAM_PID_FILE_H

#include "base/attributes.h"
#include <sys/types.h>

#define PID_FILE_NAME "stagepost.pid"

/* Writes this process's number and takes the lock until it ends: a descriptor;
 * -EAGAIN when a supervisor runs in the directory RUN. */
MUST_CHECK int pid_file_write(const char *run);
/* The number of the supervisor that runs there, and whose process it has to be; -ESRCH when
 * none does. */
MUST_CHECK pid_t pid_file_read(const char *run, uid_t *owner_out);

#endif
