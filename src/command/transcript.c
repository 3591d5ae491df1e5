// SPDX-License-Identifier: ISC
/* stagepost transcript - shows the dialogue of sessions live. */
#include "supervisor/talk/transcript.h"
#include "base/text/json.h"
#include "base/timestamp.h"
#include "command/queue/queue.h"
#include "ipc/channel.h"
#include "mail/text/text.h"
#include "os/socket/socket.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct transcript_options {
	struct command_options common;
	const char *peer;
	const char *domain;
	const char *during;
};

const struct command_option command_transcript_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--peer", "ADDRESS", "sessions with this address, or a network: 192.0.2.0/24",
	 offsetof(struct transcript_options, peer)},
	{"--domain", "DOMAIN", "those for this domain, or with a host of it, and of all below it",
	 offsetof(struct transcript_options, domain)},
	{"--for", "TIME", "how long: 30s, 10m (without it) to 24h",
	 offsetof(struct transcript_options, during)},
	COMMAND_OPTION_JSON("print an object of JSON for each line"),
	COMMAND_OPTION_END,
};

const struct command_exit command_transcript_exits[] = {
	{COMMAND_OK, "the time is over"},
	{COMMAND_FAILED, "nothing runs, or it has ended, or the caller may not watch"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

struct transcript_watch {
	const struct command *command;
	struct os_loop *loop;
	struct ipc_channel *channel;
	bool json;
	bool has_begun;
	bool is_over;
	int status;
};

static const char *const json_sides[] = {"client", "server", ""};
static const char *const arrows[] = {">", "<", "-"};

static void append_transcript_json(struct buffer *out, struct str process,
				   const struct transcript_said *said)
{
	char time[TIMESTAMP_SIZE];

	timestamp_format(said->time_us, time);
	buffer_append_byte(out, '{');
	json_field_text(out, "time", str_from(time));
	json_field_text(out, "process", process);
	json_field_number(out, "session", said->session);
	json_field_text(out, "peer", said->peer);
	if (said->side == TRANSCRIPT_NOTE)
		json_field_text(out, "note", said->line);
	else {
		json_field_text(out, "by", str_from(json_sides[said->side]));
		json_field_text(out, "line", said->line);
	}
	buffer_append_string(out, "}\n");
}

/* "10:33:11.482 smtpd[4711] 3 192.0.2.7 > EHLO mail.example.com", in local time. */
static void append_transcript_text(struct buffer *out, struct str process,
				   const struct transcript_said *said)
{
	time_t seconds = (time_t)(said->time_us / SECOND_US);
	char clock[16] = "";
	struct tm local;

	if (localtime_r(&seconds, &local) != NULL)
		strftime(clock, sizeof clock, "%H:%M:%S", &local);
	buffer_append_format(out, "%s.%03d ", clock, (int)(said->time_us % SECOND_US / 1000));
	mail_text_append(out, process, MAIL_TEXT_ASCII);
	buffer_append_format(out, " %" PRIu64 " ", said->session);
	mail_text_append(out, said->peer, MAIL_TEXT_ASCII);
	buffer_append_format(out, " %s ", arrows[said->side]);
	mail_text_append(out, said->line, MAIL_TEXT_ASCII);
	buffer_append_byte(out, '\n');
}

static void print_transcript_line(const struct transcript_watch *watch, struct str body)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	struct unpack in = {body, false};
	struct str process = unpack_str(&in);
	struct transcript_said said;

	if (in.failed || !transcript_unpack_said(in.rest, &said))
		return;
	if (watch->json)
		append_transcript_json(&out, process, &said);
	else
		append_transcript_text(&out, process, &said);
	command_queue_flush(&out);
	fflush(stdout);
}

static void end_watch(struct transcript_watch *watch, int status)
{
	watch->status = status;
	watch->is_over = true;
	os_loop_stop(watch->loop);
}

static void complain_about_watch(const struct transcript_watch *watch, struct str why)
{
	fprintf(stderr, "stagepost %s: " STR_FORMAT "\n", watch->command->name, STR_ARGUMENTS(why));
}

static void on_transcript_message(void *context, struct ipc_channel *channel,
				  struct ipc_message *message)
{
	struct transcript_watch *watch = context;

	(void)channel;
	switch (message->type) {
	case TRANSCRIPT_TALK_BEGUN:
		watch->has_begun = true;
		fputs("watching; Ctrl-C ends it\n", stderr);
		break;
	case TRANSCRIPT_TALK_LINE:
		print_transcript_line(watch, message->body);
		break;
	case TRANSCRIPT_TALK_END:
		end_watch(watch, COMMAND_OK);
		break;
	case TRANSCRIPT_TALK_REFUSED:
		complain_about_watch(watch, message->body);
		end_watch(watch, COMMAND_FAILED);
		break;
	default:
		break;
	}
}

static void on_transcript_lost(void *context, struct ipc_channel *channel)
{
	struct transcript_watch *watch = context;

	(void)channel;
	if (watch->is_over)
		return;
	complain_about_watch(watch, watch->has_begun ? STR("the mail system has ended")
						     : STR("the mail system does not answer"));
	end_watch(watch, COMMAND_FAILED);
}

static const struct ipc_channel_handler transcript_handler = {on_transcript_message,
							      on_transcript_lost};

static void ask_for_transcript(struct transcript_watch *watch,
			       const struct transcript_filter *filter, uint32_t seconds)
{
	struct buffer body CLEANUP(buffer_clear) = {0};

	pack_u32(&body, seconds);
	transcript_pack(&body, filter);
	ipc_channel_send(watch->channel, TRANSCRIPT_TALK_WATCH, 0, buffer_view(&body), NULL, 0);
}

static int connect_to_transcript(const struct transcript_watch *watch, const struct config *config)
{
	char path[4096];
	int socket;

	snprintf(path, sizeof path, "%s/transcript", config->run);
	socket = os_socket_connect_unix(path, SOCK_SEQPACKET);
	if (socket >= 0)
		return socket;
	fprintf(stderr, "stagepost %s: %s: %s\n", watch->command->name, path,
		socket == -ENOENT || socket == -ECONNREFUSED ? "no mail system runs with it"
							     : strerror(-socket));
	return socket;
}

static int watch_sessions(struct transcript_watch *watch, const struct config *config,
			  const struct transcript_filter *filter, uint32_t seconds)
{
	int socket = connect_to_transcript(watch, config);

	if (socket < 0)
		return COMMAND_FAILED;
	watch->loop = os_loop_new();
	watch->channel = ipc_channel_new(watch->loop, socket, &transcript_handler, watch);
	ask_for_transcript(watch, filter, seconds);
	os_loop_run(watch->loop);
	ipc_channel_close(watch->channel);
	return watch->status;
}

/* NULL, or what is wrong with the options. */
static const char *read_filter(const struct transcript_options *options,
			       const struct config *config, struct transcript_filter *filter_out)
{
	const char *problem = NULL;

	*filter_out = (struct transcript_filter){.has_network = options->peer != NULL};
	if (options->peer != NULL)
		problem =
			config_network_parse(config, str_from(options->peer), &filter_out->network);
	if (problem == NULL && options->domain != NULL &&
	    (options->domain[0] == '\0' ||
	     !mail_domain_form(str_from(options->domain), &filter_out->domain)))
		problem = "--domain needs a domain";
	return problem;
}

int command_transcript(const struct command *command, int argc, char **argv)
{
	struct transcript_options options = {.during = "10m"};
	struct transcript_watch watch = {.command = command};
	struct transcript_filter filter;
	struct config *config;
	const char *problem;
	int64_t during_us;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (options.peer == NULL && options.domain == NULL)
		return command_usage(command, "give --peer, or --domain, or both");
	if (!command_parse_time(options.during, &during_us) || during_us < SECOND_US ||
	    during_us > TRANSCRIPT_TALK_SECONDS_MAX * SECOND_US)
		return command_usage(command, "--for needs a time like 30s, 10m or 24h at most");
	config = command_config(options.common.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	watch.json = options.common.json;
	problem = read_filter(&options, config, &filter);
	status = problem != NULL ? command_usage(command, problem)
				 : watch_sessions(&watch, config, &filter,
						  (uint32_t)(during_us / SECOND_US));
	config_free(config);
	return status;
}
