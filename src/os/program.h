// SPDX-License-Identifier: ISC
/*
 * os/program.h - running a program that is not ours: with pipes for its standard
 * input and its output, in a session of its own, and nothing else of ours.
 */
#ifndef OS_PROGRAM_H
#define OS_PROGRAM_H

#include "os/process.h"

struct os_program {
	pid_t pid;
	int ended;  /* becomes readable when the program has ended */
	int input;  /* to be written: its standard input; -1: closed */
	int output; /* to be read: its standard output and error; -1: closed */
};

/* Starts ARGUMENTS[0] (a path) with ARGUMENTS and ENVIRONMENT, which end with NULL,
 * as USER. The directory is "/", the umask 077; signals are as usual, no other
 * descriptor is open; it is killed when this process ends. Reading and writing do not
 * block. When the program itself cannot be run, its output says why and it ends with
 * 126 or 127, as in a shell. */
MUST_CHECK int os_program_start(const char *const *arguments, const char *const *environment,
				const struct os_process_user *user, struct os_program *out);
/* Whether it has ended; STATUS_OUT as of waitpid(). WAITING: not before it has. */
MUST_CHECK bool os_program_has_ended(const struct os_program *program, bool waiting,
				     int *status_out);
/* Kills it with its process group. Before it was seen to have ended. */
void os_program_kill(const struct os_program *program);
void os_program_close_input(struct os_program *program);
void os_program_close_output(struct os_program *program);
/* Closes what is open. */
void os_program_close(struct os_program *program);

#endif
