// SPDX-License-Identifier: ISC
/*
 * What commands print: files of command lines, each with its input, the manager's answers and all
 * that comes of it.
 *
 *	$ queue show M3    the command; "$~" when what it prints has no order; a blank
 *	                   within a word is an open box
 *	| Subject: x       standard input
 *	> why M3 = ok box  what the manager answers to that order; to others "ok"
 *	= mail/aliases     a file that is written, with the lines after it that begin
 *	                   with "|"
 *	& mode 0600 mail   what may be done with a file
 *	& directory        a process "directory" begins, without data; "& lost directory":
 *	                   its data cannot be reached; "& no directory": it ends
 *	& node             a node begins; "& node again": with sockets that were kept
 *	& wait TEXT        until that is in the node's log once more
 *	& heard            what the node has said since
 *	& watch limits     a command that goes on; "& watched": its end
 *	$ talk @/smtp      what a server there, or at HOST:PORT, says to the lines of input
 *
 * The rest, up to the next command, is what it prints. A line that begins with "%" is a comment;
 * "!no manager" in one before the first command says that no node runs, "!node" that one may
 * begin. With WRITE=yes in the environment the file is written anew: look at what has changed.
 */
#include "command/command.h"
#include "command_node.h"
#include "command_programs.h"
#include "command_scene.h"
#include "test.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const *files;
static size_t file_count;

static void read_file(const char *path, struct buffer *out)
{
	FILE *file = fopen(path, "re");
	size_t count;

	assert_non_null(file);
	do {
		count = fread(buffer_reserve(out, 4096), 1, 4096, file);
		buffer_commit(out, count);
	} while (count > 0);
	fclose(file);
}

static void write_file(const char *path, struct str text)
{
	FILE *file = fopen(path, "we");

	assert_non_null(file);
	assert_int_equal(fwrite(text.data, 1, text.length, file), text.length);
	assert_int_equal(fclose(file), 0);
}

struct dialogue {
	struct command_scene_line line; /* that is next to be run */
	struct str file;                /* that is next to be written; "": none */
	struct buffer input;
	bool is_open;
	struct buffer out; /* the file as it should be */
};

static void play_line(struct dialogue *dialogue)
{
	if (dialogue->file.length > 0) {
		command_scene_write(dialogue->file, buffer_view(&dialogue->input));
		buffer_reset(&dialogue->input);
		dialogue->file = STR("");
	}
	if (!dialogue->is_open)
		return;
	dialogue->line.input = buffer_view(&dialogue->input);
	command_scene_run(&dialogue->line, &dialogue->out);
	dialogue->line = (struct command_scene_line){.answer_count = 0};
	buffer_reset(&dialogue->input);
	dialogue->is_open = false;
}

/* Its first word is one of those letters. */
static bool is_one_of(struct str line, const char *letters)
{
	return line.length > 0 && strchr(letters, line.data[0]) != NULL &&
	       (line.length == 1 || line.data[1] == ' ');
}

static void act(struct dialogue *dialogue, struct str line)
{
	buffer_append_str(&dialogue->out, line);
	buffer_append_byte(&dialogue->out, '\n');
	if (str_equal(line, STR("& node")))
		command_scene_begin_node(false);
	else if (str_equal(line, STR("& node again")))
		command_scene_begin_node(true);
	else if (str_equal(line, STR("& heard")))
		command_scene_hear_node(&dialogue->out);
	else if (str_equal(line, STR("& watched")))
		command_scene_end_watch(&dialogue->out);
	else if (str_starts_with(line, STR("& watch ")))
		command_scene_watch(str_skip(line, 8));
	else if (str_starts_with(line, STR("& mode ")))
		command_scene_change_mode(str_skip(line, 7));
	else if (str_starts_with(line, STR("& wait ")))
		command_node_wait(str_skip(line, 7));
	else
		command_scene_serve_directory(!str_equal(line, STR("& no directory")),
					      str_equal(line, STR("& directory")));
}

static void take_line(struct dialogue *dialogue, struct str line)
{
	struct command_scene_line *command = &dialogue->line;
	bool is_command = str_starts_with(line, STR("$"));

	if (is_command || is_one_of(line, "%=&"))
		play_line(dialogue);
	if (is_command) {
		dialogue->is_open = true;
		command->is_sorted = str_starts_with(line, STR("$~"));
		command->words = str_skip(line, command->is_sorted ? 3 : 2);
	} else if (str_starts_with(line, STR("| "))) {
		buffer_append_str(&dialogue->input, str_skip(line, 2));
		buffer_append_byte(&dialogue->input, '\n');
	} else if (str_starts_with(line, STR("> "))) {
		assert_true(command->answer_count < COMMAND_SCENE_ANSWERS_MAX);
		command->answers[command->answer_count++] = str_skip(line, 2);
	} else if (str_starts_with(line, STR("= "))) {
		dialogue->file = str_skip(line, 2);
	} else if (str_starts_with(line, STR("& "))) {
		act(dialogue, line);
		return;
	} else if (!str_starts_with(line, STR("%"))) {
		return; /* it was printed */
	}
	buffer_append_str(&dialogue->out, line);
	buffer_append_byte(&dialogue->out, '\n');
}

static void show_first_difference(const char *path, struct str wanted, struct str found)
{
	struct str one, other, command = STR("");

	while (str_split(&wanted, '\n', &one) && str_split(&found, '\n', &other) &&
	       str_equal(one, other))
		if (str_starts_with(one, STR("$")))
			command = one;
	print_error("%s: " STR_FORMAT "\n--- wanted\n" STR_FORMAT "\n--- found\n" STR_FORMAT "\n",
		    path, STR_ARGUMENTS(command), STR_ARGUMENTS(one), STR_ARGUMENTS(other));
}

static enum command_scene_kind kind_of(struct str head)
{
	if (memmem(head.data, head.length, "!no manager", 11) != NULL)
		return COMMAND_SCENE_ALONE;
	return memmem(head.data, head.length, "!node", 5) != NULL ? COMMAND_SCENE_NODE
								  : COMMAND_SCENE_MANAGER;
}

static bool play_file(const char *path)
{
	struct buffer text CLEANUP(buffer_clear) = {0};
	struct dialogue dialogue = {.is_open = false};
	struct str rest, line;
	bool is_right;

	read_file(path, &text);
	rest = buffer_view(&text);
	command_scene_begin(kind_of(str_slice(rest.data, (size_t)str_find(rest, '$'))));
	while (rest.length > 0 && str_split(&rest, '\n', &line))
		take_line(&dialogue, line);
	play_line(&dialogue);
	command_scene_end();
	is_right = str_equal(buffer_view(&text), buffer_view(&dialogue.out));
	if (!is_right && getenv("WRITE") != NULL)
		write_file(path, buffer_view(&dialogue.out));
	else if (!is_right)
		show_first_difference(path, buffer_view(&text), buffer_view(&dialogue.out));
	buffer_clear(&dialogue.input);
	buffer_clear(&dialogue.out);
	return is_right;
}

static void commands_print_what_is_written(void **state)
{
	size_t failed = 0;

	(void)state;
	command_use(commands);
	for (size_t i = 0; i < file_count; i++)
		failed += !play_file(files[i]);
	assert_int_equal(failed, 0);
}

/* --- what each command refuses --- */

static void run_words(const char *words, struct buffer *out)
{
	const struct command_scene_line line = {.words = str_from(words)};

	buffer_reset(out);
	command_scene_run(&line, out);
	buffer_append_byte(out, '\0');
}

static void check_usage(const char *words, const char *said, struct buffer *out)
{
	run_words(words, out);
	if (strstr(buffer_data(out), said) == NULL || strstr(buffer_data(out), "says more") == NULL)
		fail_msg("%s: \"%s\" is not in\n%s", words, said, buffer_data(out));
	assert_non_null(strrchr(buffer_data(out), '('));
}

/* Its program is another one, or its letters may be combined. */
static bool is_parsed_elsewhere(const struct command *command)
{
	return strncmp(command->name, "directory", 9) == 0 ||
	       strncmp(command->name, "mailbox", 7) == 0 ||
	       strcmp(command->name, "sendmail") == 0 || command->subcommands != NULL;
}

/* An option that there is not, each that lacks its argument, each that has one too many; and --help
 * has them all. */
static void check_options(const struct command *command)
{
	struct buffer out CLEANUP(buffer_clear) = {0};
	char words[100], said[100];

	if (is_parsed_elsewhere(command))
		return;
	snprintf(words, sizeof words, "%s --no-such-option", command->name);
	check_usage(words, "unknown option --no-such-option", &out);
	for (const struct command_option *option = command->options;
	     option != NULL && option->name != NULL; option++) {
		snprintf(words, sizeof words, "%s %s", command->name, option->name);
		snprintf(said, sizeof said, "%s needs %s", option->name, option->argument);
		if (option->argument != NULL)
			check_usage(words, said, &out);
		snprintf(words, sizeof words, "%s %s=x", command->name, option->name);
		snprintf(said, sizeof said, "unknown option %s", option->name);
		if (option->argument == NULL)
			check_usage(words, said, &out);
	}
	snprintf(words, sizeof words, "%s --help", command->name);
	run_words(words, &out);
	for (const struct command_option *option = command->options;
	     option != NULL && option->name != NULL; option++)
		assert_non_null(strstr(buffer_data(&out), option->name));
	assert_non_null(strstr(buffer_data(&out), command->summary));
}

static void each_command_has_its_options(void **state)
{
	(void)state;
	command_use(commands);
	command_scene_begin(COMMAND_SCENE_ALONE);
	for (const struct command *one = commands; one->name != NULL; one++) {
		check_options(one);
		for (const struct command *sub = one->subcommands; sub != NULL && sub->name != NULL;
		     sub++)
			check_options(sub);
	}
	command_scene_end();
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commands_print_what_is_written),
		cmocka_unit_test(each_command_has_its_options),
	};

	command_programs_run(argc, argv);
	files = (const char *const *)argv + 1;
	file_count = (size_t)argc - 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
