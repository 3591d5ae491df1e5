// SPDX-License-Identifier: ISC
/*
 * stagepost queue hold, release, retry, requeue, bounce, remove - one order for each message to
 * the running manager. If none runs, holds are changed on disk.
 */
#include "command/queue/order.h"
#include "base/panic.h"
#include "command/queue/filter.h"
#include "os/clock.h"
#include "queue/trigger.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sum {
	uint64_t messages;
	uint64_t bytes;
};

static int add_up(void *context, const struct listing_entry *entry)
{
	struct sum *sum = context;

	sum->messages++;
	sum->bytes += entry->control != NULL ? entry->control->envelope->size : 0;
	return 0;
}

/* Asks at the terminal; false: no. */
static bool confirm_order(const struct queue_order *order, char **names,
			  const struct listing_filter *filter)
{
	struct sum sum = {0, 0};
	char answer[16];
	int error = 0;

	if (names[0] == NULL)
		error = listing_each(order->store, filter, add_up, &sum);
	else
		while (names[sum.messages] != NULL)
			sum.messages++;
	if (error < 0)
		return command_queue_failed(order->verb, error) == COMMAND_OK;
	fprintf(stderr, "%s %llu message%s", order->verb, (unsigned long long)sum.messages,
		sum.messages == 1 ? "" : "s");
	if (sum.bytes > 0)
		fprintf(stderr, " (%llu KiB)", (unsigned long long)(sum.bytes + 1023) / 1024);
	fputs("? [y/N] ", stderr);
	return fgets(answer, sizeof answer, stdin) != NULL &&
	       (answer[0] == 'y' || answer[0] == 'Y');
}

static bool works_on_disk(const struct queue_order *order)
{
	return order->kind == ORDER_HOLD || order->kind == ORDER_RELEASE;
}

/* Connects to the manager, or opens the disk if none runs. */
static bool open_manager_or_store(struct queue_order *order)
{
	int error =
		manager_talk_open(order->config->run, queue_order_answered, order, &order->talk);

	if (error == 0) {
		order->store = command_queue_open_to_read(order->config);
	} else if (error == -ESRCH && works_on_disk(order)) {
		order->store = command_queue_open_for_change(order->config);
	} else if (error == -ESRCH) {
		fprintf(stderr,
			"stagepost %s: no manager runs with %s; only \"stagepost serve\" does "
			"this (hold and release work without)\n",
			order->command->name, order->config->run);
	} else {
		fprintf(stderr, "stagepost %s: %s: %s\n", order->command->name, order->config->run,
			manager_talk_explain(error));
	}
	return order->store != NULL;
}

static int carry_out(struct queue_order *order, char **names, const struct listing_filter *filter)
{
	int error = queue_order_give(order, names, filter);

	if (error < 0)
		fprintf(stderr, "stagepost %s: %s\n", order->command->name,
			manager_talk_explain(error));
	queue_order_print_summary(order);
	return error < 0 || order->refused > 0 ? COMMAND_FAILED : COMMAND_OK;
}

static int begin_order(struct queue_order *order, const char *config_file, char **names,
		       const struct listing_filter *filter, bool is_confirmed)
{
	int status = COMMAND_FAILED;

	order->config = command_config(config_file);
	if (order->config == NULL)
		return COMMAND_FAILED;
	if (open_manager_or_store(order)) {
		if (!queue_filter_transport_exists(filter, order->config, order->store))
			status = COMMAND_USAGE;
		else if (is_confirmed || confirm_order(order, names, filter))
			status = carry_out(order, names, filter);
		else
			fputs("nothing was done\n", stderr);
	}
	manager_talk_close(order->talk);
	queue_store_close(order->store);
	config_free(order->config);
	free(order->again);
	return status;
}

/* Bounces created by this very command must not be selected. Other orders create none. */
static void leave_out_bounces(const struct queue_order *order, struct listing_filter *filter)
{
	if (order->kind == ORDER_BOUNCE)
		filter->left_out_since_us = os_clock_wall_us();
}

struct order_options {
	struct command_options common;
	struct queue_filter filter;
	bool all;
	bool yes;
	bool damaged;
	const char *until;
};

const struct command_option command_queue_hold_options[] = {
	COMMAND_OPTION_CONFIG,
	QUEUE_FILTER_OPTIONS(struct order_options, filter),
	{"--until", "NAME", "set this trigger; the hold ends when it is released",
	 offsetof(struct order_options, until)},
	{"--all", NULL, "every message", offsetof(struct order_options, all)},
	{"--yes", NULL, "do not ask", offsetof(struct order_options, yes)},
	{"-y", NULL, NULL, offsetof(struct order_options, yes)},
	COMMAND_OPTION_JSON("print what is refused, and the sums, as JSON: an object a line"),
	COMMAND_OPTION_END,
};

const struct command_option command_queue_release_options[] = {
	COMMAND_OPTION_CONFIG,
	QUEUE_FILTER_OPTIONS(struct order_options, filter),
	{"--damaged", NULL, "deliver messages whose data the disk has changed, as they are now",
	 offsetof(struct order_options, damaged)},
	{"--all", NULL, "every message", offsetof(struct order_options, all)},
	{"--yes", NULL, "do not ask", offsetof(struct order_options, yes)},
	{"-y", NULL, NULL, offsetof(struct order_options, yes)},
	COMMAND_OPTION_JSON("print what is refused, and the sums, as JSON: an object a line"),
	COMMAND_OPTION_END,
};

const struct command_option command_queue_order_options[] = {
	COMMAND_OPTION_CONFIG,
	QUEUE_FILTER_OPTIONS(struct order_options, filter),
	{"--all", NULL, "every message", offsetof(struct order_options, all)},
	{"--yes", NULL, "do not ask", offsetof(struct order_options, yes)},
	{"-y", NULL, NULL, offsetof(struct order_options, yes)},
	COMMAND_OPTION_JSON("print what is refused, and the sums, as JSON: an object a line"),
	COMMAND_OPTION_END,
};

int command_queue_order(const struct command *command, int argc, char **argv)
{
	struct queue_order order = {.command = command, .verb = strchr(command->name, ' ') + 1};
	bool is_terminal = isatty(STDIN_FILENO);
	struct order_options options = {.all = false, .until = ""};
	struct listing_filter filter;
	const char *why;
	int status;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	if (!order_kind_find(str_from(order.verb), &order.kind))
		panic("\"%s\" is the name of no order", command->name);
	if (options.damaged)
		order.kind = ORDER_ACCEPT;
	order.word = options.damaged ? "accept" : order.verb;
	order.json = options.common.json;
	if ((options.common.first < argc) + queue_filter_is_given(&options.filter) + options.all !=
	    1)
		return command_usage(command, "give IDs, or filters, or --all");
	if (!queue_filter_parse(&options.filter, &filter, &why))
		return command_usage(command, why);
	if (options.until[0] != '\0' && (!queue_trigger_name_is_valid(str_from(options.until)) ||
					 queue_trigger_name_is_ours(str_from(options.until))))
		return command_usage(command, "--until needs a name of a trigger to wait for; "
					      "allowed: " QUEUE_TRIGGER_NAMES_TO_WAIT_FOR);
	order.until = options.until;
	if (!options.yes && !is_terminal &&
	    (order.kind == ORDER_BOUNCE || order.kind == ORDER_REMOVE))
		return command_usage(command, "without a terminal to ask at, --yes is needed");
	leave_out_bounces(&order, &filter);
	return begin_order(&order, options.common.config_file, argv + options.common.first, &filter,
			   options.yes || !is_terminal);
}
