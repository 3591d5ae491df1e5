// SPDX-License-Identifier: ISC
/* stagepost trace - the history of a message or a session, from the logs. */
#include "base/panic.h"
#include "command/nodes/nodes.h"
#include "mail/package.h"
#include "os/stream/stream.h"
#include "trace/story.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct logs {
	FILE **files;
	const char **names;
	struct str *nodes; /* whose they are; empty: their lines say it, or nobody does */
	size_t count;
	struct buffer told; /* by nodes: nodes_lines_fetch() */
};

static int fail_trace_file(const char *file, int error)
{
	fprintf(stderr, "stagepost trace: %s: %s\n", file, strerror(error));
	return COMMAND_FAILED;
}

/* Copies a pipe's data to a file, because it must be read twice. */
static FILE *copy_log_input(void)
{
	char piece[16 * 1024];
	int file = os_stream_temporary();
	FILE *copy = file >= 0 ? fdopen(file, "w+") : NULL;
	size_t count;

	if (copy == NULL) {
		errno = file < 0 ? -file : errno;
		return NULL;
	}
	while ((count = fread(piece, 1, sizeof piece, stdin)) > 0)
		fwrite(piece, 1, count, copy);
	if (ferror(stdin) || fflush(copy) != 0 || ferror(copy)) {
		fclose(copy);
		return NULL;
	}
	return copy;
}

/* By its first bytes: what reads such a file as text; NULL: it is none. */
static const char *reader_of(FILE *file)
{
	static const struct {
		const char *begin;
		const char *reader;
	} kinds[] = {{"\x1f\x8b", "zcat"},
		     {"\xfd"
		      "7zXZ",
		      "xzcat"},
		     {"\x28\xb5\x2f\xfd", "zstdcat"},
		     {"BZh", "bzcat"},
		     {"LPKSHHRH", "journalctl --file"}};
	char begin[8] = "";
	size_t count;

	rewind(file);
	count = fread(begin, 1, sizeof begin, file);
	rewind(file);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		size_t length = strlen(kinds[i].begin);

		if (count >= length && memcmp(begin, kinds[i].begin, length) == 0)
			return kinds[i].reader;
	}
	return NULL;
}

/* It would be read as a log that tells of no message. */
static int refuse_binary(const char *name, const char *reader)
{
	fprintf(stderr,
		"stagepost trace: %s is not text: give what \"%s\" prints of it on standard "
		"input\n",
		name, reader);
	return COMMAND_FAILED;
}

static bool is_log_there(const char *name)
{
	FILE *file = fopen(name, "r");

	if (file != NULL)
		fclose(file);
	return file != NULL;
}

/* "NODE=FILE", unless there is such a file: the file, and the node in *NODE_OUT. */
static const char *file_of_node(const char *name, struct str *node_out)
{
	const char *equals = strchr(name, '=');

	if (equals == NULL || is_log_there(name) ||
	    !mail_node_is_valid(str_slice(name, (size_t)(equals - name))))
		return name;
	*node_out = str_slice(name, (size_t)(equals - name));
	return equals + 1;
}

static int open_log_to_trace(struct logs *logs, const char *argument)
{
	const char *name = file_of_node(argument, &logs->nodes[logs->count]);
	bool is_input = strcmp(name, "-") == 0;
	const char *reader;
	FILE *file;

	if (is_input && isatty(STDIN_FILENO))
		fputs("stagepost trace: reading the log from standard input\n", stderr);
	file = is_input ? copy_log_input() : fopen(name, "r");

	if (file == NULL)
		return fail_trace_file(name, errno != 0 ? errno : EIO);
	logs->names[logs->count] = name;
	logs->files[logs->count++] = file;
	reader = reader_of(file);
	return reader != NULL ? refuse_binary(name, reader) : COMMAND_OK;
}

static int offer_file(struct trace_story *story, FILE *file, char **line, size_t *size)
{
	int error = 0;
	ssize_t length;

	rewind(file);
	errno = 0;
	while (error == 0 && (length = getline(line, size, file)) > 0) {
		if ((*line)[length - 1] == '\n')
			length--;
		error = trace_story_offer(story, str_slice(*line, (size_t)length));
	}
	return error;
}

static int offer_lines_of_nodes(struct trace_story *story, struct str lines)
{
	struct str line;
	int error = 0;

	while (error == 0 && lines.length > 0 && str_split(&lines, '\n', &line)) {
		struct str node;

		(void)str_split(&line, ' ', &node);
		trace_story_from(story, node);
		error = trace_story_offer(story, line);
	}
	return error;
}

/* *STATUS_OUT: COMMAND_FAILED, after an error message, if one cannot be read to its end. */
static int read_logs(struct trace_story *story, const struct logs *logs, int *status_out)
{
	char *line = NULL;
	size_t size = 0;
	int error = 0;

	do {
		trace_story_begin(story);
		for (size_t i = 0; error == 0 && i < logs->count; i++) {
			trace_story_from(story, logs->nodes[i]);
			error = offer_file(story, logs->files[i], &line, &size);
			if (ferror(logs->files[i]) && *status_out == COMMAND_OK)
				*status_out = fail_trace_file(logs->names[i], errno);
		}
		if (error == 0)
			error = offer_lines_of_nodes(story, buffer_view(&logs->told));
	} while (error == 0 && !trace_story_is_whole(story));
	free(line);
	return error;
}

struct telling {
	bool json;
	bool with_id;
	size_t count;
	struct buffer text;
};

static void tell_traced_line(void *context, const struct log_line *line)
{
	struct telling *telling = context;

	if (telling->json)
		trace_tell_json(line, &telling->text);
	else
		trace_tell(line, telling->with_id, &telling->text);
	command_write(stdout, buffer_view(&telling->text));
	buffer_reset(&telling->text);
	telling->count++;
}

static int trace_id(const char *id, const struct logs *logs, bool json)
{
	struct trace_story *story = trace_story_new(str_from(id));
	struct telling telling = {.json = json};
	int status = COMMAND_OK;

	if (story == NULL) {
		fprintf(stderr,
			"stagepost trace: %s is neither the id of a message nor of a session\n",
			id);
		return COMMAND_USAGE;
	}
	if (read_logs(story, logs, &status) < 0)
		fputs("stagepost trace: the story is too long; here is a part of it\n", stderr);
	telling.with_id = trace_story_id_count(story) > 1;
	trace_story_each(story, tell_traced_line, &telling);
	trace_story_free(story);
	buffer_clear(&telling.text);
	if (telling.count > 0)
		return status;
	fprintf(stderr, "stagepost trace: %s nothing about %s\n",
		logs->count > 0 ? "the logs say" : "the nodes know", id);
	return COMMAND_FAILED;
}

struct trace_options {
	struct command_options common;
	bool nodes;
};

const struct command_option command_trace_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_JSON("one JSON object a line"),
	{"--nodes", NULL, "ask all nodes what they know of the message, besides the logs",
	 offsetof(struct trace_options, nodes)},
	COMMAND_OPTION_END,
};

static int open_all_logs(struct logs *logs, char **names, bool needs_one)
{
	int status = COMMAND_OK;

	if (needs_one && *names == NULL)
		status = open_log_to_trace(logs, "-");
	for (; status == COMMAND_OK && *names != NULL; names++)
		status = open_log_to_trace(logs, *names);
	return status;
}

static int ask_nodes_for_message(const struct command *command, const struct trace_options *options,
				 const char *id, struct logs *logs)
{
	struct config *config;
	int status;

	if (!mail_id_parse(str_from(id), &(struct mail_id){0, 0}))
		return command_usage(command, "with --nodes the whole ID of a message is required");
	config = command_config(options->common.config_file);
	if (config == NULL)
		return COMMAND_FAILED;
	status = nodes_lines_fetch(command, config->run, str_from(id), &logs->told);
	config_free(config);
	return status;
}

int command_trace(const struct command *command, int argc, char **argv)
{
	struct trace_options options = {.nodes = false};
	struct logs logs = {.count = 0};
	int asked = COMMAND_OK;
	int status;
	char **names;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	names = argv + options.common.first;
	if (*names == NULL)
		return command_usage(command, "an ID is missing");
	if (options.nodes)
		asked = ask_nodes_for_message(command, &options, *names, &logs);
	if (asked == COMMAND_USAGE)
		return asked;
	logs.files = memory_alloc_zero((size_t)argc, sizeof *logs.files);
	logs.names = memory_alloc_zero((size_t)argc, sizeof *logs.names);
	logs.nodes = memory_alloc_zero((size_t)argc, sizeof *logs.nodes);
	status = open_all_logs(&logs, names + 1, !options.nodes);
	if (status == COMMAND_OK)
		status = trace_id(*names, &logs, options.common.json);
	for (size_t i = 0; i < logs.count; i++)
		fclose(logs.files[i]);
	free(logs.files);
	free(logs.names);
	free(logs.nodes);
	buffer_clear(&logs.told);
	return status == COMMAND_OK ? asked : status;
}
