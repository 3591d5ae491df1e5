// SPDX-License-Identifier: ISC
/*
 * tests/unit/command/command_directory.h - a process "directory" beside the commands, whose data
 * are in memory.
 */
#ifndef TESTS_UNIT_COMMAND_DIRECTORY_H
#define TESTS_UNIT_COMMAND_DIRECTORY_H

#include <stdbool.h>
#include <sys/types.h>

/* Serves at RUN/directory by the configuration FILE, until command_directory_end(). Unless it IS_UP
 * its data cannot be reached. */
pid_t command_directory_begin(const char *file, const char *run, bool is_up);
void command_directory_end(pid_t pid);

#endif
