// SPDX-License-Identifier: ISC
/* stagepost - the command. */
#include "program/command.h"
#include "program/command_mail.h"
#include <stdio.h>
#include <string.h>

const struct command commands[] = {
	{"serve", "[-c FILE]", "Runs the mail system until SIGTERM or SIGINT.",
	 "SIGHUP reads the configuration again; when it is wrong the old one stays in force.\n"
	 "Logs go to standard error.\n",
	 command_serve},
	{"check", "[-c FILE]", "Checks a configuration: says everything that is wrong.", "",
	 command_check},
	{"config", "[-c FILE]", "Prints the configuration in force, defaults included.", "",
	 command_config_print},
	{"manual", "", "Prints the reference of stagepost.conf as mdoc source.", "",
	 command_manual},
	{"enqueue", "[-c FILE] [-s STAGE]", "Queues the message on descriptor 0.",
	 "The envelope stands on descriptor 1: F<sender>\\0, T<recipient>\\0 for each recipient,\n"
	 "and one more \\0. Lines end with LF or CRLF. Works also while no daemon "
	 "runs.\n\n" COMMAND_MAIL_EXITS,
	 command_enqueue},
	{"version", "", "Prints the version.", "", command_version},
	{NULL, NULL, NULL, NULL, NULL},
};

static int usage(FILE *out)
{
	fputs("Usage: stagepost COMMAND [ARGUMENT ...]\n\n", out);
	for (const struct command *command = commands; command->name != NULL; command++)
		fprintf(out, "  %-10s %s\n", command->name, command->summary);
	fputs("\n\"stagepost COMMAND --help\" says more.\n", out);
	return out == stdout ? COMMAND_OK : COMMAND_USAGE;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
	    strcmp(argv[1], "help") == 0)
		return usage(stdout);
	if (strcmp(argv[1], "--version") == 0)
		argv[1] = (char[]){"version"};
	for (const struct command *command = commands; command->name != NULL; command++)
		if (strcmp(argv[1], command->name) == 0)
			return command->run(command, argc - 1, argv + 1);
	fprintf(stderr, "stagepost: no command \"%s\"\n", argv[1]);
	return usage(stderr);
}
