// SPDX-License-Identifier: ISC
/*
 * os/process/program.h - runs an external program with pipes as its standard input and output, in a
 * session of its own, without any other descriptor of ours.
 */
#ifndef OS_PROCESS_PROGRAM_H
#define OS_PROCESS_PROGRAM_H

#include "os/process/process.h"

struct os_program {
	pid_t pid;
	int ended;  /* becomes readable when the program has ended */
	int input;  /* for writing: its standard input; -1: closed */
	int output; /* for reading: its standard output and error; -1: closed */
};

/* Starts ARGUMENTS[0] (a path) with ARGUMENTS and ENVIRONMENT, which end with NULL,
 * as USER. Its directory is "/", its umask 077; signals have their defaults, and no other
 * descriptor is open; it is killed when this process ends. The pipes are non-blocking.
 * If the program cannot be executed, the output says why and the status is
 * 126 or 127, as in a shell. */
MUST_CHECK int os_program_start(const char *const *arguments, const char *const *environment,
				const struct os_process_user *user, struct os_program *out);
/* Whether it has ended; STATUS_OUT as of waitpid(). WAITING: waits for it. */
MUST_CHECK bool os_program_has_ended(const struct os_program *program, bool waiting,
				     int *status_out);
/* Kills it with its process group. Not after os_program_has_ended() returned true. */
void os_program_kill(const struct os_program *program);
void os_program_close_input(struct os_program *program);
void os_program_close_output(struct os_program *program);
/* Closes the descriptors that are open. */
void os_program_close(struct os_program *program);

#endif
