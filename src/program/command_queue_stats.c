// SPDX-License-Identifier: ISC
/* stagepost queue stats */
#include "base/json.h"
#include "mail/text.h"
#include "os/clock.h"
#include "program/command_queue.h"
#include <stdio.h>
#include <string.h>

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
		json_field(&stats->text, "set aside");
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

	if (result > 0)
		add_misnamed(stats, &misnamed);
	if (result >= 0)
		result = queue_store_aside(store, &count, &bytes);
	if (result == 0 && count > 0)
		add_aside(stats, count, bytes);
	return result;
}

static int stats_of_places(struct queue_store *store, bool json)
{
	struct stats stats = {.json = json};
	int64_t oldest_us;
	int result;

	if (json)
		buffer_append_byte(&stats.text, '{');
	else
		buffer_append_format(&stats.text, "%-40s %10s %15s\n", "place", "messages",
				     "bytes");
	result = listing_count(store, add_place, &stats, &oldest_us);
	add_oldest(&stats, oldest_us);
	if (result == 0)
		result = add_troubles(&stats, store);
	if (json)
		buffer_append_string(&stats.text, "}\n");
	if (result == 0)
		command_queue_flush(&stats.text);
	buffer_clear(&stats.text);
	return result;
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
};

const struct command_option command_queue_stats_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--by", "destination|reason", "count what is not done of the messages by that",
	 offsetof(struct stats_options, by)},
	COMMAND_OPTION_JSON("print JSON; with --by one object a line"),
	COMMAND_OPTION_END,
};

int command_queue_stats(const struct command *command, int argc, char **argv)
{
	struct stats_options options = {.by = NULL};
	const char *by;
	bool json;
	struct queue_store *store;
	int result;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	by = options.by;
	json = options.common.json;
	if (by != NULL && strcmp(by, "destination") != 0 && strcmp(by, "reason") != 0)
		return command_usage(command, "--by needs \"destination\" or \"reason\"");
	store = command_queue_open(options.common.config_file);
	if (store == NULL)
		return COMMAND_FAILED;
	if (by == NULL)
		result = stats_of_places(store, json);
	else
		result = stats_of_groups(
			store, by[0] == 'r' ? LISTING_BY_REASON : LISTING_BY_DESTINATION, json);
	queue_store_close(store);
	return result < 0 ? command_queue_failed("stats", result) : COMMAND_OK;
}
