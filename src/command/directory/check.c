// SPDX-License-Identifier: ISC
/* stagepost directory check */
#include "base/panic.h"
#include "base/text/json.h"
#include "command/directory/dangling.h"
#include "command/directory/directory.h"
#include "directory/record/key.h"
#include "directory/record/password.h"
#include "mail/text/text.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

const struct command_option command_directory_check_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_JSON("print an object of JSON for each finding"),
	COMMAND_OPTION_END,
};

struct check {
	struct command_directory directory;
	bool is_json;
	uint64_t found;
	bool has_domains; /* for whose postmasters this node's may be needed */
	struct buffer line;
};

static void write_json(struct buffer *line, const char *table, struct str key, struct str why)
{
	buffer_append_format(line, "{\"table\":\"%s\",\"key\":", table);
	json_append_text(line, key);
	buffer_append_string(line, ",\"problem\":");
	json_append_text(line, why);
	buffer_append_string(line, "}\n");
}

static void append_problem_line(struct buffer *line, const char *table, struct str key,
				struct str why)
{
	struct buffer shown CLEANUP(buffer_clear) = {0};

	directory_key_display(key, &shown);
	buffer_append_format(line, "%s ", table);
	mail_text_append(line, buffer_view(&shown), MAIL_TEXT_8BIT);
	buffer_append_string(line, ": ");
	mail_text_append(line, why, MAIL_TEXT_8BIT);
	buffer_append_byte(line, '\n');
}

static void on_problem(void *context, const struct directory_key *key, struct str why)
{
	struct check *check = context;

	check->found++;
	(check->is_json ? write_json : append_problem_line)(
		&check->line, directory_table_name(key->table), key->name, why);
	command_write(stdout, buffer_view(&check->line));
	buffer_reset(&check->line);
}

static void check_passwords(struct check *check, const struct directory_record *records,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *problem = directory_password_problem(&records[i]);

		if (problem != NULL)
			on_problem(check, &records[i].key, str_from(problem));
	}
}

static void on_malformed_checked_record(void *context, enum directory_table table,
					const struct directory_malformed *malformed)
{
	struct directory_key key = {table, malformed->key};
	struct buffer why CLEANUP(buffer_clear) = {0};

	buffer_append_format(&why, "malformed, its mail waits: " STR_FORMAT,
			     STR_ARGUMENTS(malformed->reason));
	on_problem(context, &key, buffer_view(&why));
}

static int check_table(struct check *check, enum directory_table table)
{
	struct bulk_server *server = &check->directory.server;
	struct bulk_pages *pages = bulk_pages_new(server, table, STR(""));
	const struct directory_record *records;
	size_t count;
	int result;

	bulk_pages_hear_malformed(pages, on_malformed_checked_record, check);
	while ((result = bulk_pages_next(pages, &records, &count)) == 1) {
		check->has_domains |= table == DIRECTORY_DOMAIN && count > 0;
		check_passwords(check, records, count);
		result = directory_dangling(server, check->directory.config, records, count,
					    on_problem, check);
		if (result < 0)
			break;
	}
	bulk_pages_free(pages);
	return result;
}

int command_directory_check(const struct command *command, int argc, char **argv)
{
	struct command_options options = {NULL};
	struct check check = {.found = 0};
	int status;
	int error = 0;

	if (!command_parse_plain(command, argc, argv, &options, &status))
		return status;
	check.is_json = options.json;
	if (!command_directory_open(options.config_file, &check.directory))
		return COMMAND_FAILED;
	for (unsigned i = DIRECTORY_NO_TABLE + 1; error == 0 && i < DIRECTORY_TABLES; i++)
		error = check_table(&check, i);
	if (error == 0 && check.has_domains)
		error = directory_dangling_postmaster(&check.directory.server,
						      check.directory.config, on_problem, &check);
	if (error < 0)
		(void)command_directory_failed(command, &check.directory);
	command_directory_close(&check.directory);
	buffer_clear(&check.line);
	if (error < 0)
		return COMMAND_DIRECTORY_UNANSWERED;
	return check.found > 0 ? COMMAND_FAILED : COMMAND_OK;
}

static void warn_of_directory_problem(void *context, const struct directory_key *key,
				      struct str why)
{
	const struct command *const *command = context;
	struct buffer line CLEANUP(buffer_clear) = {0};

	(void)key;
	buffer_append_format(&line, "stagepost %s: warning: ", (*command)->name);
	mail_text_append(&line, why, MAIL_TEXT_8BIT);
	buffer_append_byte(&line, '\n');
	command_write(stderr, buffer_view(&line));
}

/* The record was put nevertheless, as what it names may be put after it. */
int command_directory_warn(const struct command *command, struct command_directory *directory,
			   const char *table, const char *key, const struct str *fields,
			   size_t count)
{
	struct directory_field *parts = memory_alloc_zero(count + 1, sizeof *parts);
	struct directory_record record = {.fields = parts, .field_count = count};
	struct buffer form CLEANUP(buffer_clear) = {0};

	int error = 0;

	bulk_fields(fields, count, parts);
	record.key.table = directory_table_find(str_from(table));
	if (directory_key_normalize(record.key.table, str_from(key), &form) == 0) {
		record.key.name = buffer_view(&form);
		error = directory_dangling(&directory->server, directory->config, &record, 1,
					   warn_of_directory_problem, &command);
	}
	free(parts);
	return error < 0 ? COMMAND_DIRECTORY_UNANSWERED : COMMAND_OK;
}
