// SPDX-License-Identifier: ISC
/*
 * supervisor/talk/pid_file.h - RUN/stagepost.pid, by which commands find the supervisor.
 *
 * The supervisor holds a lock on it as long as it lives, so a stale file of an earlier one is
 * recognised. The directory may belong to another user, who can put any file there: therefore
 * a file is trusted only for processes of its owner, to whom he could send signals himself.
 */
#ifndef SUPERVISOR_TALK_PID_FILE_H
#define SUPERVISOR_TALK_PID_FILE_H

#include "base/attributes.h"
#include <sys/types.h>

#define PID_FILE_NAME "stagepost.pid"

/* Writes this process's pid and takes the lock until it ends: a descriptor;
 * -EAGAIN: a supervisor runs with the directory RUN. */
MUST_CHECK int pid_file_write(const char *run);
/* Writes it to FILE, which this process or the one that has passed it on has locked so. */
MUST_CHECK int pid_file_rewrite(int file);
/* The pid of the supervisor that runs there, and the user it must belong to; -ESRCH: none
 * runs. */
MUST_CHECK pid_t pid_file_read(const char *run, uid_t *owner_out);

#endif
