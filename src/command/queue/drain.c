// SPDX-License-Identifier: ISC
/* stagepost queue drain - takes in no mail until what is in the queue is gone. */
#include "supervisor/talk/drain.h"
#include "base/text/json.h"
#include "command/queue/order.h"
#include "os/clock.h"
#include "supervisor/talk/pid_file.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { CONFIRM_SECONDS = 10, LOOK_MS = 250 };

static const int64_t TIMEOUT_US = 10 * MINUTE_US;
static const int64_t PROGRESS_US = 5 * SECOND_US;

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
	COMMAND_OPTION_JSON("at the end an object: messages that are left"),
	COMMAND_OPTION_END,
};

const struct command_exit command_queue_drain_exits[] = {
	{COMMAND_OK, "nothing is left in the queue; with --end: mail is taken in again"},
	{COMMAND_FAILED, "it has failed, and the reason is printed"},
	{COMMAND_USAGE, "the command line is wrong"},
	{QUEUE_DRAIN_LEFT, "messages are left; no mail is taken in"},
	{0, NULL},
};

static bool is_running(const struct config *config)
{
	uid_t owner;

	return pid_file_read(config->run, &owner) > 0;
}

/* The supervisor looks each second. */
static int wait_for_supervisor(const struct config *config, bool is_draining)
{
	int64_t until_us = os_clock_monotonic_us() + CONFIRM_SECONDS * SECOND_US;

	while (is_running(config) && !drain_is_confirmed(config->run, is_draining)) {
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

/* Says how many messages there are when that is another number, now and then. */
static int wait_until_empty(struct queue_store *store, const struct config *config,
			    int64_t timeout_us, bool json, uint64_t *count_out)
{
	int64_t begun_us = os_clock_monotonic_us();
	int64_t said_us = begun_us - PROGRESS_US;
	uint64_t said = UINT64_MAX;
	int error;

	for (;;) {
		int64_t now_us = os_clock_monotonic_us();

		error = listing_count_messages(store, count_out);
		if (error < 0 || *count_out == 0 || now_us - begun_us >= timeout_us ||
		    !is_running(config))
			return error;
		if (*count_out != said && now_us - said_us >= PROGRESS_US) {
			if (!json)
				fprintf(stderr, "%llu %s left\n", (unsigned long long)*count_out,
					*count_out == 1 ? "message is" : "messages are");
			said = *count_out;
			said_us = now_us;
		}
		os_clock_pause_ms(LOOK_MS);
	}
}

static int tell_end(const struct config *config, uint64_t count, bool json)
{
	struct buffer out CLEANUP(buffer_clear) = {0};

	if (json) {
		buffer_append_byte(&out, '{');
		json_field_number(&out, "messages", count);
		buffer_append_string(&out, "}\n");
	} else if (count == 0) {
		buffer_append_string(&out, "The queue is empty");
	} else {
		buffer_append_format(&out, "%llu %s left; \"stagepost queue list\" says why",
				     (unsigned long long)count,
				     count == 1 ? "message is" : "messages are");
	}
	if (!json)
		buffer_append_format(&out,
				     "%s; \"stagepost queue drain --end\" takes in mail again\n",
				     is_running(config) ? "" : ", and nothing runs");
	command_queue_flush(&out);
	return count == 0 ? COMMAND_OK : QUEUE_DRAIN_LEFT;
}

static int drain_queue(const struct command *command, struct config *config, int64_t timeout_us,
		       bool json)
{
	struct queue_store *store = command_queue_open_to_read(config);
	uint64_t count = 0;
	int status = COMMAND_FAILED;
	int error = 0;

	if (store == NULL)
		return COMMAND_FAILED;
	if (wait_for_supervisor(config, true) == COMMAND_OK) {
		error = is_running(config) ? retry_all_mail(command, config, store) : 0;
		if (error < 0)
			fprintf(stderr,
				"stagepost queue drain: %s; messages are tried when they "
				"are due\n",
				manager_talk_explain(error));
		error = wait_until_empty(store, config, timeout_us, json, &count);
		status = error < 0 ? command_queue_failed("drain", error)
				   : tell_end(config, count, json);
	}
	queue_store_close(store);
	return status;
}

static int end_drain(const struct config *config)
{
	int status = wait_for_supervisor(config, false);

	if (status == COMMAND_OK && is_running(config))
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
