// SPDX-License-Identifier: ISC
/* stagepost queue drain - takes in no mail until what is in the queue is gone. */
#include "supervisor/talk/drain.h"
#include "command/queue/drained.h"
#include "command/queue/order.h"
#include "os/clock.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CONFIRM_SECONDS = 10, LOOK_MS = 250 };

static const int64_t TIMEOUT_US = 10 * MINUTE_US;

struct drain_options {
	struct command_options common;
	const char *timeout;
	bool end;
};

const struct command_option command_queue_drain_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--timeout", "TIME", "wait so long at most (default: 10m; 0s: only begin)",
	 offsetof(struct drain_options, timeout)},
	{"--end", NULL, "take in mail again", offsetof(struct drain_options, end)},
	COMMAND_OPTION_JSON("at the end an object: what is left"),
	COMMAND_OPTION_END,
};

const struct command_exit command_queue_drain_exits[] = {
	{COMMAND_OK, "nothing is left in the queue; with --end: mail is taken in again"},
	{COMMAND_FAILED, "it has failed, and the reason is printed"},
	{COMMAND_USAGE, "the command line is wrong"},
	{QUEUE_DRAIN_LEFT, "messages are left; no mail is taken in"},
	{0, NULL},
};

/* The supervisor looks each second. */
static int wait_for_supervisor(const struct config *config, bool is_draining)
{
	int64_t until_us = os_clock_monotonic_us() + CONFIRM_SECONDS * SECOND_US;

	while (queue_is_served(config) && !drain_is_confirmed(config->run, is_draining)) {
		if (os_clock_monotonic_us() >= until_us) {
			fprintf(stderr,
				"stagepost queue drain: the node in %s does not answer; the log "
				"may tell more\n",
				config->run);
			return COMMAND_FAILED;
		}
		os_clock_pause_ms(LOOK_MS);
	}
	return COMMAND_OK;
}

/* What no attempt would be made for at once otherwise; what is held, or is to go later, stays. */
static int retry_all_mail(const struct command *command, struct config *config,
			  struct queue_store *store)
{
	const struct listing_filter all = {.born_before_us = 0};
	char *none[] = {NULL};
	struct queue_order order = {.command = command,
				    .kind = ORDER_RETRY,
				    .verb = "retry",
				    .word = "retry",
				    .until = "",
				    .config = config,
				    .store = store,
				    .is_quiet = true,
				    .is_chosen = true};
	int error = manager_talk_open(config->run, queue_order_answered, &order, &order.talk);

	if (error == 0)
		error = queue_order_give(&order, none, &all);
	manager_talk_close(order.talk);
	return error;
}

static int tell_end(const struct config *config, const struct listing_left *left, bool json)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	bool is_drained = queue_is_drained(left);

	if (json) {
		queue_append_left_json(&out, left);
	} else {
		if (is_drained)
			buffer_append_string(&out, "The queue is empty");
		else
			queue_append_left(&out, left);
		if (left->messages > 0)
			buffer_append_string(&out, "; \"stagepost queue list\" says why");
		buffer_append_format(&out,
				     "%s; \"stagepost queue drain --end\" takes in mail again\n",
				     queue_is_served(config) ? "" : ", and nothing runs");
	}
	command_queue_flush(&out);
	return is_drained ? COMMAND_OK : QUEUE_DRAIN_LEFT;
}

static int drain_queue(const struct command *command, struct config *config, int64_t timeout_us,
		       bool json)
{
	struct queue_store *store = command_queue_open_to_read(config);
	const struct queue_draining draining = {
		.config = config, .store = store, .timeout_us = timeout_us, .is_silent = json};
	struct listing_left left;
	int status = COMMAND_FAILED;
	int error = 0;

	if (store == NULL)
		return COMMAND_FAILED;
	if (wait_for_supervisor(config, true) == COMMAND_OK) {
		error = queue_is_served(config) ? retry_all_mail(command, config, store) : 0;
		if (error < 0)
			fprintf(stderr,
				"stagepost queue drain: %s; messages are tried when they "
				"are due\n",
				manager_talk_explain(error));
		error = queue_wait_drained(&draining, &left);
		status = error < 0 ? command_queue_failed("drain", error)
				   : tell_end(config, &left, json);
	}
	queue_store_close(store);
	return status;
}

static int end_drain(const struct config *config)
{
	int status = wait_for_supervisor(config, false);

	if (status == COMMAND_OK && queue_is_served(config))
		puts("Mail is taken in again");
	else if (status == COMMAND_OK)
		puts("Mail is taken in at the next start");
	return status;
}

int command_queue_drain(const struct command *command, int argc, char **argv)
{
	struct drain_options options = {.timeout = NULL};
	int64_t timeout_us = TIMEOUT_US;
	struct config *config;
	int status;
	int error;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (options.timeout != NULL &&
	    (options.end || !command_parse_time(options.timeout, &timeout_us)))
		return command_usage(command, "--timeout needs a time like 30s or 10m, and is not "
					      "for --end");
	config = command_config(options.common.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	error = drain_want(config->run, !options.end);
	if (error < 0) {
		fprintf(stderr, "stagepost queue drain: %s/draining: %s\n", config->run,
			strerror(-error));
		status = COMMAND_FAILED;
	} else {
		status = options.end
				 ? end_drain(config)
				 : drain_queue(command, config, timeout_us, options.common.json);
	}
	config_free(config);
	return status;
}
