// SPDX-License-Identifier: ISC
/* stagepost limits - shows how many sessions each class of hosts has, and what became of rates. */
#include "supervisor/talk/limits.h"
#include "base/text/json.h"
#include "base/timestamp.h"
#include "command/queue/queue.h"
#include "ipc/channel.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const int64_t WATCH_EVERY_US = SECOND_US;

struct limits_options {
	struct command_options common;
	bool watch;
};

const struct command_option command_limits_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--watch", NULL, "print it again every second, until interrupted",
	 offsetof(struct limits_options, watch)},
	COMMAND_OPTION_JSON("print an object of JSON for each class and rate"),
	COMMAND_OPTION_END,
};

const struct command_exit command_limits_exits[] = {
	{COMMAND_OK, "they are printed"},
	{COMMAND_FAILED,
	 "the mail system does not run or has ended, or the caller may not see them"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

struct limits_look {
	const struct command *command;
	struct os_loop *loop;
	struct ipc_channel *channel;
	struct os_timer *again;
	bool json;
	bool is_watching;
	bool has_answer;
	int status;
};

static void append_limit_class_json(struct buffer *out, const struct limits_talk_class *class)
{
	buffer_append_byte(out, '{');
	json_field_text(out, "class", class->mask);
	json_field_number(out, "in", class->total.in);
	json_field_number(out, "out", class->total.out);
	json_field_number(out, "queue", class->queue);
	json_field_number(out, "refuse", class->refuse);
	json_field_number(out, "waiting", class->total.waiting);
	json_field_number(out, "refused", class->total.refused);
	json_field_number(out, "held", class->total.held);
	json_field_number(out, "slowed", class->total.slowed);
	buffer_append_string(out, "}\n");
}

static void append_limit_class_text(struct buffer *out, const struct limits_talk_class *class,
				    int width)
{
	buffer_append_format(out,
			     "%-*.*s %6" PRIu64 " %6" PRIu64 " %6" PRIu32 " %6" PRIu32 " %8" PRIu64
			     " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
			     width, STR_ARGUMENTS(class->mask), class->total.in, class->total.out,
			     class->queue, class->refuse, class->total.waiting,
			     class->total.refused, class->total.held, class->total.slowed);
}

static int width_of(struct str body)
{
	struct unpack in = {body, false};
	size_t width = strlen("class");

	while (in.rest.length > 0 && !in.failed) {
		struct limits_talk_class class = limits_talk_unpack(&in);

		if (class.mask.length > width)
			width = class.mask.length;
	}
	return (int)width;
}

static void print_limit_classes(const struct limits_look *look, struct str body)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct unpack in = {body, false};
	int width = width_of(body);

	if (look->has_answer && !look->json)
		buffer_append_byte(&out, '\n');
	if (!look->json && body.length == 0)
		buffer_append_string(&out, "there are no classes: sessions are not limited\n");
	else if (!look->json)
		buffer_append_format(&out, "%-*s %6s %6s %6s %6s %8s %8s %8s %8s\n", width, "class",
				     "in", "out", "queue", "refuse", "waiting", "refused", "held",
				     "slowed");
	while (in.rest.length > 0) {
		struct limits_talk_class class = limits_talk_unpack(&in);

		if (in.failed)
			break;
		if (look->json)
			append_limit_class_json(&out, &class);
		else
			append_limit_class_text(&out, &class, width);
	}
	command_queue_flush(&out);
	fflush(stdout);
}

static void print_rate_json(struct buffer *out, const struct limits_talk_rate *rate)
{
	buffer_append_byte(out, '{');
	json_field_text(out, "rate", rate->name);
	json_field_text(out, "count", rate->count);
	json_field_text(out, "per", rate->per);
	json_field_number(out, "limit", rate->limit);
	json_field_number(out, "interval", rate->interval);
	json_field_number(out, "keys", rate->total.keys);
	json_field_number(out, "exceeded", rate->total.exceeded);
	buffer_append_string(out, "}\n");
}

static void print_rate_text(struct buffer *out, const struct limits_talk_rate *rate)
{
	buffer_append_format(
		out,
		"%-32.*s %-13.*s %-13.*s %13" PRIu64 " %8" PRIu64 " %8" PRIu64 " %8" PRIu64 "\n",
		STR_ARGUMENTS(rate->name), STR_ARGUMENTS(rate->count), STR_ARGUMENTS(rate->per),
		rate->limit, rate->interval, rate->total.keys, rate->total.exceeded);
}

/* Nothing if there are none. */
static void print_rates(const struct limits_look *look, struct str body)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct unpack in = {body, false};

	if (!look->json && body.length > 0)
		buffer_append_format(&out, "\n%-32s %-13s %-13s %13s %8s %8s %8s\n", "rate",
				     "count", "per", "limit", "interval", "keys", "exceeded");
	while (in.rest.length > 0) {
		struct limits_talk_rate rate = limits_talk_unpack_rate(&in);

		if (in.failed)
			break;
		if (look->json)
			print_rate_json(&out, &rate);
		else
			print_rate_text(&out, &rate);
	}
	command_queue_flush(&out);
	fflush(stdout);
}

static void ask_for_limits(void *context)
{
	const struct limits_look *look = context;

	ipc_channel_send(look->channel, LIMITS_TALK_ASK, 0, STR(""), NULL, 0);
}

static void on_limits_message(void *context, struct ipc_channel *channel,
			      struct ipc_message *message)
{
	struct limits_look *look = context;

	(void)channel;
	if (message->type == LIMITS_TALK_CLASSES) {
		print_limit_classes(look, message->body);
		look->has_answer = true;
	} else if (message->type == LIMITS_TALK_RATES) {
		print_rates(look, message->body);
	} else if (message->type == LIMITS_TALK_END && look->is_watching) {
		os_timer_start(look->again, WATCH_EVERY_US);
	} else if (message->type == LIMITS_TALK_END) {
		look->status = COMMAND_OK;
		os_loop_stop(look->loop);
	}
}

static void on_limits_lost(void *context, struct ipc_channel *channel)
{
	struct limits_look *look = context;

	(void)channel;
	if (look->status == COMMAND_OK)
		return;
	fprintf(stderr, "stagepost %s: %s\n", look->command->name,
		look->has_answer ? "the mail system has ended"
				 : "no answer: only root and the queue's owner may see limits");
	os_loop_stop(look->loop);
}

static const struct ipc_channel_handler limits_handler = {on_limits_message, on_limits_lost};

static int run_limits(struct limits_look *look, const struct config *config)
{
	char path[4096];
	int socket;

	snprintf(path, sizeof path, "%s/limits", config->run);
	socket = os_socket_connect_unix(path, SOCK_SEQPACKET);
	if (socket < 0) {
		fprintf(stderr, "stagepost %s: %s: %s\n", look->command->name, path,
			socket == -ENOENT || socket == -ECONNREFUSED ? "no mail system runs with it"
								     : strerror(-socket));
		return COMMAND_FAILED;
	}
	look->status = COMMAND_FAILED;
	look->loop = os_loop_new();
	look->again = os_timer_new(look->loop, ask_for_limits, look);
	look->channel = ipc_channel_new(look->loop, socket, &limits_handler, look);
	ask_for_limits(look);
	os_loop_run(look->loop);
	ipc_channel_close(look->channel);
	os_timer_free(look->again);
	return look->status;
}

int command_limits(const struct command *command, int argc, char **argv)
{
	struct limits_options options = {.watch = false};
	struct limits_look look = {.command = command};
	struct config *config;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	config = command_config(options.common.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	look.json = options.common.json;
	look.is_watching = options.watch;
	status = run_limits(&look, config);
	config_free(config);
	return status;
}
