// SPDX-License-Identifier: ISC
/* stagepost serve */
#include "base/attributes.h"
#include "base/buffer.h"
#include "command/command.h"
#include "os/process/process.h"
#include "os/socket/inherited.h"
#include "supervisor/supervisor.h"
#include <stdio.h>

static void tell_config_problems(const struct config_problems *problems, const char *file)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	config_problems_print(problems, file, &text);
	command_write(stderr, buffer_view(&text));
	(void)supervisor_end(buffer_view(&text), COMMAND_NEVER);
}

struct serve_options {
	struct command_options common;
	bool successor;
};

const struct command_option command_serve_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--successor", NULL, "for the mail system itself: an upgrade starts the new version so",
	 offsetof(struct serve_options, successor)},
	COMMAND_OPTION_END,
};

/* What FILE names may be among the descriptors that are closed. */
static struct supervisor_origin find_origin(const struct serve_options *options,
					    struct buffer *names)
{
	struct supervisor_origin origin = {.predecessor = -1,
					   .inherited = os_inherited_count(names)};

	origin.names = buffer_view(names);
	os_process_close_inherited(options->successor ? 1 : origin.inherited);
	if (options->successor)
		origin.predecessor = OS_PROCESS_CONTROL;
	return origin;
}

/* The service manager has nothing to do with a successor yet. */
static int load_config_to_serve(const struct serve_options *options, struct buffer *text,
				struct config **config_out)
{
	const char *file = options->common.config_file;

	return options->successor
		       ? command_config_load(file, text, config_out)
		       : command_config_load_with(file, text, config_out, tell_config_problems);
}

int command_serve(const struct command *command, int argc, char **argv)
{
	struct serve_options options = {{NULL}};
	struct supervisor_origin origin;
	struct config *config;
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct buffer names CLEANUP(buffer_clear) = {0};
	bool logs_elsewhere;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (load_config_to_serve(&options, &text, &config) < 0)
		return COMMAND_NEVER;
	origin = find_origin(&options, &names);
	logs_elsewhere = config->log_target == CONFIG_LOG_SYSLOG;
	status = supervisor_run(options.common.config_file, buffer_view(&text), config, &origin);
	if (status != COMMAND_OK && logs_elsewhere)
		fputs("stagepost serve: it has failed; why is in the log, which goes to syslog\n",
		      stderr);
	return status;
}
