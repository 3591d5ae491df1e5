// SPDX-License-Identifier: ISC
/* stagepost check, config, manual - the configuration and what may stand in it. */
#include "os/file.h"
#include "os/process.h"
#include "program/command.h"
#include "program/machine_check.h"
#include <stdio.h>

enum { CONFIG_MAX = 4 << 20 }; /* as config_load() has it */

/* The configuration that the command line names; NULL: *STATUS_OUT says how to end. */
static struct config *read_config(const struct command *command, int argc, char **argv,
				  struct command_options *options, int *status_out)
{
	if (!command_parse_plain(command, argc, argv, options, status_out))
		return NULL;
	*status_out = COMMAND_FAILED;
	return command_config(options->config_file);
}

static void say(void *context, enum machine_severity severity, const char *line)
{
	(void)context;
	(void)severity;
	fprintf(stderr, "%s\n", line);
}

/* The file is right; is it for this machine? */
static int check_machine(const char *file, const struct config *config)
{
	struct buffer text = {0};
	int descriptor = os_file_open(OS_FILE_HERE, file, OS_FILE_READ);
	int worst;

	/* without it nothing but the numbers of lines is missing */
	if (descriptor >= 0) {
		if (os_process_read_text(descriptor, CONFIG_MAX, &text) < 0)
			buffer_clear(&text);
		os_file_close(descriptor);
	}
	worst = machine_check(config, buffer_view(&text), say, NULL);
	buffer_clear(&text);
	return worst < (int)MACHINE_FAULT ? COMMAND_OK : COMMAND_FAILED;
}

int command_check(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	int status;
	struct config *config = read_config(command, argc, argv, &options, &status);

	if (config == NULL)
		return status;
	status = check_machine(options.config_file, config);
	if (status == COMMAND_OK)
		printf("%s: ok\n", options.config_file);
	config_free(config);
	return status;
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
