// SPDX-License-Identifier: ISC
/* stagepost directory watch, stats */
#include "base/panic.h"
#include "base/text/json.h"
#include "command/directory/directory.h"
#include "command/queue/queue.h"
#include "directory/wire/frame.h"
#include "mail/text/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- watch --- */

enum { LOOK_US = 500000 };

struct watch {
	struct command_options options;
	struct command_directory directory;
	struct os_timer *timer;
	struct buffer problem; /* last printed; empty: connected */
};

/* Nothing arrives while there is no server, so its loss and return are printed, once each. */
static void watch_server_connection(void *context)
{
	struct watch *watch = context;
	struct buffer problem = {0};

	directory_client_problem(watch->directory.server.client, &problem);
	if (problem.length > 0 && !str_equal(buffer_view(&problem), buffer_view(&watch->problem)))
		fprintf(stderr, "stagepost directory watch: " STR_FORMAT "\n",
			STR_ARGUMENTS(buffer_view(&problem)));
	else if (problem.length == 0 && watch->problem.length > 0)
		fputs("stagepost directory watch: connected again\n", stderr);
	buffer_clear(&watch->problem);
	watch->problem = problem;
	os_timer_start(watch->timer, LOOK_US);
}

static void on_change(void *context, uint64_t version, struct str table, struct str key)
{
	const struct command_options *options = context;
	struct buffer out = {0};

	if (options->json) {
		buffer_append_byte(&out, '{');
		json_field_text(&out, "event", table.length > 0 ? STR("changed") : STR("reset"));
		json_field_number(&out, "version", version);
		if (table.length > 0) {
			json_field_text(&out, "table", table);
			json_field_text(&out, "key", key);
		}
		buffer_append_string(&out, "}\n");
	} else if (table.length > 0) {
		buffer_append_format(&out, "%" PRIu64 " " STR_FORMAT " ", version,
				     STR_ARGUMENTS(table));
		mail_text_append(&out, key, MAIL_TEXT_8BIT);
		buffer_append_byte(&out, '\n');
	} else {
		buffer_append_format(&out, "%" PRIu64 " all may be different\n", version);
	}
	command_queue_flush(&out);
	fflush(stdout);
	buffer_clear(&out);
}

int command_directory_watch(const struct command *command, int argc, char **argv)
{
	struct watch watch = {{NULL}};
	struct os_loop *loop;
	int status;

	if (!command_parse_plain(command, argc, argv, &watch.options, &status))
		return status;
	if (!command_directory_open(watch.options.config_file, &watch.directory))
		return COMMAND_FAILED;
	loop = watch.directory.server.loop;
	watch.timer = os_timer_new(loop, watch_server_connection, &watch);
	os_timer_start(watch.timer, LOOK_US);
	directory_client_watch(watch.directory.server.client, on_change, &watch.options);
	os_loop_run(loop); /* until a signal, or the reader of the output has gone */
	os_timer_free(watch.timer);
	buffer_clear(&watch.problem);
	command_directory_close(&watch.directory);
	return COMMAND_OK;
}

/* --- stats --- */

struct watch_stats_options {
	struct command_options common;
	bool count;
};

const struct command_option command_directory_stats_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--count", NULL, "count the records of each table, which reads all of them",
	 offsetof(struct watch_stats_options, count)},
	COMMAND_OPTION_JSON("print an object of JSON"),
	COMMAND_OPTION_END,
};

struct watch_stats {
	const struct watch_stats_options *options;
	struct command_directory directory;
	struct directory_question question;
	bool is_status; /* only whether the data can be reached */
	struct buffer out;
	struct buffer servers; /* for JSON: the contents of an array */
	bool has_failed;
};

static bool is_of_status(struct str name)
{
	static const struct str names[] = {
		STR("state"),         STR("held"),     STR("ended_by"), STR("role"),
		STR("backend"),       STR("upstream"), STR("followed"), STR("lost_seconds"),
		STR("fresh_seconds"), STR("identity"), STR("version"),
	};

	for (size_t i = 0; i < COUNT_OF(names); i++)
		if (str_equal(name, names[i]))
			return true;
	return false;
}

static void add_stats_value(struct watch_stats *stats, struct str name, struct str value);

/* How it ends that the data are held. */
static void add_end_of_hold(struct watch_stats *stats)
{
	if (stats->options->common.json)
		add_stats_value(stats, STR("ended_by"), STR("stagepost directory accept"));
	else
		add_stats_value(
			stats, STR("ended_by"),
			STR("\"stagepost directory accept\", if these data are right; or put back "
			    "those "
			    "that were seen before. Until then mail is deferred (451)."));
}

static void add_stats_value(struct watch_stats *stats, struct str name, struct str value)
{
	char copy[64];

	if (stats->is_status && !is_of_status(name))
		return;
	snprintf(copy, sizeof copy, STR_FORMAT, STR_ARGUMENTS(name));
	if (stats->options->common.json && str_equal(name, STR("upstream"))) {
		buffer_append_string(&stats->servers, stats->servers.length > 0 ? "," : "");
		json_append_text(&stats->servers, value);
		return;
	}
	if (stats->options->common.json) {
		uint64_t number;

		if (str_to_u64(value, &number))
			json_field_number(&stats->out, copy, number);
		else
			json_field_text(&stats->out, copy, value);
		return;
	}
	buffer_append_format(&stats->out, "%-12s ", copy);
	mail_text_append(&stats->out, value, MAIL_TEXT_ASCII);
	buffer_append_byte(&stats->out, '\n');
}

static void on_directory_stats(void *context, const struct directory_answer_text *answer)
{
	struct watch_stats *stats = context;

	stats->has_failed = bulk_server_has_failed(&stats->directory.server, answer);
	for (size_t i = 0; i < answer->result_count; i++) {
		struct str name;
		struct str value;

		directory_frame_split_result(answer->results[i], &name, &value);
		add_stats_value(stats, name, value);
		if (str_equal(name, STR("held")))
			add_end_of_hold(stats);
	}
	bulk_server_stop(&stats->directory.server);
}

static bool count_table(struct watch_stats *stats, enum directory_table table)
{
	struct bulk_pages *pages = bulk_pages_new(&stats->directory.server, table, STR(""));
	const struct directory_record *records;
	struct buffer text = {0};
	uint64_t total = 0;
	size_t count;
	int result;

	while ((result = bulk_pages_next(pages, &records, &count)) == 1)
		total += count;
	bulk_pages_free(pages);
	buffer_append_number(&text, total);
	if (result == 0)
		add_stats_value(stats, str_from(directory_table_name(table)), buffer_view(&text));
	buffer_clear(&text);
	return result == 0;
}

static void count_records_of_tables(struct watch_stats *stats)
{
	for (unsigned i = DIRECTORY_DOMAIN; i < DIRECTORY_TABLES && !stats->has_failed; i++)
		stats->has_failed = !count_table(stats, (enum directory_table)i);
}

static void end_json(struct watch_stats *stats)
{
	json_field(&stats->out, "servers");
	buffer_append_byte(&stats->out, '[');
	buffer_append_str(&stats->out, buffer_view(&stats->servers));
	buffer_append_string(&stats->out, "]}\n");
}

static int tell_stats(const struct command *command, int argc, char **argv, bool is_status)
{
	struct watch_stats_options options = {.count = false};
	struct watch_stats stats = {.options = &options, .is_status = is_status};
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (!command_directory_open(options.common.config_file, &stats.directory))
		return COMMAND_FAILED;
	if (options.common.json)
		buffer_append_byte(&stats.out, '{');
	stats.question =
		(struct directory_question){.answered = on_directory_stats, .context = &stats};
	directory_client_stats(stats.directory.server.client, &stats.question);
	bulk_server_wait(&stats.directory.server, &stats.question);
	if (!stats.has_failed && options.count)
		count_records_of_tables(&stats);
	if (options.common.json)
		end_json(&stats);
	if (stats.has_failed)
		(void)command_directory_failed(command, &stats.directory);
	else
		command_queue_flush(&stats.out);
	buffer_clear(&stats.out);
	buffer_clear(&stats.servers);
	command_directory_close(&stats.directory);
	return stats.has_failed ? COMMAND_DIRECTORY_UNANSWERED : COMMAND_OK;
}

int command_directory_stats(const struct command *command, int argc, char **argv)
{
	return tell_stats(command, argc, argv, false);
}

int command_directory_status(const struct command *command, int argc, char **argv)
{
	return tell_stats(command, argc, argv, true);
}
