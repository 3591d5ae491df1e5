// SPDX-License-Identifier: ISC
/* stagepost queue - what is in the queue, read from its directory. */
#include "program/command_queue.h"
#include "os/process.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ORDER_HELP                                                                 \
	"Messages are chosen by IDs, or by filters (all of which must pass), or\n" \
	"with --all. On a terminal the command asks before it begins.\n"

static const struct command_exit order_exits[] = {
	{COMMAND_OK, "all were done"},
	{COMMAND_FAILED, "some were refused, or none could be done; why is told"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit repair_exits[] = {
	{COMMAND_OK, "every message has its true number"},
	{COMMAND_FAILED, "something was moved to damaged/, or the repair has failed"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static const struct command_exit adopt_exits[] = {
	{COMMAND_OK, "all messages are here now"},
	{COMMAND_FAILED, "some stay there, or the command has failed: run it again"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

const struct command command_queue_subcommands[] = {
	{"queue list", "", "Lists the messages in the queue.", "All filters given must pass.\n",
	 command_queue_list, command_queue_list_options, NULL, NULL},
	{"queue show", "ID", "Prints a message's control file and header, or its content.",
	 "ID is as the logs have it; its number alone, before the '-', will do.\n",
	 command_queue_show, command_queue_show_options, NULL, NULL},
	{"queue hold", "[ID ...]", "Holds messages back until they are released.",
	 "A delivery under way is not stopped. Works also while nothing runs.\n" ORDER_HELP,
	 command_queue_order, command_queue_hold_options, order_exits, NULL},
	{"queue release", "[ID ...]", "Ends holds.", "Works also while nothing runs.\n" ORDER_HELP,
	 command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue retry", "[ID ...]", "Tries all deliveries now, whatever they wait for.", ORDER_HELP,
	 command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue requeue", "[ID ...]",
	 "Looks up anew where mail that is not delivered yet goes, and tries it.",
	 "Every address in the directory, with its aliases and lists, and its route. Who has the\n"
	 "message already does not get it again. A hold stays.\n" ORDER_HELP,
	 command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue bounce", "[ID ...]", "Gives up what is not done, and reports it to the sender.",
	 ORDER_HELP, command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue remove", "[ID ...]", "Gives up what is not done, and tells nobody.", ORDER_HELP,
	 command_queue_order, command_queue_order_options, order_exits, NULL},
	{"queue stats", "", "Counts messages and bytes in each place, or by destination or reason.",
	 "A message with recipients in several places is counted in each of them.\n",
	 command_queue_stats, command_queue_stats_options, NULL, NULL},
	{"queue repair", "",
	 "Gives messages their true numbers after the queue was copied or restored.",
	 "The mail system must not run. What is damaged, and names that belong to no\n"
	 "message, are moved to damaged/ in the queue directory.\n"
	 "May be interrupted: run it again, until then the mail system does not start.\n",
	 command_queue_repair, command_queue_repair_options, repair_exits, NULL},
	{"queue adopt", "DIRECTORY", "Takes over the messages of another queue directory.",
	 "For the disk of a host that is dead. The mail system may run here, not there.\n"
	 "Each message becomes a new one with the recipients that are not done; successes that\n"
	 "were not reported there are reported from here. It is durable here before it is\n"
	 "removed there. May be interrupted: run it again. Only a message whose removal there\n"
	 "was not durable when it ended may come twice.\n",
	 command_queue_adopt, command_config_options, adopt_exits, NULL},
	{NULL},
};

int command_queue_failed(const char *what, int error)
{
	fprintf(stderr, "stagepost: %s: %s\n", what, strerror(-error));
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
	if (error == -ENOENT) {
		buffer_reset(&reason);
		buffer_append_string(&reason,
				     "there is no queue yet; \"stagepost serve\" makes it");
	}
	if (reason.length == 0)
		buffer_append_string(&reason, strerror(-error));
	fprintf(stderr, "stagepost: %s: " STR_FORMAT "\n", config->queue,
		STR_ARGUMENTS(buffer_view(&reason)));
	return NULL;
}

struct queue_store *command_queue_open_to_read(const struct config *config)
{
	const struct queue_options options = {.read_only = true};

	return open_store(config, &options);
}

struct queue_store *command_queue_open(const char *config_file)
{
	struct config *config = command_config(config_file);
	struct queue_store *store;

	if (config == NULL)
		return NULL;
	store = command_queue_open_to_read(config);
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
		fprintf(stderr, "stagepost: user %s: %s\n", config->user,
			error == -ENOENT ? "there is none" : strerror(-error));
		return false;
	}
	if (os_process_owns(config->queue) != 0)
		return true; /* what is wrong with the directory is said when it is opened */
	fprintf(stderr, "stagepost: %s belongs to another user\n", config->queue);
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
