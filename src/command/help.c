// SPDX-License-Identifier: ISC
/* Prints --help from the tables. */
#include "command/command.h"
#include <string.h>

/* In the line of usage; bytes of an option's argument, which may be a list of words. */
enum { OPTIONS_SHOWN = 4, SUBCOMMANDS_SHOWN = 10, ARGUMENT_SHOWN = 36 };

enum { COLUMN = 24, LINE_MAX_LENGTH = 78 };

const struct command_exit command_usual_exits[] = {
	{COMMAND_OK, "it is done"},
	{COMMAND_FAILED, "it has failed; why is on standard error"},
	{COMMAND_USAGE, "the command line is wrong"},
	{0, NULL},
};

static size_t count_options(const struct command *command)
{
	size_t count = 0;

	while (command->options != NULL && command->options[count].name != NULL)
		count++;
	return count;
}

static size_t count_subcommands(const struct command *command)
{
	size_t count = 0;

	while (command->subcommands != NULL && command->subcommands[count].name != NULL)
		count++;
	return count;
}

static void append_subcommand_names(const struct command *command, struct buffer *out)
{
	size_t count = count_subcommands(command);
	bool is_needed = command->options == NULL;

	if (count > SUBCOMMANDS_SHOWN) {
		buffer_append_string(out, " COMMAND");
		return;
	}
	for (size_t i = 0; i < count; i++)
		buffer_append_format(out, "%s%s",
				     i > 0       ? "|"
				     : is_needed ? " "
						 : " [",
				     strchr(command->subcommands[i].name, ' ') + 1);
	if (count > 0 && !is_needed)
		buffer_append_byte(out, ']');
}

void command_append_arguments(const struct command *command, struct buffer *out)
{
	size_t count = count_options(command);

	append_subcommand_names(command, out);
	for (size_t i = 0; count <= OPTIONS_SHOWN && i < count; i++) {
		const struct command_option *option = &command->options[i];
		const char *argument = option->argument != NULL ? option->argument : "";

		buffer_append_format(out, " [%s%s%s]", option->name, *argument != '\0' ? " " : "",
				     strlen(argument) > ARGUMENT_SHOWN ? "..." : argument);
	}
	if (count > OPTIONS_SHOWN)
		buffer_append_string(out, " [OPTION ...]");
	if (command->arguments[0] != '\0')
		buffer_append_format(out, " %s", command->arguments);
}

/* Appends TEXT in its own column, after the text that begins the line at BEGIN. */
static void append_help_column(const char *text, size_t begin, struct buffer *out)
{
	struct str rest = str_from(text);
	bool is_full = out->length - begin > COLUMN - 2;
	struct str word;

	while (rest.length > 0) {
		(void)str_split(&rest, ' ', &word);
		if (is_full || out->length - begin + word.length >= LINE_MAX_LENGTH) {
			buffer_append_byte(out, '\n');
			begin = out->length;
			is_full = false;
		}
		if (out->length - begin >= COLUMN)
			buffer_append_byte(out, ' ');
		while (out->length - begin < COLUMN)
			buffer_append_byte(out, ' ');
		buffer_append_str(out, word);
	}
	buffer_append_byte(out, '\n');
}

/* Appends options that share a help text, in lines of limited length; returns the number of rows.
 * */
static size_t append_option_help(const struct command_option *option, struct buffer *out)
{
	size_t begin = out->length;
	size_t count = 0;

	do {
		if (out->length - begin > LINE_MAX_LENGTH - COLUMN / 2) {
			buffer_append_string(out, ",\n");
			begin = out->length;
		}
		buffer_append_format(out, "%s%s%s%s", out->length == begin ? "  " : ", ",
				     option[count].name, option[count].argument != NULL ? " " : "",
				     option[count].argument != NULL ? option[count].argument : "");
		count++;
	} while (option[count].name != NULL && option[count].help == NULL);
	append_help_column(option->help, begin, out);
	return count;
}

const struct command_option *command_help_options(const struct command *command)
{
	static const struct command_option help[] = {
		{"-h", NULL, "print this help, and exit", 0},
		{"--help", NULL, NULL, 0},
		COMMAND_OPTION_END,
	};
	static const struct command_option long_help[] = {
		{"--help", NULL, "print this help, and exit", 0},
		COMMAND_OPTION_END,
	};

	for (size_t i = 0; i < count_options(command); i++)
		if (strcmp(command->options[i].name, help[0].name) == 0)
			return long_help;
	return help;
}

static void append_options_help(const struct command *command, struct buffer *out)
{
	size_t count = count_options(command);

	buffer_append_string(out, "\nOptions:\n");
	for (size_t i = 0; i < count;)
		i += append_option_help(&command->options[i], out);
	(void)append_option_help(command_help_options(command), out);
}

static void append_exits_help(const struct command *command, struct buffer *out)
{
	const struct command_exit *exit =
		command->exits != NULL ? command->exits : command_usual_exits;

	buffer_append_string(out, "\nExit status:\n");
	for (; exit->meaning != NULL; exit++)
		buffer_append_format(out, "  %-3d %s\n", exit->status, exit->meaning);
}

static void append_subcommands_help(const struct command *command, struct buffer *out)
{
	buffer_append_byte(out, '\n');
	for (const struct command *sub = command->subcommands; sub->name != NULL; sub++)
		buffer_append_format(out, "  %-15s %s\n", sub->name, sub->summary);
	buffer_append_format(out, "\n\"stagepost %s COMMAND --help\" says more.\n", command->name);
}

void command_append_help(const struct command *command, struct buffer *out)
{
	buffer_append_format(out, "Usage: stagepost %s", command->name);
	command_append_arguments(command, out);
	buffer_append_format(out, "\n\n%s\n", command->summary);
	if (command->help[0] != '\0')
		buffer_append_format(out, "\n%s", command->help);
	if (command->subcommands != NULL)
		append_subcommands_help(command, out);
	if (command->subcommands != NULL && command->options == NULL)
		return;
	append_options_help(command, out);
	append_exits_help(command, out);
}
