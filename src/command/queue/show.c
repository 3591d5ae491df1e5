// SPDX-License-Identifier: ISC
/* stagepost queue show */
#include "base/text/json.h"
#include "command/queue/damage.h"
#include "command/queue/queue.h"
#include "mail/text/text.h"
#include "os/file/file.h"
#include "queue/update.h"
#include "supervisor/talk/manager_why.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { HEADER_MAX = 1 << 20, SHOW_PIECE = 1 << 20, TRIES = 5 };

/* What is shown of a message. */
struct shown {
	struct listing_entry entry;
	struct buffer control;
	struct buffer header;
	struct buffer damage; /* lines of text, or JSON objects with ',' between */
	bool is_json;
};

static void clear_shown(struct shown *shown)
{
	queue_control_free(shown->entry.control);
	buffer_clear(&shown->control);
	buffer_clear(&shown->header);
	buffer_clear(&shown->damage);
}

/* Reads the data up to the empty line after the header. */
static int read_header_of_message(struct queue_store *store, const struct listing_entry *entry,
				  struct buffer *out)
{
	uint64_t size = HEADER_MAX;
	const char *end;
	int error;

	if (entry->control != NULL && entry->control->envelope->size < size)
		size = entry->control->envelope->size;
	error = queue_update_read_beginning(store, entry->is_preprocessed ? NULL : &entry->stage,
					    entry->number, size, out);
	if (error < 0)
		return error == -ENODATA ? 0 : error; /* nothing is left of them */
	end = out->length > 0 ? memmem(buffer_data(out), out->length, "\r\n\r\n", 4) : NULL;
	if (end != NULL)
		buffer_truncate(out, (size_t)(end + 2 - buffer_data(out)));
	return 0;
}

/* A damaged message has no birth to identify it. It is identified by its text: if its file was
 * reused after the first reading, the second one, by its name, finds another text or none. A
 * missing envelope is empty. */
static int read_damaged(struct queue_store *store, const struct listing_entry *entry,
			const enum mail_stage *stage, struct buffer *control)
{
	struct buffer again CLEANUP(buffer_clear) = {0};
	struct queue_control *sound = NULL;
	int result = queue_update_read(store, stage, entry->number, control);

	if (result == 0)
		result = queue_update_read(store, stage, entry->number, &again);
	if (result < 0)
		return result == -ENODATA ? 0 : result;
	if (!str_equal(buffer_view(control), buffer_view(&again)))
		return -ENOENT;
	result = queue_update_load(store, stage, entry->number, &sound, NULL);
	queue_control_free(sound);
	return result == 0 ? -ENOENT : 0; /* sound, so it is another message */
}

static void add_difference_to_message(void *context, const char *path,
				      const struct queue_difference *difference)
{
	struct shown *shown = context;

	if (shown->is_json) {
		if (shown->damage.length > 0)
			buffer_append_byte(&shown->damage, ',');
		command_damage_print_json(&shown->damage, path, difference);
		return;
	}
	buffer_append_string(&shown->damage, "(damaged: ");
	command_damage_print(&shown->damage, path, difference);
	buffer_append_string(&shown->damage, ")\n");
}

static int read_differences(struct queue_store *store, const enum mail_stage *stage,
			    struct shown *shown)
{
	struct queue_damage damage = {.store = store,
				      .with_data = true,
				      .each = add_difference_to_message,
				      .context = shown};

	return queue_damage_look(&damage, stage, shown->entry.number);
}

/* Reads everything that is shown. -ENOENT: the message has ended or moved meanwhile, and the data
 * may be another's. The data of a damaged message are not shown, as their end is unknown. */
static int read_shown_message(struct queue_store *store, struct shown *shown)
{
	const struct listing_entry *entry = &shown->entry;
	const enum mail_stage *stage = entry->is_preprocessed ? NULL : &entry->stage;
	int result = read_differences(store, stage, shown);

	if (result < 0)
		return result;
	if (entry->control == NULL)
		return read_damaged(store, entry, stage, &shown->control);
	result = queue_update_read(store, stage, entry->number, &shown->control);
	if (result < 0)
		return result;
	result = read_header_of_message(store, entry, &shown->header);
	if (result == 0)
		result = queue_update_is_still(store, stage, entry->control->envelope->id);
	return result == 0 ? -ENOENT : result < 0 ? result : 0;
}

/* Prints foreign text on a terminal, without control characters. */
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

static void print_hold(const struct listing_entry *entry)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	listing_print_hold(entry, &text);
	printf("(" STR_FORMAT ")\n", STR_ARGUMENTS(buffer_view(&text)));
}

static void print_reason(const struct listing_entry *entry)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct str rest;
	struct str line;

	listing_print_why(entry, &text);
	rest = buffer_view(&text);
	while (rest.length > 0 && str_split(&rest, '\n', &line)) /* not indented as in a list */
		print_safely(str_skip(line, strlen("    ")));
}

static void print_shown_message(const struct shown *shown)
{
	struct str control = buffer_view(&shown->control);
	struct str header = buffer_view(&shown->header);
	struct buffer text CLEANUP(buffer_clear) = {0};

	if (!shown->is_json) {
		print_safely(control);
		if (shown->entry.is_held)
			print_hold(&shown->entry);
		print_reason(&shown->entry);
		print_safely(buffer_view(&shown->damage));
		putchar('\n');
		print_safely(header);
		return;
	}
	listing_print_json(&shown->entry, &text);
	buffer_truncate(&text, text.length - 1);
	json_field_text(&text, "control", control);
	json_field_text(&text, "header", header);
	if (shown->damage.length > 0) {
		json_field(&text, "damage");
		buffer_append_byte(&text, '[');
		buffer_append_str(&text, buffer_view(&shown->damage));
		buffer_append_byte(&text, ']');
	}
	buffer_append_string(&text, "}\n");
	command_queue_flush(&text);
}

/* Tries again, as the message may be moving from one place to another. */
static int find_and_read(struct queue_store *store, const char *id, struct shown *shown)
{
	int result = -ENOENT;

	for (unsigned i = 0; result == -ENOENT && i < TRIES; i++) {
		result = listing_find(store, str_from(id), &shown->entry);
		if (result < 0)
			continue;
		buffer_reset(&shown->control);
		buffer_reset(&shown->header);
		buffer_reset(&shown->damage);
		result = read_shown_message(store, shown);
		if (result == 0)
			break;
		queue_control_free(shown->entry.control);
		shown->entry.control = NULL;
	}
	return result;
}

static int refuse_message_id(const char *id, int error)
{
	if (error == -ENOENT)
		fprintf(stderr, "stagepost: no message %s\n", id);
	else if (error == -EINVAL)
		fprintf(stderr, "stagepost: %s is no message id\n", id);
	else
		return command_queue_failed(id, error);
	return COMMAND_FAILED;
}

static int show_message(struct queue_store *store, struct manager_why *why, const char *id,
			bool json)
{
	struct shown shown CLEANUP(clear_shown) = {.is_json = json};
	int error = find_and_read(store, id, &shown);

	if (error < 0)
		return refuse_message_id(id, error);
	listing_learn_why(store, manager_why_ask, why, &shown.entry);
	print_shown_message(&shown);
	return COMMAND_OK;
}

/* --- contents --- */

/* Reads a piece of the data of ENTRY, from FROM. -ENOENT: the message has gone meanwhile, and the
 * piece may be another's. */
static int read_piece(struct queue_store *store, const struct listing_entry *entry, int file,
		      uint64_t from, struct buffer *piece)
{
	const enum mail_stage *stage = entry->is_preprocessed ? NULL : &entry->stage;
	uint64_t left = entry->control->envelope->size - from;
	size_t size = left < SHOW_PIECE ? (size_t)left : SHOW_PIECE;
	ssize_t count;
	int result;

	buffer_reset(piece);
	count = os_file_read(file, buffer_reserve(piece, size), size, from);
	if (count <= 0)
		return count < 0 ? (int)count : -EBADMSG;
	buffer_commit(piece, (size_t)count);
	result = queue_update_is_still(store, stage, entry->control->envelope->id);
	return result == 0 ? -ENOENT : result < 0 ? result : 0;
}

/* On a terminal, prints lines without control characters, and breaks lines longer than a piece.
 */
static void print_piece(struct buffer *piece, bool is_terminal)
{
	if (is_terminal)
		print_safely(buffer_view(piece));
	else
		command_write(stdout, buffer_view(piece));
}

/* *SHOWN_OUT: the number of bytes printed. */
static int print_content(struct queue_store *store, const struct listing_entry *entry,
			 uint64_t *shown_out)
{
	struct buffer piece CLEANUP(buffer_clear) = {0};
	const enum mail_stage *stage = entry->is_preprocessed ? NULL : &entry->stage;
	bool is_terminal = isatty(STDOUT_FILENO);
	int file;
	int result;

	if (entry->control == NULL)
		return -EBADMSG; /* the end of its data is unknown */
	file = queue_update_open_data(store, stage, entry->number);
	result = file < 0 ? file : 0;
	while (result == 0 && *shown_out < entry->control->envelope->size && !ferror(stdout)) {
		result = read_piece(store, entry, file, *shown_out, &piece);
		if (result < 0)
			break;
		*shown_out += piece.length;
		print_piece(&piece, is_terminal);
	}
	if (file >= 0)
		os_file_close(file);
	return result;
}

/* Searches again if the message has moved to another place before the first piece was shown. */
static int show_content(struct queue_store *store, const char *id)
{
	struct listing_entry entry;
	uint64_t shown = 0;
	int result = -ENOENT;

	for (unsigned i = 0; result == -ENOENT && shown == 0 && i < TRIES; i++) {
		result = listing_find(store, str_from(id), &entry);
		if (result < 0)
			continue;
		result = print_content(store, &entry, &shown);
		queue_control_free(entry.control);
	}
	if (result == -ENOENT && shown > 0) {
		fprintf(stderr,
			"stagepost: %s has ended or moved on meanwhile: not all of it is here\n",
			id);
		return COMMAND_FAILED;
	}
	return result < 0 ? refuse_message_id(id, result) : COMMAND_OK;
}

struct show_options {
	struct command_options common;
	bool body;
};

const struct command_option command_queue_show_options[] = {
	COMMAND_OPTION_CONFIG,
	{"--body", NULL, "only the content, header and body, byte for byte unless at a terminal",
	 offsetof(struct show_options, body)},
	COMMAND_OPTION_JSON("print JSON"),
	COMMAND_OPTION_END,
};

int command_queue_show(const struct command *command, int argc, char **argv)
{
	struct show_options options = {.body = false};
	struct manager_why why = {.run = NULL};
	struct queue_store *store;
	struct config *config;
	int status;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	if (options.common.first + 1 != argc)
		return command_usage(command, "show needs one ID");
	if (options.body && options.common.json)
		return command_usage(command, "--body is no JSON");
	config = command_config(options.common.config_file);
	store = config != NULL ? command_queue_open_to_read(config) : NULL;
	if (store == NULL) {
		config_free(config);
		return COMMAND_FAILED;
	}
	why.run = config->run;
	status = options.body ? show_content(store, argv[options.common.first])
			      : show_message(store, &why, argv[options.common.first],
					     options.common.json);
	manager_why_clear(&why);
	queue_store_close(store);
	config_free(config);
	return status;
}
