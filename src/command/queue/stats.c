// SPDX-License-Identifier: ISC
/* stagepost queue stats */
#include "base/text/json.h"
#include "command/queue/damage.h"
#include "command/queue/monitor.h"
#include "command/queue/queue.h"
#include "mail/text/text.h"
#include <stdio.h>
#include <string.h>

struct stats {
	bool json;
	bool is_refused; /* new mail is */
	size_t places;
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
	buffer_append_string(&stats->text, stats->places++ > 0 ? ",{" : "{");
	json_field_text(&stats->text, "name", str_from(count->name));
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
}

static void add_misnamed(struct stats *stats, const struct queue_misnamed *misnamed)
{
	if (stats->json)
		json_field_text(&stats->text, "copied", str_from(misnamed->path));
	else
		buffer_append_format(
			&stats->text,
			"%s is inode %llu: this queue was copied. New mail is refused. "
			"Stop Stagepost, run \"stagepost queue repair\", start it again.\n",
			misnamed->path, (unsigned long long)misnamed->inode);
}

static void add_aside(struct stats *stats, uint64_t count, uint64_t bytes)
{
	if (stats->json) {
		json_field(&stats->text, "set_aside");
		buffer_append_byte(&stats->text, '{');
		json_field_number(&stats->text, "files", count);
		json_field_number(&stats->text, "bytes", bytes);
		buffer_append_byte(&stats->text, '}');
		return;
	}
	buffer_append_format(
		&stats->text,
		"%llu files of %llu bytes are set aside: a sync of the disk failed. Look "
		"at the disk; they go at the first start after the machine was "
		"started anew.\n",
		(unsigned long long)count, (unsigned long long)bytes);
}

/* Problems that need the operator's attention. */
static int add_troubles(struct stats *stats, struct queue_store *store)
{
	struct queue_misnamed misnamed;
	uint64_t count = 0;
	uint64_t bytes = 0;
	int result = queue_store_sample(store, &misnamed);

	stats->is_refused = result > 0;
	if (result > 0)
		add_misnamed(stats, &misnamed);
	if (result >= 0)
		result = queue_store_aside(store, &count, &bytes);
	if (result == 0 && count > 0)
		add_aside(stats, count, bytes);
	return result;
}

/* 1: new mail is refused. */
static int stats_of_places(struct queue_store *store, const char *run, bool json, bool with_data)
{
	struct stats stats = {.json = json};
	int64_t oldest_us;
	int result;

	if (json)
		buffer_append_string(&stats.text, "{\"places\":[");
	else
		buffer_append_format(&stats.text, "%-40s %10s %15s\n", "place", "messages",
				     "bytes");
	result = listing_count(store, add_place, &stats, &oldest_us);
	if (json)
		buffer_append_byte(&stats.text, ']');
	add_oldest(&stats, oldest_us);
	if (result == 0)
		result = command_stats_damage(&stats.text, json, store, with_data);
	if (result == 0)
		result = add_troubles(&stats, store);
	command_stats_manager(&stats.text, json, run);
	if (json)
		buffer_append_string(&stats.text, "}\n");
	if (result == 0)
		command_queue_flush(&stats.text);
	buffer_clear(&stats.text);
	return result < 0 ? result : stats.is_refused;
}

static void print_group(void *context, const struct listing_group *group)
{
	const bool *json = context;
	struct buffer text CLEANUP(buffer_clear) = {0};
	char oldest[TIMESTAMP_SIZE];

	timestamp_format_seconds(group->oldest_us, oldest);
	if (*json) {
		buffer_append_byte(&text, '{');
		if (group->is_rest) {
			json_field(&text, "rest");
			buffer_append_string(&text, "true");
		} else {
			json_field_text(&text, "name", group->name);
		}
		json_field_number(&text, "deliveries", group->deliveries);
		json_field_number(&text, "messages", group->messages);
		json_field_text(&text, "oldest", str_from(oldest));
		buffer_append_byte(&text, '}');
	} else {
		buffer_append_format(&text, "%10llu %10llu %s  ",
				     (unsigned long long)group->deliveries,
				     (unsigned long long)group->messages, oldest);
		if (group->is_rest)
			buffer_append_string(&text, "(all others)");
		else
			mail_text_append(&text, group->name, MAIL_TEXT_ASCII);
	}
	buffer_append_byte(&text, '\n');
	command_queue_flush(&text);
}

static int stats_of_groups(struct queue_store *store, enum listing_by by, bool json)
{
	if (!json)
		printf("%10s %10s %-20s  %s\n", "deliveries", "messages", "oldest",
		       by == LISTING_BY_REASON ? "reason" : "destination");
	return listing_groups(store, by, print_group, &json);
}

struct stats_options {
	struct command_options common;
	const char *by;
	const char *warn;
	const char *critical;
	bool check;
};

const struct command_option command_queue_stats_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--by", "destination|reason", "count what is not done of the messages by that",
	 offsetof(struct stats_options, by)},
	{"--check", NULL, "read all data, too, and compare them with their checksums",
	 offsetof(struct stats_options, check)},
	{"--warn", "LIMIT[,LIMIT]",
	 "print one line for monitoring, and exit with 1 if a limit is reached",
	 offsetof(struct stats_options, warn)},
	{"--critical", "LIMIT[,LIMIT]", "likewise, with 2",
	 offsetof(struct stats_options, critical)},
	COMMAND_OPTION_JSON("print JSON; with --by one object a line"),
	COMMAND_OPTION_END,
};

int command_queue_stats(const struct command *command, int argc, char **argv)
{
	struct stats_options options = {.by = NULL};
	const char *by;
	bool json;
	struct queue_store *store;
	struct config *config;
	int result;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	by = options.by;
	json = options.common.json;
	if (by != NULL && strcmp(by, "destination") != 0 && strcmp(by, "reason") != 0)
		return command_usage(command, "--by needs \"destination\" or \"reason\"");
	if (by != NULL && options.check)
		return command_usage(command, "--check is not for --by");
	if (options.warn != NULL || options.critical != NULL)
		return by != NULL || options.check
			       ? command_usage(command, "--warn and --critical are not for --by "
							"and --check")
			       : queue_monitor_run(options.common.config_file, options.warn,
						   options.critical, json);
	config = command_config(options.common.config_file);
	store = config != NULL ? command_queue_open_to_read(config) : NULL;
	if (store == NULL) {
		config_free(config);
		return COMMAND_FAILED;
	}
	if (by == NULL)
		result = stats_of_places(store, config->run, json, options.check);
	else
		result = stats_of_groups(
			store, by[0] == 'r' ? LISTING_BY_REASON : LISTING_BY_DESTINATION, json);
	queue_store_close(store);
	config_free(config);
	if (result < 0)
		return command_queue_failed("stats", result);
	return result > 0 ? COMMAND_FAILED : COMMAND_OK;
}
