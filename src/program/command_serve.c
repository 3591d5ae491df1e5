// SPDX-License-Identifier: ISC
/* stagepost serve */
#include "os/file.h"
#include "os/process.h"
#include "program/command.h"
#include "program/serve.h"
#include <stdio.h>
#include <string.h>

enum { CONFIG_MAX = 4 << 20 }; /* as config_load() has it */

int command_serve(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct config *config;
	struct buffer text = {0};
	bool logs_elsewhere;
	int error;
	int status;
	int file;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_NEVER;
	file = os_file_open(OS_FILE_HERE, options.config_file, OS_FILE_READ);
	error = file < 0 ? file : os_process_read_text(file, CONFIG_MAX, &text);
	if (error < 0) {
		fprintf(stderr, "stagepost serve: %s cannot be read again: %s\n",
			options.config_file, strerror(-error));
		return COMMAND_FAILED;
	}
	os_process_close_inherited(); /* FILE, too */
	logs_elsewhere = config->log_target == CONFIG_LOG_SYSLOG;
	status = serve(options.config_file, buffer_view(&text), config);
	if (status != COMMAND_OK && logs_elsewhere)
		fputs("stagepost serve: it has failed; why is in the log, which goes to syslog\n",
		      stderr);
	buffer_clear(&text);
	return status;
}
