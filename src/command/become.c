// SPDX-License-Identifier: ISC
/* Commands whose work a program of its own does: its libraries are not loaded by others. */
#include "command/command.h"
#include "os/process/process.h"
#include "supervisor/start/program_directory.h"
#include <stdio.h>
#include <string.h>

void command_become(const struct command *command, const char *program, char **argv)
{
	char path[OS_PROCESS_PATH_SIZE + 64];
	char directory[OS_PROCESS_PATH_SIZE];
	int error = program_directory_find(directory);

	snprintf(path, sizeof path, "%s/%s", directory, program);
	if (error == 0)
		error = os_process_replace(path, argv);
	fprintf(stderr, "stagepost %s: %s: %s\n", command->name, path, strerror(-error));
}
