// SPDX-License-Identifier: ISC
/* stagepost mailbox status, and list. */
#include "base/text/json.h"
#include "base/timestamp.h"
#include "command/mailbox/mailbox_command.h"
#include "deliver/mailbox/open.h"
#include "os/clock.h"
#include "os/process/process.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LIST_PAGE = 500 }; /* messages asked for at once */

struct look {
	const struct command *command;
	struct record *record;
	bool json;
	bool is_whole; /* everything about each message */
	int64_t last;  /* the number of the last one printed */
	uint64_t count;
	struct buffer out;
};

static void append_recorded_time(struct buffer *out, int64_t time_us)
{
	char text[TIMESTAMP_SIZE];

	timestamp_format(time_us, text);
	buffer_append_string(out, text);
}

static const char *name_of_record_state(enum record_state state)
{
	return state == RECORD_FILED ? "filed" : "filing";
}

static void append_recorded_time_json(struct buffer *out, const char *name, int64_t time_us)
{
	char text[TIMESTAMP_SIZE];

	timestamp_format(time_us, text);
	json_field_text(out, name, str_from(text));
}

static void json_places(struct buffer *out, const struct record_listed *listed)
{
	json_field(out, "mailboxes");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < listed->place_count; i++) {
		const struct record_filing *filing = &listed->filings[i];

		buffer_append_string(out, i > 0 ? ",{" : "{");
		json_field_text(out, "user", listed->mailboxes[i].user);
		json_field_text(out, "folder", listed->mailboxes[i].folder);
		json_field_text(out, "state", str_from(name_of_record_state(filing->state)));
		json_field_number(out, "attempts", filing->others);
		if (filing->state == RECORD_FILED) {
			json_field_text(out, "copy", filing->copy);
			append_recorded_time_json(out, "filed", filing->filed_us);
		}
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

static void json_participants(struct buffer *out, const struct decode_message *decoded)
{
	json_field(out, "participants");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < decoded->participant_count; i++) {
		const struct decode_participant *one = &decoded->participants[i];

		buffer_append_string(out, i > 0 ? ",{" : "{");
		json_field_text(out, "role", str_from(decode_role_name(one->role)));
		json_field_text(out, "address", one->address);
		json_field_text(out, "name", one->name);
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

static void json_parts(struct buffer *out, const struct decode_message *decoded)
{
	json_field(out, "parts");
	buffer_append_byte(out, '[');
	for (size_t i = 0; i < decoded->part_count; i++) {
		const struct decode_part *part = &decoded->parts[i];

		buffer_append_string(out, i > 0 ? ",{" : "{");
		json_field_text(out, "part", part->number);
		json_field_text(out, "type", part->type);
		json_field_text(out, "filename", part->filename);
		json_field_number(out, "size", part->size);
		buffer_append_byte(out, '}');
	}
	buffer_append_byte(out, ']');
}

static void append_record_json(struct look *look, const struct record_listed *listed)
{
	const struct record_message *message = &listed->message;
	struct buffer *out = &look->out;

	buffer_append_byte(out, '{');
	json_field_number(out, "number", (uint64_t)listed->number);
	json_field_text(out, "message_id", message->id);
	json_field_text(out, "sender", message->sender);
	json_field_text(out, "subject", message->decoded->subject);
	json_field_number(out, "size", message->size);
	append_recorded_time_json(out, "recorded", message->recorded_us);
	if (look->is_whole && message->decoded->problem.length > 0)
		json_field_text(out, "problem", message->decoded->problem);
	json_participants(out, message->decoded);
	if (look->is_whole)
		json_parts(out, message->decoded);
	json_places(out, listed);
	buffer_append_string(out, "}\n");
}

static void print_places(struct buffer *out, const struct record_listed *listed)
{
	for (size_t i = 0; i < listed->place_count; i++) {
		const struct record_filing *filing = &listed->filings[i];

		buffer_append_format(out, "    " STR_FORMAT " " STR_FORMAT ": %s",
				     STR_ARGUMENTS(listed->mailboxes[i].user),
				     STR_ARGUMENTS(listed->mailboxes[i].folder),
				     name_of_record_state(filing->state));
		if (filing->state == RECORD_FILED) {
			buffer_append_byte(out, ' ');
			append_recorded_time(out, filing->filed_us);
			buffer_append_format(out, " as " STR_FORMAT, STR_ARGUMENTS(filing->copy));
		}
		if (filing->others > 0)
			buffer_append_format(out, ", %u attempts without an end", filing->others);
		buffer_append_byte(out, '\n');
	}
}

static void print_parts(struct buffer *out, const struct decode_message *decoded)
{
	for (size_t i = 0; i < decoded->part_count; i++) {
		const struct decode_part *part = &decoded->parts[i];

		buffer_append_format(out,
				     "    part " STR_FORMAT ": " STR_FORMAT " %" PRIu64
				     " bytes " STR_FORMAT "\n",
				     STR_ARGUMENTS(part->number), STR_ARGUMENTS(part->type),
				     part->size, STR_ARGUMENTS(part->filename));
	}
	if (decoded->problem.length > 0)
		buffer_append_format(out, "    not decoded: " STR_FORMAT "\n",
				     STR_ARGUMENTS(decoded->problem));
}

static void print_participants(struct buffer *out, const struct decode_message *decoded)
{
	for (size_t i = 0; i < decoded->participant_count; i++)
		buffer_append_format(out, "    %s: " STR_FORMAT "\n",
				     decode_role_name(decoded->participants[i].role),
				     STR_ARGUMENTS(decoded->participants[i].address));
}

static void append_record_text(struct look *look, const struct record_listed *listed)
{
	const struct record_message *message = &listed->message;
	struct buffer *out = &look->out;

	append_recorded_time(out, message->recorded_us);
	buffer_append_format(out, " " STR_FORMAT " %" PRIu64 " bytes: " STR_FORMAT "\n",
			     STR_ARGUMENTS(message->id), message->size,
			     STR_ARGUMENTS(message->decoded->subject));
	if (look->is_whole) {
		print_participants(out, message->decoded);
		print_parts(out, message->decoded);
	}
	print_places(out, listed);
}

static void print_listed_record(void *context, const struct record_listed *listed)
{
	struct look *look = context;

	look->last = listed->number;
	look->count++;
	if (look->json)
		append_record_json(look, listed);
	else
		append_record_text(look, listed);
	mailbox_command_print(&look->out);
	buffer_truncate(&look->out, 0);
}

static int fail_record_listing(const struct look *look)
{
	fprintf(stderr, "stagepost %s: %s\n", look->command->name, record_error(look->record));
	return COMMAND_FAILED;
}

/* All pages of QUERY, at most MOST messages. */
static int list_all(struct look *look, struct record_query *query, uint64_t most)
{
	uint64_t before;

	do {
		uint64_t left = most - look->count;

		before = look->count;
		query->after = look->last;
		query->limit = left < LIST_PAGE ? (unsigned)left : LIST_PAGE;
		if (record_list(look->record, query, print_listed_record, look) != 0)
			return fail_record_listing(look);
	} while (look->count - before == query->limit && look->count < most);
	return COMMAND_OK;
}

struct config *mailbox_command_load(const char *file)
{
	struct config *config = command_config(file);

	if (config == NULL || config->record.database == NULL ||
	    strcmp(config->record.database, CONFIG_HIDDEN) != 0)
		return config;
	fprintf(stderr,
		"stagepost mailbox: setting record.database is not in %s, as it may have a "
		"password: correct %s first\n",
		config->file, file);
	config_free(config);
	return NULL;
}

struct config *mailbox_command_config(const struct command *command,
				      const struct command_options *options)
{
	struct config *config = mailbox_command_load(options->config_file);

	if (config == NULL)
		return NULL;
	if (!config_has_record(config))
		fprintf(stderr, "stagepost %s: no service of this configuration records messages\n",
			command->name);
	else if (mailbox_command_use_backend(config) && mailbox_command_become_user(config))
		return config;
	config_free(config);
	return NULL;
}

bool mailbox_command_become_user(const struct config *config)
{
	struct os_process_user user = {0};
	int error;

	if (!os_process_is_root() || config->user[0] == '\0')
		return true;
	error = os_process_user_find(config->user, &user);
	if (error == 0)
		error = os_process_become(&user);
	if (error < 0)
		fprintf(stderr, "stagepost mailbox: user %s: %s\n", config->user,
			error == -ENOENT ? "there is none" : strerror(-error));
	return error == 0;
}

static bool begin_record_listing(struct look *look, const struct command *command,
				 const struct command_options *options, struct config **config_out)
{
	*config_out = mailbox_command_config(command, options);
	if (*config_out == NULL)
		return false;
	*look = (struct look){.command = command, .json = options->json};
	look->record = mailbox_record_new(*config_out);
	return true;
}

static void end_record_listing(struct look *look, struct config *config)
{
	record_free(look->record);
	buffer_clear(&look->out);
	config_free(config);
}

static int print_holder(struct look *look, const char *id)
{
	struct arena *arena = arena_new();
	struct lock_name name;
	struct str holder;
	int error;

	lock_name_make(str_from(id), &name);
	error = record_holder(look->record, &name, arena, &holder);
	if (error == 0 && look->json) {
		buffer_append_byte(&look->out, '{');
		json_field_text(&look->out, "lock", holder);
		buffer_append_string(&look->out, "}\n");
	} else if (error == 0) {
		buffer_append_format(&look->out, "lock: " STR_FORMAT "\n",
				     STR_ARGUMENTS(holder.length > 0 ? holder : STR("free")));
	}
	mailbox_command_print(&look->out);
	arena_free(arena);
	return error == 0 ? COMMAND_OK : fail_record_listing(look);
}

int mailbox_command_status(const struct command *command, int argc, char **argv)
{
	struct command_mailbox_options options = {.recipient = NULL};
	struct record_query query = {.id = NULL};
	struct config *config;
	struct look look;
	int status;

	if (!command_parse(command, argc, argv, &options.common, &status))
		return status;
	if (options.common.first + 1 != argc)
		return command_usage(command, "which message?");
	if (!begin_record_listing(&look, command, &options.common, &config))
		return COMMAND_FAILED;
	look.is_whole = true;
	query.id = argv[options.common.first];
	status = list_all(&look, &query, UINT64_MAX);
	if (status == COMMAND_OK) /* also of one that is being recorded */
		status = print_holder(&look, query.id);
	if (status == COMMAND_OK && look.count == 0) {
		fprintf(stderr, "stagepost %s: no such message is recorded\n", command->name);
		status = COMMAND_FAILED;
	}
	end_record_listing(&look, config);
	return status;
}

static bool set_query(const struct command_mailbox_options *options, struct record_query *query,
		      uint64_t *most_out)
{
	int64_t since_us = 0;
	char *after = NULL;

	*most_out = options->limit != NULL ? strtoull(options->limit, &after, 10) : UINT64_MAX;
	if ((options->limit != NULL && (*after != '\0' || *most_out == 0)) ||
	    (options->since != NULL && !command_parse_time(options->since, &since_us)))
		return false;
	query->from = options->from;
	query->to = options->to;
	query->subject = options->subject;
	query->since_us = options->since != NULL ? os_clock_wall_us() - since_us : 0;
	return true;
}

int mailbox_command_list(const struct command *command, int argc, char **argv)
{
	struct command_mailbox_options options = {.recipient = NULL};
	struct record_query query = {.id = NULL};
	struct config *config;
	struct look look;
	uint64_t most;
	int status;

	if (!command_parse_plain(command, argc, argv, &options.common, &status))
		return status;
	if (!set_query(&options, &query, &most))
		return command_usage(command, "--since is 90, 30m, 12h or 5d; --limit a number");
	if (!begin_record_listing(&look, command, &options.common, &config))
		return COMMAND_FAILED;
	status = list_all(&look, &query, most);
	end_record_listing(&look, config);
	return status;
}
