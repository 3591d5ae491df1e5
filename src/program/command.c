// SPDX-License-Identifier: ISC
#include "program/command.h"
#include "base/panic.h"
#include "os/file.h"
#include "os/process.h"
#include "program/serve.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_help(const struct command *command)
{
	printf("Usage: stagepost %s %s\n\n%s\n", command->name, command->arguments,
	       command->summary);
	if (command->help[0] != '\0')
		printf("\n%s", command->help);
	printf("\n  -c FILE   the configuration (default %s)\n", COMMAND_CONFIG_FILE);
}

int command_usage(const struct command *command, const char *message)
{
	fprintf(stderr, "stagepost %s: %s\nUsage: stagepost %s %s\n", command->name, message,
		command->name, command->arguments);
	return COMMAND_USAGE;
}

/* The next option; false at the first argument that is none. */
static bool parse_option(const struct command *command, int argc, char **argv, bool allow_json,
			 struct command_options *options, int *status_out)
{
	const char *option = argv[options->first];

	if (strcmp(option, "--help") == 0 || strcmp(option, "-h") == 0) {
		print_help(command);
		*status_out = COMMAND_OK;
		return false;
	}
	if (strcmp(option, "-c") == 0 && options->first + 1 < argc) {
		options->config_file = argv[options->first + 1];
		options->first += 2;
		return true;
	}
	if (strcmp(option, "--json") == 0 && allow_json) {
		options->json = true;
		options->first++;
		return true;
	}
	*status_out = command_usage(command, strcmp(option, "-c") == 0 ? "-c needs a file"
								       : "unknown option");
	return false;
}

bool command_parse(const struct command *command, int argc, char **argv, bool allow_json,
		   struct command_options *options, int *status_out)
{
	const char *file = getenv("STAGEPOST_CONF");

	*options = (struct command_options){
		.config_file = file != NULL ? file : COMMAND_CONFIG_FILE, .first = 1};
	while (options->first < argc && argv[options->first][0] == '-' &&
	       argv[options->first][1] != '\0') {
		if (strcmp(argv[options->first], "--") == 0) {
			options->first++;
			break;
		}
		if (!parse_option(command, argc, argv, allow_json, options, status_out))
			return false;
	}
	return true;
}

struct config *command_config(const char *file)
{
	struct config_problems problems = {0};
	struct config *config = NULL;
	struct buffer text = {0};

	if (config_load(file, &config, &problems) < 0) {
		config_problems_print(&problems, file, &text);
		fwrite(buffer_data(&text), 1, text.length, stderr);
	}
	buffer_clear(&text);
	config_problems_clear(&problems);
	return config;
}

static bool parse_plain(const struct command *command, int argc, char **argv,
			struct command_options *options, int *status_out)
{
	if (!command_parse(command, argc, argv, false, options, status_out))
		return false;
	if (options->first < argc) {
		*status_out = command_usage(command, "unexpected argument");
		return false;
	}
	return true;
}

int command_serve(const struct command *command, int argc, char **argv)
{
	struct command_options options;
	struct config *config;
	struct buffer text = {0};
	int status;
	int file;

	if (!parse_plain(command, argc, argv, &options, &status))
		return status;
	config = command_config(options.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	file = os_file_open(OS_FILE_HERE, options.config_file, OS_FILE_READ);
	if (file < 0 || os_process_read_text(file, 4 << 20, &text) < 0) {
		fprintf(stderr, "stagepost serve: %s cannot be read again\n", options.config_file);
		return COMMAND_FAILED;
	}
	os_file_close(file);
	status = serve(options.config_file, buffer_view(&text), config);
	buffer_clear(&text);
	return status;
}

int command_check(const struct command *command, int argc, char **argv)
{
	struct command_options options;
	struct config *config;
	int status;

	if (!parse_plain(command, argc, argv, &options, &status))
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
	struct command_options options;
	struct config *config;
	struct buffer text = {0};
	int status;

	if (!parse_plain(command, argc, argv, &options, &status))
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
	struct command_options options;
	struct buffer text = {0};
	int status;

	if (!parse_plain(command, argc, argv, &options, &status))
		return status;
	config_print_manual(&text);
	fwrite(buffer_data(&text), 1, text.length, stdout);
	buffer_clear(&text);
	return COMMAND_OK;
}

int command_version(const struct command *command, int argc, char **argv)
{
	(void)command;
	(void)argc;
	(void)argv;
	puts("stagepost " VERSION);
	return COMMAND_OK;
}
