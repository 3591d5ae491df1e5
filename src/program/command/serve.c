// SPDX-License-Identifier: ISC
/* stagepost serve */
#include "program/serve/serve.h"
#include "base/attributes.h"
#include "base/buffer.h"
#include "os/process/process.h"
#include "program/command/command.h"
#include <stdio.h>

static void tell_problems(const struct config_problems *problems, const char *file)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	config_problems_print(problems, file, &text);
	fwrite(buffer_data(&text), 1, text.length, stderr);
	(void)serve_end(buffer_view(&text), COMMAND_NEVER);
}

int command_serve(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct config *config;
	struct buffer text CLEANUP(buffer_clear) = {0};
	bool logs_elsewhere;
	int status;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	if (command_config_load_with(options.config_file, &text, &config, tell_problems) < 0)
		return COMMAND_NEVER;
	os_process_close_inherited(); /* also if FILE is one of them */
	logs_elsewhere = config->log_target == CONFIG_LOG_SYSLOG;
	status = serve(options.config_file, buffer_view(&text), config);
	if (status != COMMAND_OK && logs_elsewhere)
		fputs("stagepost serve: it has failed; why is in the log, which goes to syslog\n",
		      stderr);
	return status;
}
