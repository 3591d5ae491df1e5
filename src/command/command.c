// SPDX-License-Identifier: ISC
/* Parses the command line of every command. */
#include "command/command.h"
#include "command/suggest.h"
#include "os/process/process.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct command_option command_config_options[] = {COMMAND_OPTION_CONFIG, COMMAND_OPTION_END};
const struct command_option command_json_options[] = {
	COMMAND_OPTION_CONFIG, COMMAND_OPTION_JSON("print JSON"), COMMAND_OPTION_END};
static bool is_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int print_help(const struct command *command)
{
	struct buffer text CLEANUP(buffer_clear) = {0};

	command_append_help(command, &text);
	command_write(stdout, buffer_view(&text));
	return COMMAND_OK;
}

int command_usage(const struct command *command, const char *message)
{
	struct buffer arguments CLEANUP(buffer_clear) = {0};

	command_append_arguments(command, &arguments);
	fprintf(stderr,
		"stagepost %s: %s\nUsage: stagepost %s" STR_FORMAT
		"\n\"stagepost %s --help\" says more.\n",
		command->name, message, command->name, STR_ARGUMENTS(buffer_view(&arguments)),
		command->name);
	return COMMAND_USAGE;
}

const char *command_allowed(const char *what, const char *(*name)(unsigned i), unsigned count)
{
	static char text[256];
	size_t length = (size_t)snprintf(text, sizeof text, "%s; allowed: ", what);

	for (unsigned i = 0; i < count && length < sizeof text; i++)
		length += (size_t)snprintf(text + length, sizeof text - length, "%s%s",
					   i > 0 ? ", " : "", name(i));
	return text;
}

void command_write(FILE *file, struct str text)
{
	if (text.length > 0)
		fwrite(text.data, 1, text.length, file);
}

/* An incomplete output must not look complete. */
int command_check_output(int status)
{
	bool has_failed = ferror(stdout) != 0;

	errno = 0;
	if (fflush(stdout) == 0 && !has_failed)
		return status;
	if (errno != EPIPE)
		fprintf(stderr, "stagepost: standard output: %s\n",
			errno != 0 ? strerror(errno) : "not everything could be written");
	return status == COMMAND_OK ? COMMAND_FAILED : status;
}

int command_run_sub(const struct command *command, int argc, char **argv)
{
	size_t prefix = strlen(command->name) + 1;
	struct suggestion meant = {.word = STR("")};
	char message[128];

	if (argc < 2)
		return command_usage(command, "which command?");
	meant.word = str_from(argv[1]);
	if (is_help(argv[1]))
		return print_help(command);
	for (const struct command *sub = command->subcommands; sub->name != NULL; sub++)
		if (strcmp(sub->name + prefix, argv[1]) == 0)
			return sub->run(sub, argc - 1, argv + 1);
	for (const struct command *sub = command->subcommands; sub->name != NULL; sub++)
		suggestion_offer(&meant, sub->name + prefix);
	snprintf(message, sizeof message, "no command \"%s\"%s%s%s", argv[1],
		 meant.best != NULL ? "; did you mean \"" : "",
		 meant.best != NULL ? meant.best : "", meant.best != NULL ? "\"?" : "");
	return command_usage(command, message);
}

/* The argument of an option: after '=' in the same word, or the next word. */
static bool find_argument(int argc, char **argv, struct command_options *options,
			  const char **argument_out)
{
	const char *equals = strchr(argv[options->first++], '=');

	if (equals == NULL && options->first == argc)
		return false;
	*argument_out = equals != NULL ? equals + 1 : argv[options->first++];
	return true;
}

/* Parses an option with its argument, if it has one. COMMAND_OK to continue. */
static int take_option(const struct command *command, const struct command_option *option, int argc,
		       char **argv, struct command_options *options)
{
	char *value = (char *)options + option->offset;
	const char *argument;
	char message[64];

	if (option->argument == NULL) {
		options->first++;
		*(bool *)value = true;
		return COMMAND_OK;
	}
	if (!find_argument(argc, argv, options, &argument)) {
		snprintf(message, sizeof message, "%s needs %s", option->name, option->argument);
		return command_usage(command, message);
	}
	memcpy(value, &argument, sizeof argument);
	return COMMAND_OK;
}

/* "--older=5d" also names "--older". */
static bool is_option_named(const struct command_option *option, const char *word)
{
	size_t length = strlen(option->name);

	if (strncmp(word, option->name, length) != 0)
		return false;
	return word[length] == '\0' ||
	       (word[length] == '=' && option->argument != NULL && option->name[1] == '-');
}

static int refuse_option(const struct command *command, const char *word)
{
	struct suggestion meant = {.word = str_from(word)};
	char message[128];
	const char *equals = strchr(word, '=');

	if (equals != NULL)
		meant.word.length = (size_t)(equals - word);
	for (const struct command_option *one = command->options; one != NULL && one->name != NULL;
	     one++)
		suggestion_offer(&meant, one->name);
	snprintf(message, sizeof message, "unknown option %s%s%s%s", word,
		 meant.best != NULL ? "; did you mean " : "", meant.best != NULL ? meant.best : "",
		 meant.best != NULL ? "?" : "");
	return command_usage(command, message);
}

/* Parses the next option; false for --help and after an error. */
static bool parse_option(const struct command *command, int argc, char **argv,
			 struct command_options *options, int *status_out)
{
	const struct command_option *option = command->options;
	const char *word = argv[options->first];

	if (is_help(word)) {
		*status_out = print_help(command);
		return false;
	}
	while (option != NULL && option->name != NULL && !is_option_named(option, word))
		option++;
	if (option == NULL || option->name == NULL) {
		*status_out = refuse_option(command, word);
		return false;
	}
	*status_out = take_option(command, option, argc, argv, options);
	return *status_out == COMMAND_OK;
}

const char *command_config_file(const char *file)
{
	const char *usual = secure_getenv("STAGEPOST_CONF");

	if (file != NULL && os_process_is_privileged()) {
		fputs("stagepost: -c is not for programs that act as another user\n", stderr);
		return NULL;
	}
	if (file != NULL)
		return file;
	return usual != NULL ? usual : COMMAND_CONFIG_FILE;
}

static void put_last(int position, int argc, char **argv)
{
	char *word = argv[position];

	memmove(argv + position, argv + position + 1, (size_t)(argc - position - 1) * sizeof *argv);
	argv[argc - 1] = word;
}

bool command_parse(const struct command *command, int argc, char **argv,
		   struct command_options *options, int *status_out)
{
	bool behind_options = false;
	int end = argc; /* from here on are arguments that were moved behind the options */

	options->first = 1;
	while (options->first < end) {
		const char *word = argv[options->first];

		if (!behind_options && strcmp(word, "--") == 0) {
			behind_options = true;
			options->first++;
		} else if (behind_options || word[0] != '-' || word[1] == '\0') {
			put_last(options->first, argc, argv);
			end--;
		} else if (!parse_option(command, end, argv, options, status_out)) {
			return false;
		}
	}
	options->config_file = command_config_file(options->config_file);
	*status_out = COMMAND_USAGE;
	return options->config_file != NULL;
}

bool command_parse_plain(const struct command *command, int argc, char **argv,
			 struct command_options *options, int *status_out)
{
	char message[128];

	if (!command_parse(command, argc, argv, options, status_out))
		return false;
	if (options->first < argc) {
		snprintf(message, sizeof message, "unexpected argument \"%s\"",
			 argv[options->first]);
		*status_out = command_usage(command, message);
		return false;
	}
	return true;
}

static void print_problems(const struct config_problems *problems, const char *file)
{
	struct buffer said CLEANUP(buffer_clear) = {0};

	config_problems_print(problems, file, &said);
	command_write(stderr, buffer_view(&said));
}

int command_config_load(const char *file, struct buffer *text, struct config **config_out)
{
	return command_config_load_with(file, text, config_out, print_problems);
}

int command_config_load_with(const char *file, struct buffer *text, struct config **config_out,
			     void (*print)(const struct config_problems *problems,
					   const char *file))
{
	struct config_problems problems = {0};
	int error = config_read(file, text, &problems);

	if (error == 0)
		error = config_parse(file, buffer_view(text), config_out, &problems);
	if (error < 0)
		print(&problems, file);
	config_problems_clear(&problems);
	return error;
}

bool command_parse_time(const char *text, int64_t *time_us_out)
{
	static const char letters[] = "smhdw";
	static const int64_t units[] = {SECOND_US, MINUTE_US, HOUR_US, DAY_US, 7 * DAY_US};
	struct str number = str_from(text);
	int64_t unit = SECOND_US;
	uint64_t count;

	if (number.length > 0) {
		const char *letter = strchr(letters, number.data[number.length - 1]);

		if (letter != NULL) {
			unit = units[letter - letters];
			number.length--;
		}
	}
	if (!str_to_u64(number, &count) || count > (uint64_t)(INT64_MAX / (8 * DAY_US)))
		return false;
	*time_us_out = (int64_t)count * unit;
	return true;
}

static const struct command *all_commands;

void command_use(const struct command *table)
{
	all_commands = table;
}

const struct command *command_all(void)
{
	return all_commands;
}
