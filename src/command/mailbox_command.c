// SPDX-License-Identifier: ISC
/* mailbox-command - does the work of "stagepost mailbox". */
#include "command/mailbox/mailbox_command.h"
#include "deliver/mailbox/open.h"
#include "os/process/process.h"
#include "supervisor/start/backend.h"
#include <string.h>

static const struct {
	const char *name;
	int (*run)(const struct command *command, int argc, char **argv);
} subcommands[] = {
	{"status", mailbox_command_status},
	{"list", mailbox_command_list},
	{"repair", mailbox_command_repair},
};

/* The row of the table: for its options and help. */
static const struct command *row_of(const char *name)
{
	size_t prefix = strlen("mailbox ");

	for (const struct command *row = command_mailbox_subcommands; row->name != NULL; row++)
		if (strcmp(row->name + prefix, name) == 0)
			return row;
	return NULL;
}

static const struct command whole = {.name = "mailbox",
				     .arguments = "",
				     .summary = command_mailbox_summary,
				     .help = command_mailbox_help,
				     .options = command_mailbox_options,
				     .exits = command_mailbox_exits,
				     .subcommands = command_mailbox_subcommands};

static char **arguments; /* of main() */

bool mailbox_command_use_backend(const struct config *config)
{
	if (mailbox_record_fits(config))
		return true;
	command_become(&whole, backend_mailbox_command(config), arguments);
	return false;
}

int main(int argc, char **argv)
{
	arguments = argv;
	os_process_ignore_pipe_signal();
	for (size_t i = 0; argc > 1 && i < COUNT_OF(subcommands); i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return command_check_output(
				subcommands[i].run(row_of(argv[1]), argc - 1, argv + 1));
	return command_check_output(mailbox_command_file(&whole, argc, argv));
}
