// SPDX-License-Identifier: ISC
/* stagepost queue - what is in the queue, read from its directory. */
#include "program/command_queue.h"
#include "base/json.h"
#include <stdio.h>
#include <string.h>

static const struct command subcommands[] = {
	{"queue list", "[-c FILE] [FILTER ...] [--json]", "Lists the messages in the queue.",
	 "All filters given must pass.\n", command_queue_list},
	{"queue show", "[-c FILE] [--json] ID", "Prints a message's control file and its header.",
	 "ID is as the logs have it; its number alone, before the '-', will do.\n",
	 command_queue_show},
	{"queue stats", "[-c FILE] [--json]", "Counts messages and bytes in each place.",
	 "A message with recipients in several places is counted in each of them.\n",
	 command_queue_stats},
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

struct queue_store *command_queue_open(const char *config_file)
{
	const struct queue_options options = {.read_only = true};
	struct buffer reason CLEANUP(buffer_clear) = {0};
	struct config *config = command_config(config_file);
	struct queue_store *store = NULL;
	int error;

	if (config == NULL)
		return NULL;
	error = queue_store_open(config->queue, &options, &store, &reason);
	if (error < 0)
		fprintf(stderr, "stagepost queue: %s: " STR_FORMAT "\n", config->queue,
			STR_ARGUMENTS(buffer_view(&reason)));
	config_free(config);
	return error < 0 ? NULL : store;
}

struct stats {
	bool json;
	struct buffer text;
};

static int add_place(void *context, const struct listing_count *count)
{
	struct stats *stats = context;

	if (!stats->json) {
		buffer_append_format(&stats->text, "%-40s %10llu %15llu\n", count->name,
				     (unsigned long long)count->messages,
				     (unsigned long long)count->bytes);
		return 0;
	}
	json_field(&stats->text, count->name);
	buffer_append_byte(&stats->text, '{');
	json_field_number(&stats->text, "messages", count->messages);
	json_field_number(&stats->text, "bytes", count->bytes);
	buffer_append_byte(&stats->text, '}');
	return 0;
}

static void add_oldest(struct stats *stats, int64_t oldest_us)
{
	char oldest[TIMESTAMP_SIZE] = "none";

	if (oldest_us != 0)
		timestamp_format(oldest_us, oldest);
	if (!stats->json) {
		buffer_append_format(&stats->text, "%-40s %s\n", "oldest", oldest);
		return;
	}
	json_field(&stats->text, "oldest");
	if (oldest_us != 0)
		json_append_text(&stats->text, str_from(oldest));
	else
		buffer_append_string(&stats->text, "null");
	buffer_append_string(&stats->text, "}\n");
}

int command_queue_stats(const struct command *command, int argc, char **argv)
{
	struct command_options options;
	struct queue_store *store;
	struct stats stats = {0};
	int64_t oldest_us;
	int result;
	int status;

	if (!command_parse(command, argc, argv, true, &options, &status))
		return status;
	if (options.first < argc)
		return command_usage(command, "unexpected argument");
	store = command_queue_open(options.config_file);
	if (store == NULL)
		return COMMAND_FAILED;
	stats.json = options.json;
	if (options.json)
		buffer_append_byte(&stats.text, '{');
	else
		buffer_append_format(&stats.text, "%-40s %10s %15s\n", "place", "messages",
				     "bytes");
	result = listing_count(store, add_place, &stats, &oldest_us);
	queue_store_close(store);
	add_oldest(&stats, oldest_us);
	if (result == 0)
		command_queue_flush(&stats.text);
	buffer_clear(&stats.text);
	return result < 0 ? command_queue_failed("stats", result) : COMMAND_OK;
}

static int usage(const struct command *command, FILE *out)
{
	fprintf(out, "Usage: stagepost %s %s\n\n%s\n\n", command->name, command->arguments,
		command->summary);
	for (const struct command *sub = subcommands; sub->name != NULL; sub++)
		fprintf(out, "  %-14s %s\n", sub->name, sub->summary);
	return out == stdout ? COMMAND_OK : COMMAND_USAGE;
}

int command_queue(const struct command *command, int argc, char **argv)
{
	size_t prefix = strlen(command->name) + 1;

	if (argc < 2)
		return usage(command, stderr);
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
		return usage(command, stdout);
	for (const struct command *sub = subcommands; sub->name != NULL; sub++)
		if (strcmp(sub->name + prefix, argv[1]) == 0)
			return sub->run(sub, argc - 1, argv + 1);
	fprintf(stderr, "stagepost %s: no command \"%s\"\n", command->name, argv[1]);
	return usage(command, stderr);
}

int command_mailq(const struct command *command, int argc, char **argv)
{
	return command_queue_list(command, argc, argv);
}
