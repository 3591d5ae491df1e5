// SPDX-License-Identifier: ISC
/* stagepost config, manual - the configuration and what may stand in it. */
#include "program/command.h"
#include <stdio.h>

/* The configuration that the command line names; NULL: *STATUS_OUT says how to end. */
static struct config *read_config(const struct command *command, int argc, char **argv,
				  struct command_options *options, int *status_out)
{
	if (!command_parse_plain(command, argc, argv, options, status_out))
		return NULL;
	*status_out = COMMAND_FAILED;
	return command_config(options->config_file);
}

int command_config_print(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct buffer text = {0};
	int status;
	struct config *config = read_config(command, argc, argv, &options, &status);

	if (config == NULL)
		return status;
	config_print(config, &text);
	fwrite(buffer_data(&text), 1, text.length, stdout);
	buffer_clear(&text);
	config_free(config);
	return COMMAND_OK;
}

int command_manual(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct buffer text = {0};
	int status;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	config_print_manual(&text);
	fwrite(buffer_data(&text), 1, text.length, stdout);
	buffer_clear(&text);
	return COMMAND_OK;
}
