// SPDX-License-Identifier: ISC
/*
 * supervisor/start/program_directory.h - where the other programs are.
 */
#ifndef SUPERVISOR_START_PROGRAM_DIRECTORY_H
#define SUPERVISOR_START_PROGRAM_DIRECTORY_H

#include "os/process/process.h"

/* If installed, relative to the running program's own file, so that a tree can be moved; otherwise
 * next to that file. -errno: that file is not known. */
MUST_CHECK int program_directory_find(char directory[OS_PROCESS_PATH_SIZE]);

#endif
