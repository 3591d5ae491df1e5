// SPDX-License-Identifier: ISC
/* stagepost directory get, del, list, accept; and how a command asks one question. */
#include "command/directory/ask.h"
#include "command/directory/print.h"
#include "mail/text/text.h"
#include <stdio.h>
#include <string.h>

const struct command_option command_directory_get_options[] = {
	COMMAND_OPTION_CONFIG,
	DIRECTORY_TABLE_OPTION(
		DIRECTORY_TABLE_WORDS,
		"the record of that table, and not what becomes of an address (route)"),
	COMMAND_OPTION_JSON("print an object of JSON"),
	COMMAND_OPTION_END,
};

const struct command_option command_directory_change_options[] = {
	COMMAND_OPTION_CONFIG,
	DIRECTORY_TABLE_OPTION(DIRECTORY_TABLE_WORDS, "the table of the record (address)"),
	COMMAND_OPTION_END,
};

const struct command_option command_directory_accept_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_END,
};

const struct command_option command_directory_list_options[] = {
	COMMAND_OPTION_CONFIG,
	DIRECTORY_TABLE_OPTION("TABLE",
			       "domain, address, member, user, server or node (address); or "
			       "membership"),
	COMMAND_OPTION_JSON("print an object of JSON a line"),
	COMMAND_OPTION_END,
};

/* --- asking --- */

/* Parses the command line; false: end with EXCHANGE's status. */
bool directory_asking_parse(struct directory_asking *asking, int argc, char **argv)
{
	const struct command *command = asking->command;
	const char *table;
	bool is_listed;
	bool is_route;

	if (!command_parse(command, argc, argv, &asking->options.common, &asking->status))
		return false;
	asking->status = COMMAND_OK; /* set in either case */
	table = asking->options.table;
	is_route = strcmp(table, "route") == 0 && command->run == command_directory_get;
	is_listed = command->run == command_directory_list &&
		    directory_table_find_listed(str_from(table)) != DIRECTORY_NO_TABLE;
	if (!is_route && !is_listed && directory_table_find(str_from(table)) == DIRECTORY_NO_TABLE)
		asking->status =
			command_usage(command, command->run == command_directory_list
						       ? command_directory_no_listed_table()
						       : command_directory_no_table());
	return asking->status == COMMAND_OK;
}

void directory_asking_say_none(const struct directory_asking *asking)
{
	fprintf(stderr, "stagepost %s: there is no %s %s\n", asking->command->name,
		asking->options.table, asking->key);
}

void directory_asking_changed(void *context, const struct directory_answer_text *answer)
{
	struct directory_asking *asking = context;

	if (bulk_server_has_failed(&asking->directory.server, answer)) {
		asking->status = COMMAND_DIRECTORY_UNANSWERED;
	} else if (!answer->exists) {
		directory_asking_say_none(asking);
		asking->status = COMMAND_FAILED;
	}
	bulk_server_stop(&asking->directory.server);
}

static void on_asked_record(void *context, const struct directory_answer_text *answer)
{
	struct directory_asking *asking = context;

	directory_asking_changed(context, answer);
	if (asking->status != COMMAND_OK)
		return;
	if (strcmp(asking->options.table, "route") != 0)
		command_directory_print_fields(asking->options.table, asking->key,
					       asking->options.common.json, answer);
	else if (!command_directory_print_route(asking->key, asking->options.common.json, answer))
		asking->status = COMMAND_FAILED;
}

bool directory_asking_begin(struct directory_asking *asking, directory_answered *answered)
{
	asking->question = (struct directory_question){.answered = answered, .context = asking};
	if (command_directory_open(asking->options.common.config_file, &asking->directory))
		return true;
	asking->status = COMMAND_DIRECTORY_UNANSWERED; /* and not "no such record" */
	return false;
}

/* directory_asking_parse() and directory_asking_begin(), for a command line with only a KEY. */
static bool begin_with_key(struct directory_asking *asking, int argc, char **argv,
			   directory_answered *answered)
{
	if (!directory_asking_parse(asking, argc, argv))
		return false;
	asking->key = argv[asking->options.common.first];
	if (asking->options.common.first + 1 == argc)
		return directory_asking_begin(asking, answered);
	asking->status = command_usage(asking->command, "exactly one KEY is required");
	return false;
}

int directory_asking_end(struct directory_asking *asking)
{
	bulk_server_wait(&asking->directory.server, &asking->question);
	if (asking->status == COMMAND_DIRECTORY_UNANSWERED)
		(void)command_directory_failed(asking->command, &asking->directory);
	command_directory_close(&asking->directory);
	return asking->status;
}

int command_directory_get(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = "route"};

	if (!begin_with_key(&asking, argc, argv, on_asked_record))
		return asking.status;
	directory_client_get(asking.directory.server.client, asking.options.table,
			     str_from(asking.key), DIRECTORY_PATIENCE_US, &asking.question);
	return directory_asking_end(&asking);
}

int command_directory_del(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = "address"};

	if (!begin_with_key(&asking, argc, argv, directory_asking_changed))
		return asking.status;
	directory_client_remove(asking.directory.server.client, asking.options.table,
				str_from(asking.key), &asking.question);
	return directory_asking_end(&asking);
}

int command_directory_accept(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = "address"};

	if (!command_parse_plain(command, argc, argv, &asking.options.common, &asking.status))
		return asking.status;
	asking.status = COMMAND_OK;
	if (!directory_asking_begin(&asking, directory_asking_changed))
		return asking.status;
	directory_client_accept(asking.directory.server.client, &asking.question);
	return directory_asking_end(&asking);
}

void directory_asking_malformed(void *context, enum directory_table table,
				const struct directory_malformed *malformed)
{
	struct directory_asking *asking = context;
	struct buffer line CLEANUP(buffer_clear) = {0};

	asking->status = COMMAND_FAILED;
	buffer_append_format(&line, "malformed: %s ", directory_table_name(table));
	mail_text_append(&line, malformed->key, MAIL_TEXT_8BIT);
	buffer_append_string(&line, ": ");
	mail_text_append(&line, malformed->reason, MAIL_TEXT_8BIT);
	buffer_append_byte(&line, '\n');
	command_write(stderr, buffer_view(&line));
}

int command_directory_list(const struct command *command, int argc, char **argv)
{
	struct directory_asking asking = {.command = command, .options.table = "address"};
	const struct directory_record *records;
	struct bulk_pages *pages;
	const char *prefix;
	size_t count;
	int result;
	int first;

	if (!directory_asking_parse(&asking, argc, argv))
		return asking.status;
	first = asking.options.common.first;
	if (first + 1 < argc)
		return command_usage(command, "at most one PREFIX is allowed");
	prefix = first < argc ? argv[first] : "";
	if (!command_directory_open(asking.options.common.config_file, &asking.directory))
		return COMMAND_FAILED;
	pages = bulk_pages_new(&asking.directory.server,
			       directory_table_find_listed(str_from(asking.options.table)),
			       str_from(prefix));
	bulk_pages_hear_malformed(pages, directory_asking_malformed, &asking);
	while ((result = bulk_pages_next(pages, &records, &count)) == 1)
		for (size_t i = 0; i < count; i++)
			command_directory_print_record(&records[i], asking.options.common.json);
	if (result < 0) {
		(void)command_directory_failed(command, &asking.directory);
		asking.status = COMMAND_DIRECTORY_UNANSWERED;
	}
	bulk_pages_free(pages);
	command_directory_close(&asking.directory);
	return asking.status;
}
