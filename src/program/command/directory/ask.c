// SPDX-License-Identifier: ISC
/* stagepost directory get, put, del, list */
#include "mail/text/text.h"
#include "program/command/directory/directory.h"
#include "program/command/directory/print.h"
#include <stdio.h>
#include <string.h>

#define TABLE_WORDS "domain|address|member|user|server"

struct table_options {
	struct command_options common;
	const char *table;
};

#define TABLE_OPTION(words, help)                                             \
	{                                                                     \
		"--table", words, help, offsetof(struct table_options, table) \
	}

const struct command_option command_directory_get_options[] = {
	COMMAND_OPTION_CONFIG,
	TABLE_OPTION(TABLE_WORDS,
		     "the record of that table, and not what becomes of an address (route)"),
	COMMAND_OPTION_JSON("print an object of JSON"),
	COMMAND_OPTION_END,
};

const struct command_option command_directory_change_options[] = {
	COMMAND_OPTION_CONFIG,
	TABLE_OPTION(TABLE_WORDS, "the table of the record (address)"),
	COMMAND_OPTION_END,
};

const struct command_option command_directory_accept_options[] = {
	COMMAND_OPTION_CONFIG,
	COMMAND_OPTION_END,
};

const struct command_option command_directory_list_options[] = {
	COMMAND_OPTION_CONFIG,
	TABLE_OPTION("TABLE", "domain, address, member, user or server (address); or membership"),
	COMMAND_OPTION_JSON("print an object of JSON a line"),
	COMMAND_OPTION_END,
};

/* One question and its answer. */
struct exchange {
	const struct command *command;
	struct table_options options;
	struct command_directory directory;
	struct directory_question question;
	const char *key;
	int status;
};

/* --- asking --- */

/* Parses the command line; false: end with EXCHANGE's status. */
static bool parse(struct exchange *exchange, int argc, char **argv)
{
	const struct command *command = exchange->command;
	const char *table;
	bool is_listed;
	bool is_route;

	if (!command_parse(command, argc, argv, &exchange->options.common, &exchange->status))
		return false;
	exchange->status = COMMAND_OK; /* set in either case */
	table = exchange->options.table;
	is_route = strcmp(table, "route") == 0 && command->run == command_directory_get;
	is_listed = command->run == command_directory_list &&
		    directory_table_find_listed(str_from(table)) != DIRECTORY_NO_TABLE;
	if (!is_route && !is_listed && directory_table_find(str_from(table)) == DIRECTORY_NO_TABLE)
		exchange->status =
			command_usage(command, command->run == command_directory_list
						       ? command_directory_no_listed_table()
						       : command_directory_no_table());
	return exchange->status == COMMAND_OK;
}

static void say_none(const struct exchange *exchange)
{
	fprintf(stderr, "stagepost %s: there is no %s %s\n", exchange->command->name,
		exchange->options.table, exchange->key);
}

static void on_changed(void *context, const struct directory_answer_text *answer)
{
	struct exchange *exchange = context;

	if (exchange_server_has_failed(&exchange->directory.server, answer)) {
		exchange->status = COMMAND_DIRECTORY_UNANSWERED;
	} else if (!answer->exists) {
		say_none(exchange);
		exchange->status = COMMAND_FAILED;
	}
	exchange_server_stop(&exchange->directory.server);
}

static void on_got(void *context, const struct directory_answer_text *answer)
{
	struct exchange *exchange = context;

	on_changed(context, answer);
	if (exchange->status != COMMAND_OK)
		return;
	if (strcmp(exchange->options.table, "route") != 0)
		command_directory_print_fields(exchange->options.table, exchange->key,
					       exchange->options.common.json, answer);
	else if (!command_directory_print_route(exchange->key, exchange->options.common.json,
						answer))
		exchange->status = COMMAND_FAILED;
}

static bool begin(struct exchange *exchange, directory_answered *answered)
{
	exchange->question = (struct directory_question){.answered = answered, .context = exchange};
	if (command_directory_open(exchange->options.common.config_file, &exchange->directory))
		return true;
	exchange->status = COMMAND_DIRECTORY_UNANSWERED; /* and not "no such record" */
	return false;
}

/* parse() and begin(), for a command line with only a KEY. */
static bool begin_with_key(struct exchange *exchange, int argc, char **argv,
			   directory_answered *answered)
{
	if (!parse(exchange, argc, argv))
		return false;
	exchange->key = argv[exchange->options.common.first];
	if (exchange->options.common.first + 1 == argc)
		return begin(exchange, answered);
	exchange->status = command_usage(exchange->command, "exactly one KEY is required");
	return false;
}

static int end(struct exchange *exchange)
{
	exchange_server_wait(&exchange->directory.server, &exchange->question);
	if (exchange->status == COMMAND_DIRECTORY_UNANSWERED)
		(void)command_directory_failed(exchange->command, &exchange->directory);
	command_directory_close(&exchange->directory);
	return exchange->status;
}

int command_directory_get(const struct command *command, int argc, char **argv)
{
	struct exchange exchange = {.command = command, .options.table = "route"};

	if (!begin_with_key(&exchange, argc, argv, on_got))
		return exchange.status;
	directory_client_get(exchange.directory.server.client, exchange.options.table,
			     str_from(exchange.key), DIRECTORY_PATIENCE_US, &exchange.question);
	return end(&exchange);
}

/* Converts "NAME=VALUE" to "NAME VALUE" in place. */
static bool take_field(char *argument, struct str *field_out)
{
	char *equals = strchr(argument, '=');

	if (equals == NULL || equals == argument)
		return false;
	*equals = ' ';
	*field_out = str_from(argument);
	return true;
}

int command_directory_put(const struct command *command, int argc, char **argv)
{
	struct exchange exchange = {.command = command, .options.table = "address"};
	struct str fields[DIRECTORY_FIELDS_MAX];
	size_t count = 0;

	if (!parse(&exchange, argc, argv))
		return exchange.status;
	if (exchange.options.common.first >= argc)
		return command_usage(command, "a KEY is required");
	exchange.key = argv[exchange.options.common.first];
	for (int i = exchange.options.common.first + 1; i < argc; i++) {
		if (count == DIRECTORY_FIELDS_MAX)
			return command_usage(command, "a record has at most 1000 fields");
		if (!take_field(argv[i], &fields[count++]))
			return command_usage(command, "a field is written NAME=VALUE");
	}
	if (!begin(&exchange, on_changed))
		return exchange.status;
	directory_client_put(exchange.directory.server.client, exchange.options.table,
			     str_from(exchange.key), fields, count, &exchange.question);
	exchange_server_wait(&exchange.directory.server, &exchange.question);
	if (exchange.status == COMMAND_OK)
		exchange.status =
			command_directory_warn(command, &exchange.directory, exchange.options.table,
					       exchange.key, fields, count);
	return end(&exchange);
}

int command_directory_del(const struct command *command, int argc, char **argv)
{
	struct exchange exchange = {.command = command, .options.table = "address"};

	if (!begin_with_key(&exchange, argc, argv, on_changed))
		return exchange.status;
	directory_client_remove(exchange.directory.server.client, exchange.options.table,
				str_from(exchange.key), &exchange.question);
	return end(&exchange);
}

int command_directory_accept(const struct command *command, int argc, char **argv)
{
	struct exchange exchange = {.command = command, .options.table = "address"};

	if (!command_parse_plain(command, argc, argv, &exchange.options.common, &exchange.status))
		return exchange.status;
	exchange.status = COMMAND_OK;
	if (!begin(&exchange, on_changed))
		return exchange.status;
	directory_client_accept(exchange.directory.server.client, &exchange.question);
	return end(&exchange);
}

static void on_malformed(void *context, enum directory_table table,
			 const struct directory_malformed *malformed)
{
	struct exchange *exchange = context;
	struct buffer line CLEANUP(buffer_clear) = {0};

	exchange->status = COMMAND_FAILED;
	buffer_append_format(&line, "malformed: %s ", directory_table_name(table));
	mail_text_append(&line, malformed->key, MAIL_TEXT_8BIT);
	buffer_append_string(&line, ": ");
	mail_text_append(&line, malformed->reason, MAIL_TEXT_8BIT);
	buffer_append_byte(&line, '\n');
	fwrite(buffer_data(&line), 1, line.length, stderr);
}

int command_directory_list(const struct command *command, int argc, char **argv)
{
	struct exchange exchange = {.command = command, .options.table = "address"};
	const struct directory_record *records;
	struct exchange_pages *pages;
	const char *prefix;
	size_t count;
	int result;
	int first;

	if (!parse(&exchange, argc, argv))
		return exchange.status;
	first = exchange.options.common.first;
	if (first + 1 < argc)
		return command_usage(command, "at most one PREFIX is allowed");
	prefix = first < argc ? argv[first] : "";
	if (!command_directory_open(exchange.options.common.config_file, &exchange.directory))
		return COMMAND_FAILED;
	pages = exchange_pages_new(&exchange.directory.server,
				   directory_table_find_listed(str_from(exchange.options.table)),
				   str_from(prefix));
	exchange_pages_hear_malformed(pages, on_malformed, &exchange);
	while ((result = exchange_pages_next(pages, &records, &count)) == 1)
		for (size_t i = 0; i < count; i++)
			command_directory_print_record(&records[i], exchange.options.common.json);
	if (result < 0) {
		(void)command_directory_failed(command, &exchange.directory);
		exchange.status = COMMAND_DIRECTORY_UNANSWERED;
	}
	exchange_pages_free(pages);
	command_directory_close(&exchange.directory);
	return exchange.status;
}
