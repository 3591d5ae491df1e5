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

static const struct command_option no_extras[] = {{NULL, NULL, NULL, NULL, NULL}};
static const struct command_option config_option = {"-c", "FILE", NULL, NULL, NULL};

static void print_option(const struct command_option *option)
{
	char left[64];

	snprintf(left, sizeof left, "%s%s%s", option->name, option->argument != NULL ? " " : "",
		 option->argument != NULL ? option->argument : "");
	printf("  %-20s  %s\n", left, option->help);
}

static void print_help(const struct command *command, const struct command_option *extras)
{
	printf("Usage: stagepost %s %s\n\n%s\n", command->name, command->arguments,
	       command->summary);
	if (command->help[0] != '\0')
		printf("\n%s", command->help);
	printf("\n  %-20s  the configuration (default %s)\n", "-c FILE", COMMAND_CONFIG_FILE);
	for (; extras->name != NULL; extras++)
		print_option(extras);
}

int command_usage(const struct command *command, const char *message)
{
	fprintf(stderr, "stagepost %s: %s\nUsage: stagepost %s %s\n", command->name, message,
		command->name, command->arguments);
	return COMMAND_USAGE;
}

static int usage_of_sub(const struct command *command, const struct command *subcommands, FILE *out)
{
	fprintf(out, "Usage: stagepost %s %s\n\n%s\n\n", command->name, command->arguments,
		command->summary);
	for (const struct command *sub = subcommands; sub->name != NULL; sub++)
		fprintf(out, "  %-15s %s\n", sub->name, sub->summary);
	return out == stdout ? COMMAND_OK : COMMAND_USAGE;
}

int command_run_sub(const struct command *command, const struct command *subcommands, int argc,
		    char **argv)
{
	size_t prefix = strlen(command->name) + 1;

	if (argc < 2)
		return usage_of_sub(command, subcommands, stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return usage_of_sub(command, subcommands, stdout);
	for (const struct command *sub = subcommands; sub->name != NULL; sub++)
		if (strcmp(sub->name + prefix, argv[1]) == 0)
			return sub->run(sub, argc - 1, argv + 1);
	fprintf(stderr, "stagepost %s: no command \"%s\"\n", command->name, argv[1]);
	return usage_of_sub(command, subcommands, stderr);
}

/* One option with its argument, if it has one. COMMAND_OK to go on. */
static int take_option(const struct command *command, const struct command_option *option, int argc,
		       char **argv, struct command_options *options)
{
	char message[64];

	options->first++;
	if (option->argument == NULL) {
		*option->flag_out = true;
		return COMMAND_OK;
	}
	if (options->first == argc) {
		snprintf(message, sizeof message, "%s needs %s", option->name, option->argument);
		return command_usage(command, message);
	}
	*(option == &config_option ? &options->config_file : option->value_out) =
		argv[options->first++];
	return COMMAND_OK;
}

/* The next option; false at --help and at what is wrong. */
static bool parse_option(const struct command *command, int argc, char **argv,
			 const struct command_option *extras, struct command_options *options,
			 int *status_out)
{
	const char *name = argv[options->first];
	char message[64];

	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		print_help(command, extras);
		*status_out = COMMAND_OK;
		return false;
	}
	if (strcmp(name, config_option.name) == 0)
		extras = &config_option;
	else
		while (extras->name != NULL && strcmp(name, extras->name) != 0)
			extras++;
	if (extras->name == NULL) {
		snprintf(message, sizeof message, "unknown option %s", name);
		*status_out = command_usage(command, message);
		return false;
	}
	*status_out = take_option(command, extras, argc, argv, options);
	return *status_out == COMMAND_OK;
}

const char *command_config_file(const char *file)
{
	const char *usual = secure_getenv("STAGEPOST_CONF");

	if (file != NULL && os_process_is_privileged()) {
		fputs("stagepost: -c is not for programs that act as another user\n", stderr);
		exit(COMMAND_USAGE);
	}
	if (file != NULL)
		return file;
	return usual != NULL ? usual : COMMAND_CONFIG_FILE;
}

static void put_last(int position, int argc, char **argv)
{
	char *word = argv[position];

	memmove(argv + position, argv + position + 1, (size_t)(argc - position - 1) * sizeof *argv);
	argv[argc - 1] = word;
}

bool command_parse_extra(const struct command *command, int argc, char **argv,
			 const struct command_option *extras, struct command_options *options,
			 int *status_out)
{
	bool behind_options = false;
	int end = argc; /* what stands from here on are arguments that were passed over */

	*options = (struct command_options){.first = 1};
	while (options->first < end) {
		const char *word = argv[options->first];

		if (!behind_options && strcmp(word, "--") == 0) {
			behind_options = true;
			options->first++;
		} else if (behind_options || word[0] != '-' || word[1] == '\0') {
			put_last(options->first, argc, argv);
			end--;
		} else if (!parse_option(command, end, argv, extras, options, status_out)) {
			return false;
		}
	}
	options->config_file = command_config_file(options->config_file);
	return true;
}

bool command_parse(const struct command *command, int argc, char **argv, bool allow_json,
		   struct command_options *options, int *status_out)
{
	bool json = false;
	const struct command_option extras[] = {
		{"--json", NULL, "print JSON", NULL, &json},
		no_extras[0],
	};

	if (!command_parse_extra(command, argc, argv, allow_json ? extras : no_extras, options,
				 status_out))
		return false;
	options->json = json;
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
