// SPDX-License-Identifier: ISC
/* Writes the parts of manual pages about commands, from the tables, in mdoc(7). */
#include "base/text/mdoc.h"
#include "command/command.h"
#include "log/event.h"
#include <string.h>

/* "[ID ...]", "NAME [REASON ...]", "bash": on a line each. */
static void append_operands(const char *text, struct buffer *out)
{
	struct str rest = str_from(text);
	struct str word;

	while (rest.length > 0) {
		bool is_optional;

		(void)str_split(&rest, ' ', &word);
		is_optional = word.data[0] == '[';
		word = str_skip(word, is_optional);
		if (word.data[word.length - 1] == ']')
			word.length--;
		if (is_optional)
			buffer_append_string(out, ".Op Ar ");
		else
			buffer_append_string(out, word.data[0] >= 'a' ? ".Cm " : ".Ar ");
		mdoc_append_argument(out, word);
		if (str_starts_with(rest, STR("..."))) {
			(void)str_split(&rest, ' ', &word);
			buffer_append_string(out, " ...");
		}
		buffer_append_byte(out, '\n');
	}
}

static void append_option_mdoc(const struct command_option *option, struct buffer *out)
{
	buffer_append_format(out, "Fl %s", option->name + 1);
	if (option->argument != NULL) {
		buffer_append_string(out, " Ar ");
		mdoc_append_argument(out, str_from(option->argument));
	}
}

/* The arguments of a macro: what follows "stagepost". */
static void append_usage(const struct command *command, struct buffer *out)
{
	buffer_append_format(out, ".Nm stagepost Cm %s\n", command->name);
	for (const struct command_option *option = command->options;
	     option != NULL && option->name != NULL; option++) {
		buffer_append_string(out, ".Op ");
		append_option_mdoc(option, out);
		buffer_append_byte(out, '\n');
	}
	append_operands(command->arguments, out);
}

/* Rows that share a meaning; returns the row after them. */
static const struct command_option *append_meaning(const struct command_option *option,
						   struct buffer *out)
{
	const char *help = option->help;

	buffer_append_string(out, ".It ");
	append_option_mdoc(option, out);
	for (option++; option->name != NULL && option->help == NULL; option++) {
		buffer_append_string(out, " , ");
		append_option_mdoc(option, out);
	}
	buffer_append_byte(out, '\n');
	mdoc_append_text(out, help);
	return option;
}

static void append_options_mdoc(const struct command *command, struct buffer *out)
{
	const struct command_option *option = command->options;

	buffer_append_string(out, ".Bl -tag -width Ds\n");
	while (option != NULL && option->name != NULL)
		option = append_meaning(option, out);
	(void)append_meaning(command_help_options(command), out);
	buffer_append_string(out, ".El\n");
}

static void append_exits_mdoc(const struct command *command, struct buffer *out)
{
	const struct command_exit *exit =
		command->exits != NULL ? command->exits : command_usual_exits;

	buffer_append_string(out, ".Bl -tag -width 99\n");
	for (; exit->meaning != NULL; exit++) {
		buffer_append_format(out, ".It %d\n", exit->status);
		mdoc_append_text(out, exit->meaning);
	}
	buffer_append_string(out, ".El\n");
}

/* Paragraphs, separated by empty lines. */
static void append_paragraphs(const char *text, struct buffer *out)
{
	struct buffer line CLEANUP(buffer_clear) = {0};
	struct str rest = str_from(text);
	struct str piece;

	while (rest.length > 0) {
		(void)str_split(&rest, '\n', &piece);
		buffer_reset(&line);
		buffer_append_str(&line, piece);
		buffer_append_byte(&line, '\0');
		if (piece.length > 0)
			mdoc_append_text(out, buffer_data(&line));
		else
			buffer_append_string(out, ".Pp\n");
	}
}

static void append_summary(const struct command *command, struct buffer *out)
{
	mdoc_append_text(out, command->summary);
	if (command->help[0] == '\0')
		return;
	buffer_append_string(out, ".Pp\n");
	append_paragraphs(command->help, out);
}

static void append_subcommands_mdoc(const struct command *command, struct buffer *out)
{
	for (const struct command *sub = command->subcommands; sub != NULL && sub->name != NULL;
	     sub++) {
		buffer_append_format(out, ".It Cm %s\n", strchr(sub->name, ' ') + 1);
		mdoc_append_text(out, sub->summary);
	}
}

static void append_commands(const struct command *command, struct buffer *out)
{
	(void)command;
	for (const struct command *one = commands; one->name != NULL; one++) {
		buffer_append_format(out, ".It Cm %s\n", one->name);
		mdoc_append_text(out, one->summary);
		buffer_append_format(out, "See\n.Xr stagepost-%s 8 .\n", one->name);
	}
}

/* " name, name"; nothing if there are none. */
static void append_keys(struct buffer *out, const char *before, const unsigned char *keys)
{
	if (*keys == LOG_KEY_COUNT)
		return;
	buffer_append_string(out, before);
	for (; *keys < LOG_KEY_COUNT; keys++)
		buffer_append_format(out, "%s%s", log_key_name((enum log_key) * keys),
				     keys[1] < LOG_KEY_COUNT ? " , " : "");
	buffer_append_byte(out, '\n');
}

static void append_events(const struct command *command, struct buffer *out)
{
	(void)command;
	for (unsigned i = 0; i < EVENT_COUNT; i++) {
		enum log_name name = (enum log_name)i;

		buffer_append_format(out, ".It Li %s Pq %s\n", log_event_name(name),
				     log_event_level(name));
		mdoc_append_text(out, log_event_meaning(name));
		append_keys(out, ".br\n.Sy Fields : Li ", log_event_fields(name, true));
		append_keys(out, ".br\n.Sy Perhaps : Li ", log_event_fields(name, false));
	}
}

static void append_fields(const struct command *command, struct buffer *out)
{
	static const char *const kinds[] = {
		[LOG_TEXT] = "text", [LOG_SENDER] = "text",     [LOG_NUMBER] = "number",
		[LOG_ID] = "text",   [LOG_SECONDS] = "seconds",
	};

	(void)command;
	for (unsigned i = 0; i < LOG_KEY_COUNT; i++) {
		enum log_key key = (enum log_key)i;

		buffer_append_format(out, ".It Li %s Pq %s\n", log_key_name(key),
				     kinds[log_key_kind(key)]);
		mdoc_append_text(out, log_key_meaning(key));
	}
}

static const struct {
	const char *name;
	void (*append)(const struct command *command, struct buffer *out);
	bool is_of_all; /* it does not concern a particular command */
} directives[] = {
	{"usage", append_usage},           {"summary", append_summary},
	{"options", append_options_mdoc},  {"exits", append_exits_mdoc},
	{"list", append_subcommands_mdoc}, {"commands", append_commands, true},
	{"events", append_events, true},   {"fields", append_fields, true},
};

/* Expands "options queue list", without the signs around it. */
static bool expand_manual_directive(struct str line, struct buffer *out)
{
	const struct command *command;
	struct str word;

	(void)str_split(&line, ' ', &word);
	command = command_find(line);
	for (size_t i = 0; i < COUNT_OF(directives); i++) {
		if (!str_equal(word, str_from(directives[i].name)))
			continue;
		if (command == NULL && !directives[i].is_of_all)
			return false;
		directives[i].append(command, out);
		return true;
	}
	return false;
}

bool command_fill_manual(struct str text, struct buffer *out, struct buffer *why)
{
	struct str line;

	while (text.length > 0) {
		(void)str_split(&text, '\n', &line);
		if (line.length > 2 && line.data[0] == '@' && line.data[line.length - 1] == '@') {
			if (expand_manual_directive(str_slice(line.data + 1, line.length - 2), out))
				continue;
			buffer_append_str(why, line);
			return false;
		}
		buffer_append_str(out, line);
		buffer_append_byte(out, '\n');
	}
	return true;
}
