// SPDX-License-Identifier: ISC
/* stagepost - the command. */
#include "os/process.h"
#include "program/command.h"
#include "program/command_mail.h"
#include <stdio.h>
#include <string.h>

const struct command commands[] = {
	{"serve", "[-c FILE]", "Runs the mail system until SIGTERM or SIGINT.",
	 "SIGHUP reads the configuration again; when it is wrong the old one stays in force.\n"
	 "Logs go to standard error.\n",
	 command_serve},
	{"reload", "[-c FILE]", "Lets the mail system that runs read its configuration again.",
	 "The file is checked first: what is wrong is said, and nothing is done.\n",
	 command_reload},
	{"stop", "[-c FILE]", "Stops the mail system that runs, and waits until it has ended.", "",
	 command_stop},
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
	{"queue", "list|show|hold|release|retry|bounce|remove|stats|repair|adopt [ARGUMENT ...]",
	 "Shows and changes what is in the queue.", "", command_queue},
	{"trigger", "list|wait|release [ARGUMENT ...]", "Shows and changes what messages wait for.",
	 "", command_trigger},
	{"trace", "[--json] ID [LOGFILE ...]", "Tells the way of one message out of the logs.",
	 "ID is as the logs have it; its number alone, before the '-', stands for all messages\n"
	 "that had it. What became of its bounce is told as well. Without a LOGFILE, and for\n"
	 "\"-\", standard input is read.\n",
	 command_trace},
	{"mailq", "[-c FILE] [FILTER ...] [--json]", "Lists the queue: the same as queue list.", "",
	 command_mailq},
	{"sendmail",
	 "[-ti] [-f SENDER] [-F NAME] [-N NOTIFY] [-R RETURN] [-C FILE] [RECIPIENT ...]",
	 "Queues the message on standard input, as the command of that name does.",
	 "  -t         recipients from To, Cc and Bcc, besides those given\n"
	 "  -i, -oi    a line of one dot does not end the message\n"
	 "  -f SENDER  envelope sender (default: the user at this host; <> for none)\n"
	 "  -F NAME    full name, when the message has no From\n"
	 "  -N NOTIFY  never, or some of success,failure,delay (RFC 3461)\n"
	 "  -R RETURN  full or hdrs: what of the message a bounce returns\n"
	 "  -bp        lists the queue, as mailq does\n"
	 "  -C FILE    the configuration\n"
	 "Other options of other sendmails are accepted and change nothing; -bs and -bd\n"
	 "are refused. Date, From and Message-ID are added where they lack, addresses\n"
	 "without a domain get the host's name, Bcc is removed.\n\n"
	 "Files in the queue must belong to the mail system's user. For other users to\n"
	 "send mail, install a copy of this program that is called sendmail, belongs to\n"
	 "that user and has the set-user-ID bit: it then does nothing but this, enqueue\n"
	 "and mailq, and reads no other configuration than the usual one.\n\n" COMMAND_MAIL_EXITS,
	 command_sendmail},
	{"completion", "bash", "Prints what makes bash complete these commands.",
	 "For instance: stagepost completion bash > /etc/bash_completion.d/stagepost\n",
	 command_completion},
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
		argv[1] = (char[]){"version"};
	status = run(argv[1], argc - 1, argv + 1);
	if (status >= 0)
		return status;
	fprintf(stderr, "stagepost: no command \"%s\"\n", argv[1]);
	return usage(stderr);
}
