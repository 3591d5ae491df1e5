// SPDX-License-Identifier: ISC
/*
 * world/command.h - somebody runs a command of the product on a machine.
 */
#ifndef WORLD_COMMAND_H
#define WORLD_COMMAND_H

#include "kernel.h"

/* Runs PROGRAM with ARGUMENTS, which end with NULL, on MACHINE. DONE comes when it has ended,
 * in whatever way, the world's end included: STATUS as of waitpid(), OUTPUT what it has printed on
 * both of its streams, which is gone afterwards. */
void command_run(struct machine *machine, const char *program, const char *const *arguments,
		 void (*done)(void *context, int status, const char *output), void *context);

#endif
