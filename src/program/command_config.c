// SPDX-License-Identifier: ISC
/* stagepost check, config, manual - the configuration and what may stand in it. */
#include "program/command.h"
#include <stdio.h>

int command_check(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct config *config;
	int status;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	printf("%s: ok\n", options.config_file);
	config_free(config);
	return COMMAND_OK;
}

int command_config_print(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct config *config;
	struct buffer text = {0};
	int status;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
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
