// SPDX-License-Identifier: ISC
/* stagepost directory repair: its options; the work is command/directory_command.c. */
#include "command/directory/directory.h"

const struct command_option command_directory_repair_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--apply", NULL, "make a new file of what is not damaged; otherwise nothing is changed",
	 offsetof(struct command_directory_repair_options, applies)},
	COMMAND_OPTION_JSON(
		"print an object of JSON for each damaged record, then one of the file"),
	COMMAND_OPTION_END,
};

int command_directory_repair(const struct command *command, int argc, char **argv)
{
	(void)argc;
	command_become(command, COMMAND_DIRECTORY_PROGRAM, argv);
	return COMMAND_FAILED;
}
