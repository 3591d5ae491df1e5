// SPDX-License-Identifier: ISC
/* stagepost - the command. */
#include "command/command.h"
#include "command/suggest.h"
#include "os/process/process.h"
#include <stdio.h>
#include <string.h>

static int print_usage(FILE *out)
{
	fputs("Usage: stagepost COMMAND [ARGUMENT ...]\n\n", out);
	for (const struct command *command = commands; command->name != NULL; command++)
		fprintf(out, "  %-10s %s\n", command->name, command->summary);
	fputs("\n\"stagepost COMMAND --help\" says more.\n", out);
	return out == stdout ? COMMAND_OK : COMMAND_USAGE;
}

/* The commands of a set-user-ID or set-group-ID program that everybody may use. */
static bool is_for_everybody(const char *name)
{
	return strcmp(name, "sendmail") == 0 || strcmp(name, "mailq") == 0 ||
	       strcmp(name, "enqueue") == 0;
}

/* Those that need the group of a set-group-ID program. */
static bool may_queue(const char *name)
{
	return strcmp(name, "sendmail") == 0 || strcmp(name, "enqueue") == 0;
}

/* Runs the command called NAME; -1: there is none. */
static int run_named_command(const char *name, int argc, char **argv)
{
	if (os_process_is_privileged() && !is_for_everybody(name)) {
		fprintf(stderr, "stagepost: %s is not for programs that act as another user\n",
			name);
		return COMMAND_USAGE;
	}
	if (!may_queue(name) && os_process_drop_group() < 0)
		return COMMAND_FAILED;
	for (const struct command *command = commands; command->name != NULL; command++)
		if (strcmp(name, command->name) == 0)
			return command->run(command, argc, argv);
	return -1;
}

/* "sendmail", "mailq" and "newaliases" may be names of this program. */
static int run_as(char **argv, int argc)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash != NULL ? slash + 1 : argv[0];

	if (strcmp(name, "sendmail") == 0 || strcmp(name, "mailq") == 0 ||
	    strcmp(name, "newaliases") == 0)
		return run_named_command(name, argc, argv);
	return -1;
}

/* "stagepost help [COMMAND [COMMAND]]" */
static int run_help_command(int argc, char **argv)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	const struct command *command;

	if (argc < 2)
		return print_usage(stdout);
	buffer_append_format(&text, argc > 2 ? "%s %s" : "%s", argv[1], argc > 2 ? argv[2] : "");
	command = command_find(buffer_view(&text));
	if (command == NULL) {
		fprintf(stderr, "stagepost help: no command \"" STR_FORMAT "\"\n",
			STR_ARGUMENTS(buffer_view(&text)));
		return COMMAND_USAGE;
	}
	buffer_reset(&text);
	command_append_help(command, &text);
	command_write(stdout, buffer_view(&text));
	return COMMAND_OK;
}

static int refuse_command(const char *name)
{
	struct suggestion meant = {.word = str_from(name)};

	for (const struct command *one = commands; one->name != NULL; one++)
		suggestion_offer(&meant, one->name);
	fprintf(stderr, "stagepost: no command \"%s\"", name);
	if (meant.best != NULL)
		fprintf(stderr, "; did you mean \"%s\"?", meant.best);
	fputs("\n\"stagepost help\" lists them.\n", stderr);
	return COMMAND_USAGE;
}

static int run_by_arguments(int argc, char **argv)
{
	int status;

	if (argc < 2)
		return print_usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return print_usage(stdout);
	if (strcmp(argv[1], "help") == 0)
		return run_help_command(argc - 1, argv + 1);
	if (strcmp(argv[1], "--version") == 0)
		return run_named_command("version", argc - 1, argv + 1);
	status = run_named_command(argv[1], argc - 1, argv + 1);
	if (status >= 0)
		return status;
	return refuse_command(argv[1]);
}

int main(int argc, char **argv)
{
	int status;

	if (os_process_suspend_group() < 0)
		return COMMAND_FAILED;
	os_process_keep_inherited();
	os_process_ignore_size_signal();
	command_use(commands);
	status = argc > 0 ? run_as(argv, argc) : -1;
	if (status < 0)
		status = run_by_arguments(argc, argv);
	return command_check_output(status);
}
