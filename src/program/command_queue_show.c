// SPDX-License-Identifier: ISC
/* stagepost queue show */
#include "base/json.h"
#include "mail/text.h"
#include "os/file.h"
#include "program/command_queue.h"
#include "queue/update.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { HEADER_MAX = 1 << 20, PIECE = 16 * 1024 };

/* The data file up to its empty line. */
static int read_header(struct queue_store *store, const struct listing_entry *entry,
		       struct buffer *out)
{
	int file = queue_update_open_copy(store, entry->is_preprocessed ? NULL : &entry->stage,
					  entry->number);
	ssize_t count = 1;
	const char *end = NULL;

	if (file < 0)
		return file;
	while (count > 0 && end == NULL && out->length < HEADER_MAX) {
		count = os_file_read(file, buffer_reserve(out, PIECE), PIECE, out->length);
		if (count > 0)
			buffer_commit(out, (size_t)count);
		if (out->length > 0)
			end = memmem(buffer_data(out), out->length, "\r\n\r\n", 4);
	}
	os_file_close(file);
	if (end != NULL)
		buffer_truncate(out, (size_t)(end + 2 - buffer_data(out)));
	return count < 0 ? (int)count : 0;
}

/* Lines from outside on a terminal: without what would steer it. */
static void print_safely(struct str text)
{
	struct buffer safe CLEANUP(buffer_clear) = {0};
	struct str line;

	while (text.length > 0 && str_split(&text, '\n', &line)) {
		struct str part;

		if (line.length > 0 && line.data[line.length - 1] == '\r')
			line.length--;
		while (str_split(&line, '\t', &part)) {
			mail_text_append(&safe, part, MAIL_TEXT_ASCII);
			if (line.data != NULL)
				buffer_append_byte(&safe, '\t');
		}
		buffer_append_byte(&safe, '\n');
	}
	command_queue_flush(&safe);
}

static void print_message(const struct listing_entry *entry, struct str control, struct str header,
			  bool json)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (!json) {
		print_safely(control);
		if (entry->is_held)
			puts("(held by the operator)");
		putchar('\n');
		print_safely(header);
		return;
	}
	listing_print_json(entry, &text);
	buffer_truncate(&text, text.length - 1);
	json_field_text(&text, "control", control);
	json_field_text(&text, "header", header);
	buffer_append_string(&text, "}\n");
	command_queue_flush(&text);
}

static int show(struct queue_store *store, const char *id, bool json)
{
	struct buffer control CLEANUP(buffer_clear) = {0};
	struct buffer header CLEANUP(buffer_clear) = {0};
	struct listing_entry entry;
	int error = listing_find(store, str_from(id), &entry);

	if (error == -ENOENT || error == -EINVAL) {
		fprintf(stderr,
			error == -ENOENT ? "stagepost: no message %s\n"
					 : "stagepost: %s is no message id\n",
			id);
		return COMMAND_FAILED;
	}
	if (error < 0)
		return command_queue_failed(id, error);
	error = queue_update_read(store, entry.is_preprocessed ? NULL : &entry.stage, entry.number,
				  &control);
	if (error == 0)
		error = read_header(store, &entry, &header);
	if (error == 0)
		print_message(&entry, buffer_view(&control), buffer_view(&header), json);
	queue_control_free(entry.control);
	return error < 0 ? command_queue_failed(id, error) : COMMAND_OK;
}

int command_queue_show(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct queue_store *store;
	int status;

	if (!command_parse(command, argc, argv, &options, &status))
		return status;
	if (options.first + 1 != argc)
		return command_usage(command, "show needs one ID");
	store = command_queue_open(options.config_file);
	if (store == NULL)
		return COMMAND_FAILED;
	status = show(store, argv[options.first], options.json);
	queue_store_close(store);
	return status;
}
