// SPDX-License-Identifier: ISC
/* stagepost - the command. */
#include "os/process.h"
#include "program/command.h"
#include <stdio.h>
#include <string.h>

static int usage(FILE *out)
{
	fputs("Usage: stagepost COMMAND [ARGUMENT ...]\n\n", out);
	for (const struct command *command = commands; command->name != NULL; command++)
		fprintf(out, "  %-10s %s\n", command->name, command->summary);
	fputs("\n\"stagepost COMMAND --help\" says more.\n", out);
	return out == stdout ? COMMAND_OK : COMMAND_USAGE;
}

/* What a program with another user's rights does for everybody. */
static bool is_for_everybody(const char *name)
{
	return strcmp(name, "sendmail") == 0 || strcmp(name, "mailq") == 0 ||
	       strcmp(name, "enqueue") == 0;
}

/* Runs the command called NAME; -1 when there is none. */
static int run(const char *name, int argc, char **argv)
{
	if (os_process_is_privileged() && !is_for_everybody(name)) {
		fprintf(stderr, "stagepost: %s is not for programs that act as another user\n",
			name);
		return COMMAND_USAGE;
	}
	for (const struct command *command = commands; command->name != NULL; command++)
		if (strcmp(name, command->name) == 0)
			return command->run(command, argc, argv);
	return -1;
}

/* "sendmail", "mailq" and "newaliases" are called by these names. */
static int run_as(char **argv, int argc)
{
	const char *slash = strrchr(argv[0], '/');
	const char *name = slash != NULL ? slash + 1 : argv[0];

	if (strcmp(name, "newaliases") == 0)
		return COMMAND_OK; /* there is no alias database to build */
	if (strcmp(name, "sendmail") == 0 || strcmp(name, "mailq") == 0)
		return run(name, argc, argv);
	return -1;
}

int main(int argc, char **argv)
{
	int status = argc > 0 ? run_as(argv, argc) : -1;

	if (status >= 0)
		return status;
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return usage(stdout);
	if (strcmp(argv[1], "--version") == 0)
		return run("version", argc - 1, argv + 1);
	status = run(argv[1], argc - 1, argv + 1);
	if (status >= 0)
		return status;
	fprintf(stderr, "stagepost: no command \"%s\"\n", argv[1]);
	return usage(stderr);
}
