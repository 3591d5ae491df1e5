// SPDX-License-Identifier: ISC
/* stagepost queue - what is in the queue, read from its directory. */
#include "program/command_queue.h"
#include "os/process.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ORDER_ARGUMENTS "[-c FILE] [ID ...] [FILTER ...] [--all] [--yes] [--json]"
#define ORDER_HELP                                                                    \
	"Messages are chosen by IDs, or by filters (all of which must pass), or\n"    \
	"with --all. On a terminal the command asks before it begins. Exit status:\n" \
	"0 all done, 1 some were refused, 2 wrong usage.\n"

static const struct command subcommands[] = {
	{"queue list", "[-c FILE] [FILTER ...] [--json]", "Lists the messages in the queue.",
	 "All filters given must pass.\n", command_queue_list},
	{"queue show", "[-c FILE] [--json] ID", "Prints a message's control file and its header.",
	 "ID is as the logs have it; its number alone, before the '-', will do.\n",
	 command_queue_show},
	{"queue hold", ORDER_ARGUMENTS, "Holds messages back until they are released.",
	 "A delivery under way is not stopped. Works also while nothing runs.\n" ORDER_HELP,
	 command_queue_order},
	{"queue release", ORDER_ARGUMENTS, "Ends holds.",
	 "Works also while nothing runs.\n" ORDER_HELP, command_queue_order},
	{"queue retry", ORDER_ARGUMENTS, "Tries all deliveries now, whatever they wait for.",
	 ORDER_HELP, command_queue_order},
	{"queue bounce", ORDER_ARGUMENTS,
	 "Gives up what is not done, and reports it to the sender.", ORDER_HELP,
	 command_queue_order},
	{"queue remove", ORDER_ARGUMENTS, "Gives up what is not done, and tells nobody.",
	 ORDER_HELP, command_queue_order},
	{"queue stats", "[-c FILE] [--by WHAT] [--json]",
	 "Counts messages and bytes in each place, or by destination or reason.",
	 "A message with recipients in several places is counted in each of them.\n",
	 command_queue_stats},
	{"queue repair", "[-c FILE] [--dry-run]",
	 "Gives messages their true numbers after the queue was copied or restored.",
	 "The mail system must not run. What is damaged, and names that belong to no\n"
	 "message, are moved to damaged/ in the queue directory; exit status 1 if any was.\n"
	 "May be interrupted: run it again, until then the mail system does not start.\n",
	 command_queue_repair},
	{"queue adopt", "[-c FILE] DIRECTORY",
	 "Takes over the messages of another queue directory.",
	 "For the disk of a host that is dead. The mail system may run here, not there.\n"
	 "Each message becomes a new one with the recipients that are not done. It is\n"
	 "durable here before it is removed there. May be interrupted: run it again. Only a\n"
	 "message whose removal there was not durable when it ended may come twice.\n",
	 command_queue_adopt},
	{NULL, NULL, NULL, NULL, NULL},
};

int command_queue_failed(const char *what, int error)
{
	fprintf(stderr, "stagepost queue: %s: %s\n", what, strerror(-error));
	return COMMAND_FAILED;
}

void command_queue_flush(struct buffer *text)
{
	fwrite(buffer_data(text), 1, text->length, stdout);
	buffer_reset(text);
}

static struct queue_store *open_store(const struct config *config,
				      const struct queue_options *options)
{
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct queue_store *store = NULL;
	int error = queue_store_open(config->queue, options, &store, &reason);

	if (error >= 0)
		return store;
	if (reason.length == 0)
		buffer_append_string(&reason, strerror(-error));
	fprintf(stderr, "stagepost queue: %s: " STR_FORMAT "\n", config->queue,
		STR_ARGUMENTS(buffer_view(&reason)));
	return NULL;
}

struct queue_store *command_queue_open(const char *config_file)
{
	const struct queue_options options = {.read_only = true};
	struct config *config = command_config(config_file);
	struct queue_store *store;

	if (config == NULL)
		return NULL;
	store = open_store(config, &options);
	config_free(config);
	return store;
}

bool command_queue_become_owner(const struct config *config)
{
	struct os_process_user user = {0};
	int error = 0;

	os_process_own_mask();
	if (os_process_is_root() && config->user[0] != '\0') {
		error = os_process_user_find(config->user, &user);
		if (error == 0)
			error = os_process_become(&user);
	}
	if (error < 0) {
		fprintf(stderr, "stagepost queue: user %s: %s\n", config->user,
			error == -ENOENT ? "there is none" : strerror(-error));
		return false;
	}
	if (os_process_owns(config->queue) != 0)
		return true; /* what is wrong with the directory is said when it is opened */
	fprintf(stderr, "stagepost queue: %s belongs to another user\n", config->queue);
	return false;
}

struct queue_store *command_queue_open_for_change(const struct config *config)
{
	const struct queue_options options = {
		.unsafe = config->queue_unsafe,
		.sync = queue_sync_of(config->queue_sync),
	};

	return command_queue_become_owner(config) ? open_store(config, &options) : NULL;
}

int command_queue(const struct command *command, int argc, char **argv)
{
	return command_run_sub(command, subcommands, argc, argv);
}

int command_mailq(const struct command *command, int argc, char **argv)
{
	return command_queue_list(command, argc, argv);
}
